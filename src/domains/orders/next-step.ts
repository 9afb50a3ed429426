import type { ChangeRow } from "#domains/orders/change.ts";
import { isFinal } from "#domains/orders/states.ts";

/**
 * What happens next to an order, for people.
 * @param step what its state does @param request an operator's request that the step carries out, as the end of a sentence
 */
export function describeNextStep(
  { status, maintenance_until, next_step_at, operator_note }: ChangeRow & { operator_note: string | null },
  step: string | undefined,
  request = "",
): string {
  if (isFinal(status)) return "nothing: it has ended";
  if (maintenance_until) return `the registry's maintenance ends, at ${maintenance_until.toISOString()}`;
  const when = next_step_at ? `at ${next_step_at.toISOString()}` : "at once";
  const help = operator_note ? "; it needs an operator: deedhouse operator orders settle" : "";
  return `${when}: ${step}${request}${help}`;
}
