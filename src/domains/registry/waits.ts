/** How long orders and renewals wait. */
import type { RegistryProfile } from "#registry/registries.ts";

/** How often an order retries that waits for an operator. */
export const operatorRetryMs = 15 * 60_000;
/** The same for a renewal and its orders: they have weeks. */
export const attentionRetryMs = 60 * 60_000;

/** The longest that a step waits, except for a term's end, a schedule and announced maintenance. */
export function longestWaitMs(profile: RegistryProfile): number {
  const { backoffMaxMs, reconcileIntervalMs, settleMs, takeoverSettleMs } = profile;
  return Math.max(backoffMaxMs, reconcileIntervalMs, settleMs, takeoverSettleMs, operatorRetryMs, attentionRetryMs);
}
