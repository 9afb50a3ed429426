/**
 * A look at a name that belongs to no order: what the registry shows is compared with the domain's row, and taken over. What was
 * changed behind our back is recorded, an operator learns of it if we had set the value, and it is never set back.
 */
import { raiseAlarm } from "#alarms.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import {
  type Difference,
  describeDifferences,
  differencesOf,
  isLockMoved,
  type LastShown,
} from "#domains/compare/differences.ts";
import { type Absence, reasonOfAbsence, restorableUntil, seeAbsence, seePresence } from "#domains/compare/looks.ts";
import { isUnknownCode, noteCode } from "#domains/compare/seen-auth-code.ts";
import { askGlue, type Glue } from "#domains/name-servers/host-objects.ts";
import { hasHostCommands, isBelow } from "#domains/name-servers/wanted.ts";
import { isChangedByOrder, isLookHeld, onName } from "#domains/orders/turns.ts";
import { type ShownDomain, shownOf, takeShown, withGlue } from "#domains/portfolio/rows.ts";
import { askInfo, askOnce } from "#domains/registry/ask.ts";
import { assertLeaseStands, type RegistrySessions } from "#domains/registry/sessions.ts";
import { isAnotherDate, isNextTerm, mayBeAutoRenewed } from "#domains/registry/terms.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import type { SessionPurpose } from "#registry/epp/pool/pool.ts";
import type { RegistryProfile } from "#registry/registries.ts";

const lockName = statement(
  "domain-to-compare",
  `SELECT domain.reseller_id, order_id, statuses, delegation, handles, dnssec, expiration_date, registry_ex_date, shown_at,
     renewal.status AS renewal_status, renewal.phase AS renewal_phase, ARRAY(
       SELECT DISTINCT kind FROM orders WHERE orders.domain_name = domain.domain_name
         AND orders.reseller_id = domain.reseller_id AND orders.status = 'Finished') AS kinds_done
   FROM domains AS domain LEFT JOIN renewals AS renewal ON renewal.id = domain.renewal_id
   WHERE domain.domain_name = $name AND domain.registry_id = $registry_id FOR UPDATE OF domain`,
  {
    reseller_id: "int8",
    order_id: "int8?",
    statuses: "text[]",
    delegation: "jsonb",
    handles: "jsonb?",
    dnssec: "jsonb?",
    expiration_date: "timestamptz",
    registry_ex_date: "timestamptz",
    shown_at: "timestamptz?",
    renewal_status: "text?",
    renewal_phase: "text?",
    kinds_done: "text[]?",
  },
);
type HeldName = NonNullable<(typeof lockName)["row"]>;

const termOf = statement("domain-term", "SELECT expiration_date FROM domains WHERE domain_name = $name", {
  expiration_date: "timestamptz",
});

const takeOver = statement(
  "domain-take-over",
  `UPDATE domains AS domain SET ${takeShown("$shown::jsonb", "$now::timestamptz")}, looked_at = $now
   WHERE domain_name = $name` as string,
  {},
);

// Nothing is left to do for the term before.
const beginTerm = statement(
  "domain-begin-term",
  `WITH over AS (
     UPDATE renewals SET status = 'Renewed', phase = NULL, renewed_until = $until, reason = $reason, updated_at = $now, ended_at = $now
     WHERE domain_name = $name AND ended_at IS NULL RETURNING id, status, reason),
   told AS (
     INSERT INTO renewal_history (renewal_id, at, event, status, note) SELECT id, $now, 'renewed', status, reason FROM over)
   UPDATE domains SET expiration_date = $until, renewal_id = NULL WHERE domain_name = $name`,
  {},
);

const recordChange = statement(
  "domain-changed-at-registry",
  `INSERT INTO domain_history (domain_name, reseller_id, at, event, note)
   VALUES ($name, $reseller_id, $now, 'changed-at-registry', $note)`,
  {},
);

