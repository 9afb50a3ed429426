/** One word for how a domain is, for people: the registry's statuses (RFC 5731 §2.3) are made for programs. */
import type { transferOf } from "#domains/portfolio/transfer.ts";

const dayMs = 24 * 60 * 60_000;
/** How long before its end a name that will not renew is `expiring`. */
const expiringMs = 30 * dayMs;

interface Shown {
  statuses: readonly string[];
  expirationDate: Date;
  willRenew: boolean;
  /** As stored; undefined if nobody asks for the name. */
  transfer: ReturnType<typeof transferOf>;
  now: Date;
}

const has =
  (...wanted: string[]) =>
  ({ statuses }: Shown) =>
    statuses.some((status) => wanted.includes(status));

/** The first that applies is the state: what threatens the name most comes first. docs/api.md has the same table. */
const table = [
  ["being_deleted", has("pendingDelete")],
  ["pending_transfer", (shown) => shown.transfer?.status === "pending" || has("pendingTransfer")(shown)],
  ["on_hold", has("clientHold", "serverHold")],
  ["expired", ({ expirationDate, now }) => expirationDate <= now],
  [
    "expiring",
    ({ willRenew, expirationDate, now }) => !willRenew && expirationDate.getTime() - now.getTime() <= expiringMs,
  ],
  ["pending_registration", has("pendingCreate")],
  ["pending_renewal", has("pendingRenew")],
  ["pending_change", has("pendingUpdate")],
  ["locked", has("clientUpdateProhibited", "serverUpdateProhibited")],
  ["no_name_servers", has("inactive")],
  ["active", () => true],
] as const satisfies readonly (readonly [state: string, applies: (shown: Shown) => boolean])[];

export type DomainState = (typeof table)[number][0];
export const domainStates: readonly DomainState[] = table.map(([state]) => state);

export function stateOf(shown: Shown): DomainState {
  const [state] = table.find(([, applies]) => applies(shown))!;
  return state;
}
