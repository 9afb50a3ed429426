/** Tells the operator of sites that send more than their pack allows in a month. Nothing is cut off for it. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";

/** SQL: what each account has sent in the month $1, and what it may, where it may not send as much as it likes. */
const sentByAccount = `
  (SELECT account.id, account.identifier, pack.traffic_bytes_month AS allowed_bytes,
     (SELECT coalesce(sum(bytes), 0) FROM hosting_traffic WHERE account_id = account.id AND month = $1) AS sent_bytes
   FROM hosting_accounts AS account
     JOIN service_packs AS pack ON pack.id = servicepack_id AND pack.version = servicepack_version
   WHERE traffic_bytes_month > 0 AND status NOT IN ('Failed', 'Removed'))`;

/** Per cent of what is allowed, at which an alarm is raised, and raised again. */
const warningPercent = 80;
const fullPercent = 100;

const overWarning = statement(
  "hosting-traffic-over",
  `SELECT identifier, sent_bytes >= allowed_bytes AS is_full FROM ${sentByAccount} AS sent
   WHERE id = ANY ($2::int8[]) AND sent_bytes * 100 >= allowed_bytes * ${warningPercent}`,
  { identifier: "text", is_full: "bool" },
);

const openAlarms = statement(
  "hosting-traffic-alarms-open",
  "SELECT subject, note FROM alarms WHERE kind = 'hosting-traffic' AND subject = ANY ($1::text[]) AND resolved_at IS NULL",
  { subject: "text", note: "text" },
);

const endedAlarms = statement(
  "hosting-traffic-alarms-ended",
  `SELECT subject FROM alarms WHERE kind = 'hosting-traffic' AND resolved_at IS NULL AND NOT EXISTS (
     SELECT FROM ${sentByAccount} AS sent
     WHERE identifier = subject AND sent_bytes * 100 >= allowed_bytes * ${warningPercent})`,
  { subject: "text" },
);

/** Of the accounts that have just sent something. Raised once at each of the two marks. */
export async function raiseTrafficAlarms(context: Context, accountIds: readonly number[]): Promise<void> {
  const month = currentMonth(context);
  const over = await context.database.query(overWarning, [month, accountIds]);
  if (over.length === 0) return;
  const open = await context.database.query(openAlarms, [over.map(({ identifier }) => identifier)]);
  const notes = new Map(open.map(({ subject, note }) => [subject, note]));
  for (const { identifier, is_full } of over) {
    const percent = is_full ? fullPercent : warningPercent;
    const note = `its site has sent ${percent} % or more of what its pack allows in ${month}`;
    if (notes.get(identifier) === note) continue;
    await raiseAlarm(context, { kind: "hosting-traffic", subject: identifier, note });
  }
}

/** Ends the alarms of sites that may send again: another month has begun, they got another pack, or are gone. */
export async function endTrafficAlarms(context: Context): Promise<void> {
  for (const { subject } of await context.database.query(endedAlarms, [currentMonth(context)])) {
    await resolveAlarm(context, { kind: "hosting-traffic", subject });
  }
}

function currentMonth({ clock }: Context): string {
  return clock.now().toISOString().slice(0, 7);
}
