/** What an account's job writes down: what happened, and when it tries again what did not work. */
import type { Context } from "#context.ts";
import { type Account, type AccountHappening, happenToAccount } from "#hosting/accounts/accounts.ts";
import { backoffMs } from "#lib/backoff.ts";

const triesDelayMsMax = 5 * 60_000;
const backoff = { firstMs: 1_000, maxMs: triesDelayMsMax };
/** SQL: what an account waits for its next try at the most. */
export const longestAccountWait = `interval '${triesDelayMsMax} ms'`;
/** What takes longer to become what it shall be should be looked at by a person. */
export const alarmAfterMs = 10 * 60_000;

/** Returns the account as it is now, or nothing when somebody else has changed it. */
export function record(context: Context, account: Account, happening: AccountHappening): Promise<Account | undefined> {
  return context.database.transaction((tx) => happenToAccount(context, tx, account, happening));
}

/**
 * Writes down that it did not work, and when it is tried again.
 * @param isAlarming whether a person is called at once; else only for what is wished and not in force
 */
export async function again(context: Context, account: Account, note: string, isAlarming = false): Promise<void> {
  const now = context.clock.now().getTime();
  const delayMs = backoffMs(account.backoff_count + 1, backoff, context.random);
  const isWaiting = account.applied_version < account.wanted_version;
  const needsPerson = isAlarming || (isWaiting && now - account.wanted_at.getTime() > alarmAfterMs);
  await record(context, account, {
    event: "doubtful",
    note,
    nextStepAt: new Date(now + delayMs),
    ...(needsPerson && { alarm: `still not ${wished(account)}: ${note}` }),
  });
}

function wished(account: Account): string {
  if (account.removal_requested_at) return "removed";
  if (account.status === "Provisioning") return "ready";
  const isSuspended = account.status === "Suspended";
  if (isSuspended === (account.suspended_at !== null)) return "changed";
  return isSuspended ? "resumed" : "suspended";
}
