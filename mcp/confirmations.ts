/** What has run dry, and waits for its confirmation. It is kept in memory: after a restart, a write runs dry again. */
import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../client/sdk/clock.ts";

export const confirmMinutes = 10;
/** An assistant confirms the newest; beyond this many, the oldest are forgotten. */
const keptMax = 1_000;

export type Arguments = Readonly<Record<string, unknown>>;

/** A write that has run dry. It is sent at most once with success. */
export interface Confirmation<Result> {
  token: string;
  tool: string;
  /** Without the token. */
  arguments: Arguments;
  /** Made at the dry run, so that a call that is sent again has the same. */
  idempotencyKey: string;
  expiresAt: Date;
  /** Of a paid order that is counted: takes the count back. */
  takeBack: (() => Promise<void>) | undefined;
  /** Its answer, once it is being sent; absent again after an answer that a repeat can change. */
  result: Promise<Result> | undefined;
  /** It has been sent, so a repeat is safer than another dry run, also after `expiresAt`. */
  isSent: boolean;
}

export class ConfirmationError extends Error {}

export interface Confirmations<Result> {
  create(tool: string, given: Arguments): Confirmation<Result>;
  /** @throws ConfirmationError when the token is unknown, has expired, or belongs to other arguments */
  find(token: string, tool: string, given: Arguments): Confirmation<Result>;
}

export function createConfirmations<Result>(clock: Clock): Confirmations<Result> {
  const kept = new Map<string, Confirmation<Result>>();
  const randomHex = (bytes: number) => randomBytes(bytes).toString("hex");

  function forgetOld(): void {
    for (const { token, expiresAt, isSent } of kept.values()) {
      if (kept.size >= keptMax || (!isSent && expiresAt <= clock.now())) kept.delete(token);
    }
  }

  return {
    create(tool, given) {
      forgetOld();
      const confirmation: Confirmation<Result> = {
        token: randomHex(12),
        tool,
        arguments: given,
        idempotencyKey: `mcp-${randomHex(16)}`,
        expiresAt: new Date(clock.now().getTime() + confirmMinutes * 60_000),
        takeBack: undefined,
        result: undefined,
        isSent: false,
      };
      kept.set(confirmation.token, confirmation);
      return confirmation;
    },

    find(token, tool, given) {
      const found = kept.get(token);
      const again = `Nothing was sent. Call ${tool} without confirmation_token to run it dry again.`;
      if (!found || (!found.isSent && found.expiresAt <= clock.now())) {
        throw new ConfirmationError(
          `This confirmation_token is unknown, or older than ${confirmMinutes} minutes, or this server has been restarted since. ${again}`,
        );
      }
      if (found.tool !== tool || !isDeepStrictEqual(found.arguments, given)) {
        throw new ConfirmationError(
          `This confirmation_token belongs to other arguments: it confirms only exactly what ran dry. ${again}`,
        );
      }
      return found;
    },
  };
}
