/** The dry run of a write: what would be sent, what it costs or destroys, and nothing that changes anything. */
import { ApiError } from "../client/sdk/errors.ts";
import type { Send } from "../client/sdk/transport.ts";
import { parseJson } from "./answers.ts";
import { callOf, showCall } from "./call.ts";
import type { Arguments } from "./confirmations.ts";
import type { Operation } from "./document.ts";
import type { PaidOrders } from "./paid-orders.ts";

export interface DryRunOptions {
  operations: readonly Operation[];
  send: Send;
  paidOrders: PaidOrders;
}

/** @throws ApiError, ConnectionError and PaidOrderError when it could not be carried out */
export async function describeWrite(
  { operations, send, paidOrders }: DryRunOptions,
  operation: Operation,
  given: Arguments,
): Promise<object> {
  const paid = operation.isPaidOrder ? await paidOrders.check() : undefined;
  const call = callOf(operation, given);
  const asked = operation.hasDryRun ? await send({ ...call, body: { ...call.body, dry_run: true } }) : undefined;
  const reader = operations.find(({ method, path }) => method === "GET" && path === operation.path);
  const now = reader && operation.method !== "POST" ? await readNow(send, reader, given) : undefined;
  return {
    dry_run: true,
    would_send: showCall(operation, call),
    ...(asked && { service_says: parseJson(asked) }),
    ...(now !== undefined && { now }),
    effects: effectsOf(operation, paid),
  };
}

/** What a PUT or a DELETE replaces, where the API can show it and the key may read it. */
async function readNow(send: Send, reader: Operation, given: Arguments): Promise<unknown> {
  try {
    return parseJson(await send({ ...callOf(reader, given), waitSeconds: undefined }));
  } catch (error) {
    if (error instanceof ApiError) return { error_code: error.errorCode, error_text: error.errorText };
    throw error;
  }
}

function effectsOf({ method, summary, description }: Operation, paid: { placed: number; max: number } | undefined) {
  const place = paid && `paid order ${paid.placed + 1} of the ${paid.max} that this server may place today (UTC)`;
  return [
    [summary, description].filter(Boolean).join(" "),
    ...(place ? [`It would be ${place}.`] : []),
    ...(method === "DELETE" ? ["It removes what is there now, which may not come back."] : []),
    ...(method === "PUT" ? ["It replaces what is there now."] : []),
  ];
}