/** What a look has found. It is stored as JSON when it answers an operator's question. */
export type NameLook =
  /** There was no usable answer, or what it shows may be outdated by a command about the name. */
  | { is: "unknown" | "held-back"; reason: string }
  | {
      is: Absence["is"];
      reason: string;
      /** What this meant for the portfolio; absent: nothing was written. */
      departure?: "noted" | "left" | undefined;
    }
  | {
      is: "held-by-us";
      shown: ShownDomain;
      created_at: string | null;
      in_portfolio: boolean;
      differences: Difference[];
      is_taken_over: boolean;
    };

export interface LookOptions {
  /** Whether the row takes over what the registry shows, and a name that seems gone is noted. */
  takesOver: boolean;
  purpose: SessionPurpose;
}

const heldBack: NameLook = { is: "held-back", reason: "an order about the name is in progress" };

/** @throws LeaseLost when this process no longer owns the registry */
export function lookAtName(sessions: RegistrySessions, name: string, options: LookOptions): Promise<NameLook> {
  return onName(sessions, name, () => look(sessions, name, options));
}

async function look(sessions: RegistrySessions, name: string, { takesOver, purpose }: LookOptions): Promise<NameLook> {
  const { database, clock } = sessions.context;
  const since = clock.now();
  if (await isLookHeld(database, name, since)) return heldBack;
  const seen = await askInfo(sessions, name, purpose);
  if (seen.is === "unknown") return seen;
  if (seen.is !== "held-by-us") return lookAtAbsence(sessions, name, seen, { since, takesOver });
  if (seen.info.name.toLowerCase() !== name) {
    return { is: "unknown", reason: `the registry answered about ${seen.info.name}` };
  }
  const glue = await askGlueBelow(sessions, name, seen.info, purpose);
  if ("reason" in glue) return { is: "unknown", ...glue };
  const { info } = seen;
  const shown = withGlue(shownOf(info), name, glue);
  const found = await database.transaction((tx) => compare(sessions, tx, name, { info, shown, since, takesOver }));
  if (found.is !== "held-by-us" || !found.in_portfolio) return found;
  const deleted = await findDeletion(sessions, name, info);
  if (deleted) return lookAtAbsence(sessions, name, deleted, { since, takesOver });
  if (found.is_taken_over) await seePresence(sessions, name, info);
  return found;
}

