/** How a domain is, for people: its transfer to another registrar, and one word for all. */
import Type, { type Static } from "typebox";
import { dayMs } from "#lib/clock.ts";
import { instant, textLike } from "#use-case/docs.ts";

/** The transfer of a name that another registrar has asked for, as it is stored in `domains.transfer` and as resellers see it. */
export const transferShape = Type.Object(
  {
    status: Type.String({ description: "A trStatus of RFC 5731 §3.1.3.", examples: ["pending"] }),
    requested_at: instant,
    gaining_registrar: textLike("other-registrar"),
    answer_by: Type.Optional(
      Type.String({ ...instant, description: "When the registry decides by itself. Absent: it does not say." }),
    ),
  },
  { title: "Transfer", description: "Another registrar asks for the name." },
);
export type TransferRecord = Static<typeof transferShape>;

/** The transfer in a row's column. */
export const transferOf = (column: unknown): TransferRecord | undefined =>
  (column as TransferRecord | null) ?? undefined;

/** RFC 5731 §3.1.3: the name has, or should have, moved. */
export const isApproved = ({ status }: Pick<TransferRecord, "status">): boolean =>
  status === "clientApproved" || status === "serverApproved";

/** What resellers see: only a transfer that is not decided. */
export function presentTransfer(column: unknown): TransferRecord | undefined {
  const transfer = transferOf(column);
  if (transfer?.status !== "pending") return undefined;
  const { status, requested_at, gaining_registrar, answer_by } = transfer;
  return { status, requested_at, gaining_registrar, ...(answer_by !== undefined && { answer_by }) };
}

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

/**
 * One word, because the registry's statuses (RFC 5731 §2.3) are made for programs. The first that applies is the state: what threatens
 * the name most comes first. docs/api.md has the same table.
 */
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
