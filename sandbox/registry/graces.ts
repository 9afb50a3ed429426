import { addDays } from "./clock.ts";
import type { EventContext } from "./events.ts";
import type { Domain, GracePeriod } from "./objects.ts";

/** The current grace periods. */
export function gracesInForce({ graces = [] }: Domain, now: Date): GracePeriod[] {
  return graces.filter(({ until }) => Date.parse(until) > now.getTime());
}

const graceSetting = {
  addPeriod: "add",
  renewPeriod: "renew",
  autoRenewPeriod: "autoRenew",
  transferPeriod: "add",
} as const;

/** The name's grace periods, with another one that starts now. */
export function withGrace(
  { settings, now }: EventContext,
  domain: Domain,
  status: GracePeriod["status"],
  months: number,
): GracePeriod[] {
  const began = now();
  const until = addDays(began, settings.graceDays[graceSetting[status]]).toISOString();
  return [...gracesInForce(domain, began), { status, until, months }];
}

/** The name's current rgpStatus values of RFC 3915 §3.1, each once. */
export function rgpStatusesOf(domain: Domain, now: Date): string[] {
  if (domain.deletion) return [domain.deletion.stage];
  return [...new Set(gracesInForce(domain, now).map(({ status }) => status))];
}
