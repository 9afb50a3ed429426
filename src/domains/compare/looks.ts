/**
 * What `<info>` shows of names of the portfolio that may have left. Without a message about a transfer, a departure takes two looks
 * a day apart, and while many names of a registry seem gone at once, none of them leaves: one wrong answer must not empty a
 * portfolio. A look at a name for any other reason is passed on to this file; the registry's owner takes the second look.
 */

import { raiseAlarm } from "#alarms.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { leave } from "#domains/compare/leave.ts";
import { OrderConflict } from "#domains/orders/order.ts";
import type { Departure } from "#domains/portfolio/rows.ts";
import { isApproved, type TransferRecord, transferOf } from "#domains/portfolio/state.ts";
import { later, type NameInfo } from "#domains/registry/ask.ts";
import { assertLeaseStands, type RegistrySessions } from "#domains/registry/sessions.ts";
import { addDays } from "#domains/registry/terms.ts";
import { dayMs } from "#lib/clock.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";

/** How long after the first look the second one decides. */
const secondLookMs = dayMs;
/** More names of a registry that seem gone within an hour are more likely its mistake. */
const goneNamesPerHourMax = 20;

const lockName = statement(
  "departing-name",
  `SELECT renewal_id, expiration_date, gone_since, transfer FROM domains
   WHERE domain_name = $name AND registry_id = $registry_id FOR UPDATE`,
  { renewal_id: "int8?", expiration_date: "timestamptz", gone_since: "timestamptz?", transfer: "jsonb?" },
);
type HeldName = NonNullable<(typeof lockName)["row"]>;

// The names of a registry are noted one after the other: of many at once, the last ones see all the others.
const noteAlone = statement(
  "domains-gone-lock",
  "SELECT pg_advisory_xact_lock(hashtext('departures'), hashtext($registry_id))::text AS held",
  { held: "text" },
);

const noteGone = statement(
  "domain-seems-gone",
  "UPDATE domains SET gone_since = $gone_since, look_at = $look_at WHERE domain_name = $name",
  {},
);

// An operator who resolves the alarm has asked the registry about the names that seemed gone until then.
const crowdOf = statement(
  "domains-gone-at-once",
  `SELECT count(*) AS names, EXISTS (SELECT FROM alarms
     WHERE kind = 'departures' AND subject = $registry_id AND resolved_at >= $gone_since) AS is_confirmed,
     EXISTS (SELECT FROM alarms WHERE kind = 'departures' AND subject = $registry_id AND resolved_at IS NULL) AS is_alarmed
   FROM domains WHERE registry_id = $registry_id
     AND gone_since BETWEEN $gone_since::timestamptz - interval '1 hour' AND $gone_since::timestamptz + interval '1 hour'`,
  { names: "int8", is_confirmed: "bool", is_alarmed: "bool" },
);

// A transfer is decided by its date, if nobody answers.
const noteHere = statement(
  "domain-is-here",
  `UPDATE domains SET gone_since = NULL, transfer = CASE WHEN $is_asked_for THEN transfer END,
     look_at = CASE WHEN $is_asked_for AND transfer IS NOT NULL THEN least($look_at::timestamptz,
       CASE WHEN (transfer ->> 'answer_by')::timestamptz > $now THEN (transfer ->> 'answer_by')::timestamptz END) END
   WHERE domain_name = $name AND registry_id = $registry_id AND num_nonnulls(gone_since, look_at, transfer) > 0`,
  {},
);

export const postponeLook = statement(
  "domain-look-later",
  "UPDATE domains SET look_at = $look_at WHERE domain_name = $name",
  {},
);

/** The registry does not hold a name for us, or not for long. */
export type Absence =
  | Extract<NameInfo, { is: "absent" | "held-by-other" }>
  /** It shows pendingDelete, and we did not send a delete. */
  | { is: "deleted"; restorableUntil: Date | undefined };

const reasons = {
  absent: "the registry does not hold the name",
  deleted: "the registry is deleting the name",
  "held-by-other": "the name is held by another registrar",
} as const;

export const reasonOfAbsence = ({ is }: Absence): string => reasons[is];

/** Until when a name that the registry is deleting can be restored, by the days of the profile since its delete (RFC 3915 §3). */
export function restorableUntil(
  { profile }: Pick<RegistrySessions, "profile">,
  { rgpStatuses }: DomainInfo,
  { deletedAt, isFree }: { deletedAt: Date; isFree: boolean },
): Date | undefined {
  const isRedeemable = rgpStatuses.length > 0 ? rgpStatuses.includes("redemptionPeriod") : !isFree;
  const days = profile.graceDays.redemption;
  return isRedeemable && days > 0 ? addDays(deletedAt, days) : undefined;
}