/** The addresses of the name's hosts, where `<info>` about the name does not show them. Never throws. */
async function askGlueBelow(
  sessions: RegistrySessions,
  name: string,
  { nameServers }: DomainInfo,
  purpose: SessionPurpose,
): Promise<Glue | { reason: string }> {
  const hosts = nameServers?.hosts.map((host) => host.name.toLowerCase()).filter((host) => isBelow(host, name)) ?? [];
  const isAsked = sessions.profile.hostModel === "objects" && hasHostCommands(sessions.profile);
  try {
    return await askGlue(askOnce(sessions, purpose), isAsked ? hosts : []);
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

/** A delete that no order has sent, before the end of the term: after it, the registry may do as it does with names that expire. */
async function findDeletion(sessions: RegistrySessions, name: string, info: DomainInfo): Promise<Absence | undefined> {
  const { clock, database } = sessions.context;
  const { statuses, rgpStatuses, upDate } = info;
  if (!statuses.includes("pendingDelete") || rgpStatuses.includes("pendingRestore")) return undefined;
  const now = clock.now();
  const [term] = await database.query(termOf, { name });
  if (!term || term.expiration_date <= now) return undefined;
  const deletedAt = upDate ?? now;
  return { is: "deleted", restorableUntil: restorableUntil(sessions, info, { deletedAt, isFree: false }) };
}

async function lookAtAbsence(
  sessions: RegistrySessions,
  name: string,
  absence: Absence,
  { since, takesOver }: { since: Date; takesOver: boolean },
): Promise<NameLook> {
  const { is } = absence;
  const { database } = sessions.context;
  if (await isLookHeld(database, name, since)) return heldBack;
  const registrar = absence.is === "held-by-other" ? absence.registrar : undefined;
  const reason = registrar === undefined ? reasonOfAbsence(absence) : `the name is held by the registrar ${registrar}`;
  return { is, reason, departure: takesOver ? await seeAbsence(sessions, name, absence) : undefined };
}

async function compare(
  { context, profile }: RegistrySessions,
  tx: Transaction,
  name: string,
  { info, shown, since, takesOver }: { info: DomainInfo; shown: ShownDomain; since: Date; takesOver: boolean },
): Promise<NameLook> {
  await assertLeaseStands(tx, context.lease);
  const [held] = await tx.query(lockName, { name, registry_id: profile.id });
  const found = { is: "held-by-us", shown, created_at: info.crDate?.toISOString() ?? null } as const;
  if (!held) return { ...found, in_portfolio: false, differences: [], is_taken_over: false };
  // A command, or a later look, came between the question and its answer.
  if ((held.shown_at && held.shown_at > since) || (await isLookHeld(tx, name, since))) return heldBack;
  if (takesOver && (await isChangedByOrder(tx, name))) return heldBack;
  const now = context.clock.now();
  const comparable = datedBy(held, shown, now);
  const differences = differencesOf(held satisfies LastShown, comparable);
  const isUnknown = await isUnknownCode(context, tx, profile, info);
  if (isUnknown) differences.push(unknownCode);
  if (!takesOver) return { ...found, in_portfolio: true, differences, is_taken_over: false };
  await tx.query(takeOver, { name, shown: comparable, now });
  await noteCode(context, tx, profile, { ...info, isUnknown });
  const until = newTermOf(held, comparable, { info, profile, now });
  if (until) await tx.query(beginTerm, { name, until, reason: "the registry shows the new term", now });
  if (differences.length > 0) {
    const note = describeDifferences(differences);
    await tx.query(recordChange, { name, reseller_id: held.reseller_id, now, note });
    const ours = differences.filter((difference) => isOurs(held, comparable, difference));
    if (ours.length > 0) {
      const told = `changed at the registry by somebody else: ${describeDifferences(ours)}`;
      await raiseAlarm(context, { kind: "name-changed", subject: name, note: told }, tx);
    }
  }
  return { ...found, in_portfolio: true, differences, is_taken_over: true };
}

/** A renewal that has begun takes its date from its own looks: another one would name another term in its renew. */
function datedBy(held: HeldName, shown: ShownDomain, now: Date): ShownDomain {
  const { renewal_status: status, renewal_phase: phase, expiration_date: termEndsAt } = held;
  const waits = status === "Scheduled" || (status === "Lapsing" && phase === "wait" && now < termEndsAt);
  return status === null || waits ? shown : { ...shown, ex_date: null };
}

/** The end of a term that was renewed without an order of this database, and not by the registry at the end of the one before. */
function newTermOf(
  { expiration_date: term, registry_ex_date: before }: HeldName,
  { ex_date: exDate }: ShownDomain,
  { info, profile, now }: { info: DomainInfo; profile: RegistryProfile; now: Date },
): Date | undefined {
  const shown = exDate === null ? undefined : new Date(exDate);
  if (!shown || !isAnotherDate(before, shown) || !isNextTerm(term, shown)) return undefined;
  const termEndsAt = before < term ? before : term;
  return mayBeAutoRenewed(profile, info, { termEndsAt, now }) ? undefined : shown;
}

const unknownCode: Difference = {
  field: "auth_code",
  here: "the one that was seen last",
  registry: "another one",
  was_set: true,
};

/** The kind of order that sets a field. */
const setBy: Readonly<Record<Difference["field"], string>> = {
  statuses: "transfer-lock",
  name_servers: "nameservers",
  contacts: "contacts",
  dnssec: "dnssec",
  expiration_date: "renew",
  auth_code: "auth-code",
};

/** Whether we had set what differs: by an order, or when the name was registered here. */
function isOurs(held: HeldName, shown: ShownDomain, { field, was_set }: Difference): boolean {
  // Of the statuses only the lock is ours to set.
  if (field === "statuses" && !isLockMoved(held, shown)) return false;
  const isOrdered = held.kinds_done?.includes(setBy[field]) ?? false;
  return isOrdered || (held.order_id !== null && was_set);
}
