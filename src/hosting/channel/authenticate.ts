/**
 * Whose request it is, at the endpoint for agents. Every refusal looks the same from outside, counts on the source address,
 * and is written down on the node whose name was used.
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
  `SELECT public_key, CASE WHEN $2 THEN report_counter ELSE sync_counter END AS last_counter
   FROM node_channels WHERE node_id = $1`,
  { public_key: "text?", last_counter: "int8?" },
);
const noteRefusal = statement(
  "node-channel-refused",
  `UPDATE node_channels SET refused_count = refused_count + 1, refused_at = $2, refused_reason = $3 WHERE node_id = $1`,
  {},
);

/** An answer that is a refusal: its code is all that the caller is told. */
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
  /** @throws AgentRefusal when it is longer, or does not come whole */
  readBody(bytesMax: number): Promise<Buffer>;
  sourceAddress: string;
  /** Fires when the caller is gone, or the endpoint closes. */
  signal: AbortSignal;
}

/** What a node has signed. */
export interface SignedRequest extends NodeRequest {
  body: Buffer;
}

/**
 * Reads the body of who has signed its digest. An agent that does not say the digest beforehand has little read of what it
 * sends, whoever it is.
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
  // Nothing is awaited from here until a failure is counted: of a burst, no more are verified than may fail.
  requireBudget(budget, request, node);
  const isSigned =
    typeof channel?.public_key === "string" &&
    isRequestSigned({ ...unsigned, digest }, signature, parsePublicKey(channel.public_key));
  if (!isSigned) return refuseSignature(context, budget, request, node);
  // Looked at again, and counted, in the transaction of what is asked.
  const last = channel.last_counter ?? 0;
  if (claimed.counter <= last) throw new AgentRefusal(401, "counter_too_low", last);
  const body = early ?? (await request.readBody(requestBytesMax));
  if (bodyDigest(body) !== digest) return refuseSignature(context, budget, request, node);
  budget.noteGood(request.sourceAddress, node);
  return { ...unsigned, digest, body };
}

/** @throws AgentRefusal when the source, or the node at it, has used up its failures */
export function requireBudget(budget: SourceBudget, { sourceAddress }: AgentRequest, node?: string): void {
  if (!budget.check(sourceAddress, node).allowed) throw new AgentRefusal(429, "too_many_failures");
}

async function findChannel({ database }: Context, budget: SourceBudget, request: AgentRequest, node: string) {
  // Those whose turns came first may have used it up.
  requireBudget(budget, request, node);
  const [channel] = await database.point(readChannel, [node, request.path === reportPath]);
  return channel;
}

/** Counts the failure before anything is awaited. */
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

/** What the headers say, not yet believed. */
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

/** For the operator: on the node's row, and in the log. */
export async function recordRefusal(
  { database, clock, log }: Context,
  nodeId: string | undefined,
  { path, sourceAddress }: AgentRequest,
  reason: string,
): Promise<void> {
  log.warn({ node: nodeId, path, address: sourceAddress, reason }, "a request in a node's name was refused");
  if (nodeId !== undefined) await database.query(noteRefusal, [nodeId, clock.now(), reason]);
}
