/**
 * What is known of people is erased some time after the last name that used it left (`contactMonths`). The present profile of a
 * reseller stays: it is the account's own data. A request with the same contact makes the row used under its lock
 * (stored.ts), so that no accepted order loses its contacts.
 */

import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { contactOfProfile, findProfile, joinedProfileColumns, profileColumnNames } from "#domains/contacts/contact.ts";
import { digestsOf } from "#domains/contacts/stored.ts";
import { dayMs } from "#lib/clock.ts";

/** SQL: whether a name has the contact. @param known SQL: a row of `registry_contacts` @param now SQL: the present time */
export const isOfName = (known: string, now: string) =>
  `is_contact_of_name(${known}.registry_id, ${known}.contact_id, ${now})`;

/** SQL: whether an order that has not ended names the data. @param registry SQL: a condition on the orders' registry */
export const isOfOrder = (resellerId: string, digest: string, registry = "true") => `
  EXISTS (SELECT FROM orders AS live, jsonb_each_text(
      CASE live.kind WHEN 'create' THEN live.input -> 'contacts' WHEN 'contacts' THEN live.input END) AS given
    WHERE live.reseller_id = ${resellerId} AND live.ended_at IS NULL AND live.kind IN ('create', 'contacts') AND ${registry}
      AND given.value = ${digest})`;

const lookAgainMs = dayMs;
const batchRows = 1_000;

const isUsed = (contact: string) => `(
  ${isOfOrder(`${contact}.reseller_id`, `${contact}.digest`)}
  OR EXISTS (SELECT FROM registry_contacts AS known
    WHERE known.reseller_id = ${contact}.reseller_id AND known.data_digest = ${contact}.digest
      AND ${isOfName("known", "$now::timestamptz")}))`;

const isOver = (contact: string) =>
  `${contact}.unused_since <= $now::timestamptz - make_interval(months => $months::int4)`;

const judgeDue = statement(
  "contacts-to-erase",
  `WITH due AS MATERIALIZED (
     SELECT reseller_id, digest FROM contacts WHERE look_at IS NULL OR look_at <= $now
     ORDER BY look_at NULLS FIRST LIMIT $rows_max),
   judged AS MATERIALIZED (SELECT reseller_id, digest, ${isUsed("due")} AS is_used FROM due),
   looked AS (
     UPDATE contacts AS contact SET look_at = $look_again_at,
       unused_since = CASE WHEN NOT is_used THEN coalesce(contact.unused_since, $now) END
     FROM judged WHERE contact.reseller_id = judged.reseller_id AND contact.digest = judged.digest
     RETURNING contact.reseller_id, contact.digest, contact.unused_since)
   SELECT looked.reseller_id, looked.digest, ${profileColumnNames}
   FROM looked LEFT JOIN reseller_profiles AS profile ON profile.reseller_id = looked.reseller_id
   WHERE ${isOver("looked")}` as string,
  { reseller_id: "int8", digest: "text", ...joinedProfileColumns },
);

const erase = statement(
  "contact-erase",
  `DELETE FROM contacts AS contact WHERE reseller_id = $reseller_id AND digest = $digest
     AND ${isOver("contact")} AND NOT ${isUsed("contact")} RETURNING digest` as string,
  { digest: "text" },
);

/** One bounded batch; a chore of the workers. */
export async function eraseContacts(context: Context): Promise<void> {
  const { database, clock, sealer, contactMonths, log } = context;
  const now = clock.now();
  const due = { now, months: contactMonths, rows_max: batchRows, look_again_at: new Date(now.getTime() + lookAgainMs) };
  let erased = 0;
  for (const { reseller_id: resellerId, digest, ...row } of await database.query(judgeDue, due)) {
    const profile = findProfile(row);
    if (profile && digestsOf(sealer, { resellerId, data: contactOfProfile(profile) }).includes(digest)) continue;
    erased += (await database.query(erase, { reseller_id: resellerId, digest, now, months: contactMonths })).length;
  }
  if (erased > 0) log.info({ contacts: erased }, "contacts that no name has used for long were erased");
}
