/**
 * The periodic task of a registry's owner for contact objects that nothing uses: a week after their last use they are deleted at
 * the registry. There is no hurry: it uses the lane of looks without haste, and sessions that nobody needs.
 *
 * An order may need the object at any moment. Whether nothing uses it is decided under the lock of its row, which orders read
 * under a lock too (contact-object.ts): an order was accepted before, and is seen, or it finds the object marked and waits until
 * the registry has answered. A delete may be sent again, so after a lost answer the registry is asked whether the object is there.
 */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { contactOfProfile, profileColumnNames, profileColumns } from "#domains/contacts/contact.ts";
import { isOfName, isOfOrder } from "#domains/contacts/erase.ts";
import { digestsOf } from "#domains/contacts/stored.ts";
import { later } from "#domains/registry/ask.ts";
import {
  assertLeaseStands,
  awaitIdleTurn,
  lateFrameMs,
  mayBegin,
  type RegistrySessions,
  sessionWaitMs,
} from "#domains/registry/sessions.ts";
import { dayMs } from "#lib/clock.ts";
import { contactDelete } from "#registry/epp/commands/contact/delete.ts";
import { type ContactInfo, contactInfo } from "#registry/epp/commands/contact/info.ts";
import { EppNotSent, EppUnanswered, EppUnavailable } from "#registry/epp/errors.ts";
import type { Lease } from "#registry/epp/pool/pool.ts";
import type { EppResponse } from "#registry/epp/session.ts";

/** How long an object is kept after its last use: names come back, and orders are repeated. */
const keptMs = 7 * dayMs;
/** How often an object that is used is looked at. */
const lookAgainMs = dayMs;
/** How long to wait when the registry says that something uses the object, or does not let us delete it. */
const keepLongerMs = 30 * dayMs;
/** How long to wait after an answer that decides nothing. */
const retryMs = 60 * 60_000;
const batchRows = 1_000;

const isUsed = `(${isOfName("known", "$now::timestamptz")}
  OR ${isOfOrder("known.reseller_id", "known.data_digest", "live.registry_id = known.registry_id")})`;

const judgeDue = statement(
  "contacts-unused",
  `WITH due AS MATERIALIZED (
     SELECT registry_id, contact_id, reseller_id, data_digest FROM registry_contacts
     WHERE registry_id = $registry_id AND (look_at IS NULL OR look_at <= $now) AND delete_cl_trid IS NULL
     ORDER BY look_at NULLS FIRST LIMIT $rows_max),
   judged AS MATERIALIZED (SELECT contact_id, ${isUsed} AS is_used FROM due AS known)
   UPDATE registry_contacts AS known SET
     unused_since = CASE WHEN is_used THEN NULL ELSE coalesce(known.unused_since, $now) END,
     look_at = CASE WHEN is_used THEN $look_again_at::timestamptz
       WHEN known.unused_since IS NULL THEN $delete_at::timestamptz ELSE known.look_at END
   FROM judged WHERE known.registry_id = $registry_id AND known.contact_id = judged.contact_id AND known.delete_cl_trid IS NULL
   RETURNING known.contact_id, known.unused_since` as string,
  { contact_id: "text", unused_since: "timestamptz?" },
);

const lockUnused = statement(
  "contact-lock-unused",
  `SELECT reseller_id, data_digest FROM registry_contacts
   WHERE registry_id = $registry_id AND contact_id = $contact_id AND unused_since <= $unused_before
     AND delete_cl_trid IS NULL FOR UPDATE`,
  { reseller_id: "int8?", data_digest: "text?" },
);

// What an order leaves out is the profile, as it is when the order is sent.
const markDeleted = statement(
  "contact-mark-deleted",
  `UPDATE registry_contacts AS known SET delete_cl_trid = $cl_trid, delete_epoch = $epoch::int8, look_at = $settled_at
   WHERE registry_id = $registry_id AND contact_id = $contact_id AND ${mayBegin("$registry_id", "$epoch::int8")}
     AND NOT ${isUsed} AND NOT ($is_profile::bool AND EXISTS (
       SELECT FROM orders AS live WHERE live.reseller_id = known.reseller_id AND live.ended_at IS NULL AND live.kind = 'create'
         AND live.registry_id = known.registry_id AND NOT coalesce(live.input -> 'contacts' ?& $roles::text[], false)))
   RETURNING contact_id` as string,
  { contact_id: "text" },
);

const unmark = statement(
  "contact-unmark",
  `UPDATE registry_contacts SET delete_cl_trid = NULL, delete_epoch = NULL, look_at = $look_at,
     unused_since = CASE WHEN $is_used::bool THEN NULL ELSE unused_since END
   WHERE registry_id = $registry_id AND contact_id = $contact_id`,
  {},
);

