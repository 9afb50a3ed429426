/**
 * Whose request it is, at the door of the nodes. Every refusal looks the same from outside, counts on the source address,
 * and is written down on the node whose name was used.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { SourceBudget } from "#api/rate-limit.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import {
  counterHeader,
  isRequestSigned,
  type NodeRequest,
  nodeHeader,
  parsePublicKey,
  signatureHeader,
} from "#nodes/agent/request-signature.ts";

const nodeShape = /^[a-z0-9-]{1,32}$/;
const counterShape = /^[0-9]{1,16}$/;
const signatureShape = /^[A-Za-z0-9_-]{86}$/;

const readKey = statement("node-channel-key", "SELECT public_key FROM node_channels WHERE node_id = $1", {
  public_key: "text?",
});
const noteRefusal = statement(
  "node-channel-refused",
  `UPDATE node_channels SET refused_count = refused_count + 1, refused_at = $2, refused_reason = $3 WHERE node_id = $1`,
  {},
);

/** An answer that is a refusal: its code is all that the caller is told. */
export class DoorRefusal extends Error {
  override readonly name = "DoorRefusal";
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

export interface DoorRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  sourceAddress: string;
  /** Fires when the caller is gone, or the door closes. */
  signal: AbortSignal;
}

/** @returns the request as its node signed it @throws DoorRefusal */
export async function authenticate(context: Context, budget: SourceBudget, request: DoorRequest): Promise<NodeRequest> {
  const claimed = readClaim(request);
  if (!budget.check(request.sourceAddress, claimed?.node).allowed) throw new DoorRefusal(429, "too_many_failures");
  const [channel] = claimed ? await context.database.point(readKey, [claimed.node]) : [];
  const isGood =
    claimed !== undefined &&
    typeof channel?.public_key === "string" &&
    isRequestSigned(claimed, claimed.signature, parsePublicKey(channel.public_key));
  if (!isGood) {
    budget.noteFailure(request.sourceAddress, claimed?.node);
    await recordRefusal(context, claimed?.node, request, "not signed by this node");
    throw new DoorRefusal(401, "unauthorized");
  }
  budget.noteGood(request.sourceAddress, claimed.node);
  return claimed;
}

/** What the headers say, not yet believed. */
export function readClaim({
  method,
  path,
  headers,
  body,
}: DoorRequest): (NodeRequest & { signature: string }) | undefined {
  const [node, counter, signature] = [nodeHeader, counterHeader, signatureHeader].map((name) =>
    String(headers[name] ?? ""),
  );
  const isWellFormed =
    (node === "" || nodeShape.test(node!)) && counterShape.test(counter!) && signatureShape.test(signature!);
  if (!isWellFormed || !Number.isSafeInteger(Number(counter))) return undefined;
  return { method, path, node: node!, counter: Number(counter), body, signature: signature! };
}

/** For the operator: on the node's row, and in the log. */
export async function recordRefusal(
  { database, clock, log }: Context,
  nodeId: string | undefined,
  { path, sourceAddress }: DoorRequest,
  reason: string,
): Promise<void> {
  log.warn({ node: nodeId, path, address: sourceAddress, reason }, "a request in a node's name was refused");
  if (nodeId !== undefined) await database.query(noteRefusal, [nodeId, clock.now(), reason]);
}
