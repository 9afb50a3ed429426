/**
 * Authenticates the requests of agents. Every refusal looks the same from outside, counts against the source address, and is
 * recorded on the node whose name was used.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import type { SourceBudget } from "#front/rate-limit.ts";
import { reportPath, requestBytesMax, unprovenBytesMax } from "#nodes/agent/messages.ts";
import {
  bodyDigest,
  counterHeader,
  digestHeader,
  isRequestSigned,
  type NodeRequest,
  nodeHeader,
  parsePublicKey,
  signatureHeader,
} from "#nodes/agent/request-signature.ts";

const nodeShape = /^[a-z0-9-]{1,32}$/;
const counterShape = /^[0-9]{1,16}$/;
const signatureShape = /^[A-Za-z0-9_-]{86}$/;
const digestShape = /^[0-9a-f]{64}$/;

const readChannel = statement(
  "node-channel-key",
  `SELECT public_key, CASE WHEN $is_report THEN report_counter ELSE sync_counter END AS last_counter
   FROM node_channels WHERE node_id = $node_id`,
  { public_key: "text?", last_counter: "int8?" },
);
const noteRefusal = statement(
  "node-channel-refused",
  `UPDATE node_channels SET refused_count = refused_count + 1, refused_at = $now, refused_reason = $reason
   WHERE node_id = $node_id`,
  {},
);

/** A refusal. The caller sees nothing but its status and code. */
export class AgentRefusal extends Error {
  override readonly name = "AgentRefusal";
  readonly status: number;
  readonly code: string;
  /** With `counter_too_low`. */
  readonly counter: number | undefined;

  constructor(status: number, code: string, counter?: number) {
    super(code);
    this.status = status;
    this.code = code;
    this.counter = counter;
  }
}

export interface AgentRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** @throws AgentRefusal when the body is longer, or incomplete */
  readBody(bytesMax: number): Promise<Buffer>;
  sourceAddress: string;
  /** Fires when the caller disconnects, or the endpoint closes. */
  signal: AbortSignal;
}

/** A request whose signature is verified. */
export interface SignedRequest extends NodeRequest {
  body: Buffer;
}

/**
 * Reads a whole body only after verifying a signature of its digest. From an agent that sends no digest header, it reads
 * `unprovenBytesMax` at most.
 * @returns the request as its node signed it @throws AgentRefusal; TooManyWaiting
 */
export async function authenticate(
  context: Context,
  budget: SourceBudget,
  request: AgentRequest,
): Promise<SignedRequest> {
  const claimed = readClaim(request);
  requireBudget(budget, request, claimed?.node);
  if (!claimed) return refuseSignature(context, budget, request, undefined);
  const { node } = claimed;
  const channel = await budget.lookUp(request.sourceAddress, () => findChannel(context, budget, request, node));
  const early = claimed.digest === undefined ? await request.readBody(unprovenBytesMax) : undefined;
  const digest = claimed.digest ?? bodyDigest(early ?? Buffer.alloc(0));
  const { signature, ...unsigned } = claimed;
  // Nothing is awaited from here until the failure is counted, so a burst gets no more signatures verified than may fail.
  requireBudget(budget, request, node);
  const isSigned =
    typeof channel?.public_key === "string" &&
    isRequestSigned({ ...unsigned, digest }, signature, parsePublicKey(channel.public_key));
  if (!isSigned) return refuseSignature(context, budget, request, node);
  // The request's own transaction checks the counter again, and raises it.
  const last = channel.last_counter ?? 0;
  if (claimed.counter <= last) throw new AgentRefusal(401, "counter_too_low", last);
  const body = early ?? (await request.readBody(requestBytesMax));
  if (bodyDigest(body) !== digest) return refuseSignature(context, budget, request, node);
  budget.noteGood(request.sourceAddress, node);
  return { ...unsigned, digest, body };
}

/** @throws AgentRefusal when the source, or this node at the source, has used up its failures */
export function requireBudget(budget: SourceBudget, { sourceAddress }: AgentRequest, node?: string): void {
  if (!budget.check(sourceAddress, node).allowed) throw new AgentRefusal(429, "too_many_failures");
}

async function findChannel({ database }: Context, budget: SourceBudget, request: AgentRequest, node: string) {
  // Requests ahead in the queue may have used it up.
  requireBudget(budget, request, node);
  const [channel] = await database.point(readChannel, { node_id: node, is_report: request.path === reportPath });
  return channel;
}

/** Counts the failure before awaiting anything. */
async function refuseSignature(
  context: Context,
  budget: SourceBudget,
  request: AgentRequest,
  node: string | undefined,
): Promise<never> {
  budget.noteFailure(request.sourceAddress, node);
  await recordRefusal(context, node, request, "not signed by this node");
  throw new AgentRefusal(401, "unauthorized");
}

/** The content of the headers, not yet verified. */
export interface Claim extends Omit<NodeRequest, "digest"> {
  digest: string | undefined;
  signature: string;
}

export function readClaim({
  method,
  path,
  headers,
}: Pick<AgentRequest, "method" | "path" | "headers">): Claim | undefined {
  const header = (name: string) => String(headers[name] ?? "");
  const [node, counter, signature] = [header(nodeHeader), header(counterHeader), header(signatureHeader)];
  const digest = header(digestHeader) || undefined;
  const isWellFormed =
    (node === "" || nodeShape.test(node)) &&
    counterShape.test(counter) &&
    signatureShape.test(signature) &&
    (digest === undefined || digestShape.test(digest));
  if (!isWellFormed || !Number.isSafeInteger(Number(counter))) return undefined;
  return { method, path, node, counter: Number(counter), digest, signature };
}

/** Records the refusal for the operator: on the node's row, and in the log. */
export async function recordRefusal(
  { database, clock, log }: Context,
  nodeId: string | undefined,
  { path, sourceAddress }: AgentRequest,
  reason: string,
): Promise<void> {
  log.warn({ node: nodeId, path, address: sourceAddress, reason }, "a request in a node's name was refused");
  if (nodeId !== undefined) await database.query(noteRefusal, { node_id: nodeId, now: clock.now(), reason });
}