const lookLater = statement(
  "contact-look-later",
  "UPDATE registry_contacts SET look_at = $look_at WHERE registry_id = $registry_id AND contact_id = $contact_id",
  {},
);

const dropKnown = statement(
  "contact-drop",
  "DELETE FROM registry_contacts WHERE registry_id = $registry_id AND contact_id = $contact_id",
  {},
);

const markedDue = statement(
  "contacts-marked",
  `SELECT contact_id, delete_epoch FROM registry_contacts
   WHERE registry_id = $registry_id AND delete_cl_trid IS NOT NULL AND look_at <= $now ORDER BY look_at LIMIT $rows_max`,
  { contact_id: "text", delete_epoch: "int8?" },
);

const profileOf = statement(
  "contact-profile",
  `SELECT ${profileColumnNames} FROM reseller_profiles WHERE reseller_id = $reseller_id`,
  profileColumns,
);

const atRegistry = ({ profile }: RegistrySessions, contactId: string) => ({
  registry_id: profile.id,
  contact_id: contactId,
});

/** A chore of the owner: one bounded batch. It never throws because the registry does not answer. */
export async function deleteUnusedContacts(
  sessions: RegistrySessions,
  _round: number,
  ended: AbortSignal,
): Promise<void> {
  const { context, profile } = sessions;
  const now = context.clock.now();
  const due = { registry_id: profile.id, now, rows_max: batchRows };
  for (const { contact_id: id, delete_epoch: epoch } of await context.database.query(markedDue, due)) {
    if (!(await awaitIdleTurn(sessions, ended))) return;
    const lateMs = epoch === context.lease.epoch ? 0 : lateFrameMs(context.lease, profile.takeoverSettleMs);
    if (lateMs > 0) await lookAgain(sessions, id, lateMs);
    else if (!(await onSession(sessions, (session) => seeWhetherDeleted(sessions, session, id)))) return;
  }
  const judged = await context.database.query(judgeDue, {
    ...due,
    look_again_at: new Date(now.getTime() + lookAgainMs),
    delete_at: new Date(now.getTime() + keptMs),
  });
  for (const { contact_id: id, unused_since } of judged) {
    if (unused_since === null || unused_since > later(sessions, -keptMs)) continue;
    if (profile.dataModel === "thin") await dropLocal(sessions, id);
    else if (!(await awaitIdleTurn(sessions, ended))) return;
    else if (!(await onSession(sessions, (session) => deleteAtRegistry(sessions, session, id)))) return;
  }
}

/** A registry without contacts has nothing to delete. */
async function dropLocal(sessions: RegistrySessions, id: string): Promise<void> {
  await decide(sessions, id, (tx) => tx.query(dropKnown, atRegistry(sessions, id)));
}

/**
 * Decides under the row's lock whether nothing uses the object, and marks it.
 * @param then runs in the same transaction, if so
 * @returns the clTRID under which it may be deleted; undefined when something uses it
 * @throws LeaseLost
 */
async function decide(
  sessions: RegistrySessions,
  id: string,
  then?: (tx: Transaction) => Promise<unknown>,
): Promise<string | undefined> {
  const { context, profile } = sessions;
  const known = atRegistry(sessions, id);
  return context.database.transaction(async (tx) => {
    const [row] = await tx.query(lockUnused, { ...known, unused_before: later(sessions, -keptMs) });
    if (!row) return undefined;
    const clTrid = `C-${context.random.bytes(12).toString("base64url")}`;
    // A statement of its own: it sees every order that was accepted before the lock.
    const [marked] = await tx.query(markDeleted, {
      ...known,
      cl_trid: clTrid,
      epoch: context.lease.epoch,
      now: context.clock.now(),
      settled_at: later(sessions, profile.settleMs),
      is_profile:
        row.data_digest !== null && (await profileDigests(sessions, tx, row.reseller_id)).includes(row.data_digest),
      roles: ["registrant", ...profile.contactTypes],
    });
    if (marked) {
      await then?.(tx);
      return clTrid;
    }
    await assertLeaseStands(tx, context.lease);
    await tx.query(unmark, { ...known, look_at: later(sessions, lookAgainMs), is_used: true });
    return undefined;
  });
}

async function profileDigests(
  { context }: RegistrySessions,
  tx: Transaction,
  resellerId: number | null,
): Promise<string[]> {
  if (resellerId === null) return [];
  const [profile] = await tx.query(profileOf, { reseller_id: resellerId });
  return profile ? digestsOf(context.sealer, { resellerId, data: contactOfProfile(profile) }) : [];
}