/**
 * A look has shown that the registry does not hold a name of the portfolio for us. The first look notes it; the name leaves when a
 * look at least a day later shows the same.
 * @returns "left" if the name is not in the portfolio any more
 * @throws LeaseLost when this process no longer owns the registry
 */
export async function seeAbsence(
  sessions: RegistrySessions,
  name: string,
  absence: Absence,
): Promise<"noted" | "left"> {
  const { database } = sessions.context;
  for (;;) {
    try {
      return await database.transaction((tx) => judgeAbsence(sessions, tx, name, absence));
    } catch (error) {
      // Its renewal or an order was written meanwhile.
      if (!(error instanceof OrderConflict)) throw error;
    }
  }
}

/**
 * The same in a transaction that writes more.
 * @param transfer a message about a transfer to another registrar: if it explains what the look has shown, one look is enough
 * @throws OrderConflict when another transaction has changed what belongs to the name: start a new transaction
 */
export async function judgeAbsence(
  sessions: RegistrySessions,
  tx: Transaction,
  name: string,
  absence: Absence,
  transfer?: TransferRecord,
): Promise<"noted" | "left"> {
  const { context, profile } = sessions;
  await assertLeaseStands(tx, context.lease);
  const [held] = await tx.query(lockName, { name, registry_id: profile.id });
  if (!held) return "left";
  const known = transfer ?? transferOf(held.transfer);
  // A registrar that has asked for the name, and a registry that shows it elsewhere: the approval is late, or lost.
  const isExplained = known !== undefined && (isApproved(known) || absence.is === "held-by-other");
  if (!isExplained && !(await isSeenTwice(sessions, tx, name, held))) return "noted";
  const departure = departureOf(sessions, held, absence, isExplained ? known : undefined);
  const { gainingRegistrar } = departure;
  const note = gainingRegistrar ? `the name is held by the registrar ${gainingRegistrar}` : reasonOfAbsence(absence);
  await leave(context, tx, { name, renewalId: held.renewal_id, departure, note });
  return "left";
}

/** Notes a first look. @returns whether the name may leave after this look */
async function isSeenTwice(
  sessions: RegistrySessions,
  tx: Transaction,
  name: string,
  { gone_since: before }: HeldName,
): Promise<boolean> {
  const { context, profile } = sessions;
  const now = context.clock.now();
  const goneSince = before ?? now;
  const isSecond = goneSince <= later(sessions, -secondLookMs);
  if (!before) {
    await tx.query(noteAlone, { registry_id: profile.id });
    await tx.query(noteGone, { name, gone_since: now, look_at: later(sessions, secondLookMs) });
  }
  if (before && !isSecond) {
    await tx.query(postponeLook, { name, look_at: new Date(before.getTime() + secondLookMs) });
    return false;
  }
  const [crowd] = await tx.query(crowdOf, { registry_id: profile.id, gone_since: goneSince });
  if (!crowd) throw new Error("the count of names that seem gone returned no row");
  const isCrowd = crowd.names > goneNamesPerHourMax && !crowd.is_confirmed;
  // While some are back and others are not yet, the alarm is still open.
  if (!isCrowd && !crowd.is_alarmed) return isSecond;
  const note = `${crowd.names} names seem gone since about ${goneSince.toISOString()}: none of them leaves the portfolio`;
  if (isCrowd) await raiseAlarm(context, { kind: "departures", subject: profile.id, note }, tx);
  await tx.query(postponeLook, { name, look_at: later(sessions, secondLookMs) });
  return false;
}

function departureOf(
  { context }: RegistrySessions,
  { expiration_date: expirationDate }: HeldName,
  absence: Absence,
  transfer: TransferRecord | undefined,
): Departure {
  if (transfer) return { reason: "transferred", gainingRegistrar: transfer.gaining_registrar };
  if (absence.is === "held-by-other") return { reason: "transferred", gainingRegistrar: absence.registrar };
  if (absence.is === "deleted") return { reason: "deleted", restorableUntil: absence.restorableUntil };
  return { reason: context.clock.now() < expirationDate ? "deleted" : "expired" };
}

/** A look has shown that the registry holds a name of the portfolio for us: it has not left. */
export async function seePresence(sessions: RegistrySessions, name: string, { statuses }: DomainInfo): Promise<void> {
  const { context, profile } = sessions;
  const isAskedFor = statuses.includes("pendingTransfer");
  const look_at = later(sessions, secondLookMs);
  const values = { name, registry_id: profile.id, is_asked_for: isAskedFor, look_at, now: context.clock.now() };
  await context.database.query(noteHere, values);
}
