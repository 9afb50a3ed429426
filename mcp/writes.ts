/** Writes: a dry run, its confirmation, and at most one that is carried out. */
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { Clock } from "../client/sdk/clock.ts";
import { ApiError } from "../client/sdk/errors.ts";
import { describeFailure, describeReply, mayBeRepeated, mistakeOf, resultOf } from "./answers.ts";
import { callOf } from "./call.ts";
import { type Arguments, type Confirmation, ConfirmationError, createConfirmations } from "./confirmations.ts";
import { tokenName } from "./descriptions.ts";
import type { Operation } from "./document.ts";
import { type DryRunOptions, describeWrite } from "./dry-run.ts";
import { PaidOrderError } from "./paid-orders.ts";

export interface Writer {
  /** Says what would be sent, and sends nothing that changes anything. */
  runDry(operation: Operation, given: Arguments): Promise<CallToolResult>;
  confirm(operation: Operation, given: Arguments, token: string): Promise<CallToolResult>;
}

interface WriterOptions extends DryRunOptions {
  clock: Clock;
  log(line: string): void;
}

const usedText = `This ${tokenName} was used before: this is its answer, and nothing was sent now.`;
const repeatText = `If it was not carried out yet, it can be: call it again with the same arguments and the same ${tokenName}. It has the same Idempotency-Key, so it is carried out at most once.`;

export function createWriter(options: WriterOptions): Writer {
  const { send, clock, paidOrders, log } = options;
  const confirmations = createConfirmations<CallToolResult>(clock);

  async function prepare(operation: Operation, given: Arguments): Promise<CallToolResult> {
    const described = await describeWrite(options, operation, given);
    const { token, expiresAt } = confirmations.create(operation.name, given);
    return resultOf({
      ...described,
      [tokenName]: token,
      expires_at: expiresAt.toISOString(),
      next: `Nothing was changed. Show this to the user. After a clear yes, call ${operation.name} with the same arguments and this ${tokenName}.`,
    });
  }

  /** Counts a paid order before it is sent: a crash in between costs a place of the day, not money. */
  async function carryOut(operation: Operation, confirmation: Confirmation<CallToolResult>): Promise<CallToolResult> {
    const { arguments: given, idempotencyKey } = confirmation;
    try {
      if (operation.isPaidOrder) confirmation.takeBack ??= await paidOrders.count(operation.name);
      confirmation.isSent = true;
      const reply = await send({ ...callOf(operation, given), idempotencyKey });
      log(`${operation.name}: sent, HTTP ${reply.status}, request ${reply.headers.get("x-request-id")}`);
      return resultOf({ sent: true, ...describeReply(operation, reply) });
    } catch (error) {
      const isRepeatable = mayBeRepeated(error);
      if (isRepeatable || error instanceof PaidOrderError) confirmation.result = undefined;
      if (isRepeatable) return withNote(describeFailure(error), repeatText);
      if (error instanceof ApiError) await confirmation.takeBack?.();
      return describeMistake(error);
    }
  }

  async function confirm(operation: Operation, given: Arguments, token: string): Promise<CallToolResult> {
    const confirmation = confirmations.find(token, operation.name, given);
    if (confirmation.result) return withNote(await confirmation.result, usedText);
    confirmation.result = carryOut(operation, confirmation);
    return await confirmation.result;
  }

  return {
    runDry: (operation, given) => prepare(operation, given).catch(describeMistake),
    confirm: (operation, given, token) => confirm(operation, given, token).catch(describeMistake),
  };
}

function withNote(result: CallToolResult, text: string): CallToolResult {
  return { ...result, content: [...result.content, { type: "text", text }] };
}

/** @throws what is no failure of a call */
function describeMistake(error: unknown): CallToolResult {
  if (error instanceof ConfirmationError) return mistakeOf("not_confirmed", error.message);
  if (error instanceof PaidOrderError) return mistakeOf("paid_order_limit_reached", error.message);
  return describeFailure(error);
}