/** @returns false when the registry does not answer: then the others are not tried either */
async function onSession(sessions: RegistrySessions, work: (session: Lease) => Promise<void>): Promise<boolean> {
  let session: Lease;
  try {
    session = await sessions.pool.acquire("renewal", { waitMs: sessionWaitMs });
  } catch (error) {
    if (!(error instanceof EppUnavailable)) throw error;
    return false;
  }
  using held = session;
  await work(held);
  return true;
}

async function lookAgain(sessions: RegistrySessions, id: string, delayMs: number): Promise<void> {
  await sessions.context.database.query(lookLater, { ...atRegistry(sessions, id), look_at: later(sessions, delayMs) });
}

async function deleteAtRegistry(sessions: RegistrySessions, session: Lease, id: string): Promise<void> {
  const shown = await lookAt(sessions, session, id);
  if (shown !== "free" && shown !== "gone") {
    await lookAgain(sessions, id, shown === "used" ? keepLongerMs : retryMs);
    return;
  }
  // From here until the row is gone or unmarked no order uses the object, even one that this process has in its cache.
  sessions.leavingContacts.add(id);
  try {
    const clTrid = await decide(sessions, id);
    if (clTrid !== undefined) await sendDelete(sessions, session, id, clTrid);
  } finally {
    sessions.leavingContacts.delete(id);
  }
}

type Shown = "unknown" | "gone" | "free" | "used" | "pending";

/** Never throws. RFC 5733 §2.2: `linked` is the status of an object that something uses. */
async function lookAt(sessions: RegistrySessions, session: Lease, id: string): Promise<Shown> {
  let info: EppResponse<ContactInfo>;
  try {
    info = await session.request(contactInfo(id), { clTRID: sessions.queryClTrid() });
  } catch {
    return "unknown";
  }
  if (info.code === 2303) return "gone";
  // It belongs to another registrar now.
  if (info.code === 2201) return "used";
  if (info.code !== 1000 || !info.data) return "unknown";
  const { clID, statuses } = info.data;
  if (statuses.includes("pendingDelete")) return "pending";
  return clID !== sessions.profile.registrarId || statuses.includes("linked") ? "used" : "free";
}

async function sendDelete(sessions: RegistrySessions, session: Lease, id: string, clTrid: string): Promise<void> {
  const { context, profile } = sessions;
  const known = atRegistry(sessions, id);
  const keep = (delayMs: number) =>
    context.database.query(unmark, { ...known, look_at: later(sessions, delayMs), is_used: false });
  let code: number;
  try {
    ({ code } = await session.request(contactDelete(id), { clTRID: clTrid, timeoutMs: profile.transformTimeoutMs }));
  } catch (error) {
    // The mark stays until the registry has certainly stopped working on it.
    if (error instanceof EppUnanswered) return;
    if (!(error instanceof EppNotSent)) throw error;
    await keep(0);
    return;
  }
  switch (code) {
    case 1000:
    case 2303:
      await forget(sessions, id);
      return;
    case 1001:
      await lookAgain(sessions, id, profile.reconcileIntervalMs);
      return;
    // Something uses it that we do not know; a status prohibits it; it is not ours; there is no such command.
    case 2305:
    case 2304:
    case 2201:
    case 2101:
      await keep(keepLongerMs);
      return;
    default:
      await keep(retryMs);
  }
}

/** The registry does not hold it any more. */
async function forget(sessions: RegistrySessions, id: string): Promise<void> {
  const { context, contacts, profile } = sessions;
  await context.database.query(dropKnown, atRegistry(sessions, id));
  for (const [key, known] of contacts) if (known.id === id) contacts.delete(key);
  context.log.info({ registry: profile.id, contact: id }, "a contact that nothing used was deleted");
}

/** After a lost answer, a process that died or a delete that stays pending. */
async function seeWhetherDeleted(sessions: RegistrySessions, session: Lease, id: string): Promise<void> {
  const { context, profile } = sessions;
  const shown = await lookAt(sessions, session, id);
  if (shown === "gone") await forget(sessions, id);
  else if (shown === "pending") await lookAgain(sessions, id, profile.reconcileIntervalMs);
  else if (shown === "unknown") await lookAgain(sessions, id, profile.settleMs);
  else {
    const look_at = later(sessions, shown === "used" ? keepLongerMs : 0);
    await context.database.query(unmark, { ...atRegistry(sessions, id), look_at, is_used: false });
  }
}
