/**
 * A look at a name that belongs to no order: what the registry shows is compared with the domain's row, and taken over. What was
 * changed behind our back is recorded, an operator learns of it if we had set the value, and it is never set back.
 */
import { raiseAlarm } from "#alarms.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { askInfo, askOnce } from "#domains/changes/proof.ts";
import { isLookHeld, onName } from "#domains/changes/turns.ts";
import { askGlue, type Glue } from "#domains/name-servers/host-objects.ts";
import { hasHostCommands, isBelow } from "#domains/name-servers/wanted.ts";
import {
  type Difference,
  describeDifferences,
  differencesOf,
  isLockMoved,
  type LastShown,
} from "#domains/portfolio/differences.ts";
import { type Absence, reasonOfAbsence, seeAbsence, seePresence } from "#domains/portfolio/looks.ts";
import { type ShownDomain, shownOf, takeShown, withGlue } from "#domains/portfolio/shown.ts";
import { assertLeaseStands } from "#domains/registry/owner-lease.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import type { SessionPurpose } from "#registry/epp/pool/pool.ts";

const lockName = statement(
  "domain-to-compare",
  `SELECT domain.reseller_id, order_id, statuses, delegation, handles, dnssec, registry_ex_date, shown_at,
     renewal.status AS renewal_status, ARRAY(
       SELECT DISTINCT kind FROM changes WHERE changes.domain_name = domain.domain_name
         AND changes.reseller_id = domain.reseller_id AND changes.status = 'Finished') AS kinds_done
   FROM domains AS domain LEFT JOIN renewals AS renewal ON renewal.id = domain.renewal_id
   WHERE domain.domain_name = $name AND domain.registry_id = $registry_id FOR UPDATE OF domain`,
  {
    reseller_id: "int8",
    order_id: "int8?",
    statuses: "text[]",
    delegation: "jsonb",
    handles: "jsonb?",
    dnssec: "jsonb?",
    registry_ex_date: "timestamptz",
    shown_at: "timestamptz?",
    renewal_status: "text?",
    kinds_done: "text[]?",
  },
);
type HeldName = NonNullable<(typeof lockName)["row"]>;

const takeOver = statement(
  "domain-take-over",
  `UPDATE domains AS domain SET ${takeShown("$shown::jsonb", "$now::timestamptz")}, looked_at = $now
   WHERE domain_name = $name` as string,
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
      is: "absent" | "held-by-other";
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
  if (found.is === "held-by-us" && found.is_taken_over) await seePresence(sessions, name, seen.info);
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
  const comparable = datedBy(held, shown);
  const differences = differencesOf(held satisfies LastShown, comparable);
  if (!takesOver) return { ...found, in_portfolio: true, differences, is_taken_over: false };
  const now = context.clock.now();
  await tx.query(takeOver, { name, shown: comparable, now });
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
function datedBy({ renewal_status: status }: HeldName, shown: ShownDomain): ShownDomain {
  return status === null || status === "Scheduled" ? shown : { ...shown, ex_date: null };
}

/** The kind of order that sets a field. */
const setBy: Readonly<Record<Difference["field"], string>> = {
  statuses: "transfer-lock",
  name_servers: "nameservers",
  contacts: "contacts",
  dnssec: "dnssec",
  expiration_date: "renew",
};

/** Whether we had set what differs: by an order, or when the name was registered here. */
function isOurs(held: HeldName, shown: ShownDomain, { field, was_set }: Difference): boolean {
  // Of the statuses only the lock is ours to set.
  if (field === "statuses" && !isLockMoved(held, shown)) return false;
  const isOrdered = held.kinds_done?.includes(setBy[field]) ?? false;
  return isOrdered || (held.order_id !== null && was_set);
}
