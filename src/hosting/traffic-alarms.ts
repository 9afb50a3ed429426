/** Alarms about sites that send more than their pack allows in a month. The sites stay online. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";

/** SQL: what each account with a limit has sent in the month $month, and its limit. */
const sentByAccount = `
  (SELECT account.id, account.identifier, pack.traffic_bytes_month AS allowed_bytes,
     (SELECT coalesce(sum(bytes), 0) FROM hosting_traffic WHERE account_id = account.id AND month = $month) AS sent_bytes
   FROM hosting_accounts AS account
     JOIN service_packs AS pack ON pack.id = servicepack_id AND pack.version = servicepack_version
   WHERE traffic_bytes_month > 0 AND status NOT IN ('Failed', 'Removed'))`;

/** The alarm is raised at the first mark, in per cent of the limit, and again at the second. */
const warningPercent = 80;
const fullPercent = 100;

const overWarning = statement(
  "hosting-traffic-over",
  `SELECT identifier, sent_bytes >= allowed_bytes AS is_full FROM ${sentByAccount} AS sent
   WHERE id = ANY ($account_ids::int8[]) AND sent_bytes * 100 >= allowed_bytes * ${warningPercent}`,
  { identifier: "text", is_full: "bool" },
);

const openAlarms = statement(
  "hosting-traffic-alarms-open",
  `SELECT subject, note FROM alarms
   WHERE kind = 'hosting-traffic' AND subject = ANY ($identifiers::text[]) AND resolved_at IS NULL`,
  { subject: "text", note: "text" },
);

const endedAlarms = statement(
  "hosting-traffic-alarms-ended",
  `SELECT subject FROM alarms WHERE kind = 'hosting-traffic' AND resolved_at IS NULL AND NOT EXISTS (
     SELECT FROM ${sentByAccount} AS sent
     WHERE identifier = subject AND sent_bytes * 100 >= allowed_bytes * ${warningPercent})`,
  { subject: "text" },
);

/** @param accountIds accounts that have just sent something */
export async function raiseTrafficAlarms(context: Context, accountIds: readonly number[]): Promise<void> {
  const month = currentMonth(context);
  const over = await context.database.query(overWarning, { month, account_ids: accountIds });
  if (over.length === 0) return;
  const open = await context.database.query(openAlarms, { identifiers: over.map(({ identifier }) => identifier) });
  const notes = new Map(open.map(({ subject, note }) => [subject, note]));
  for (const { identifier, is_full } of over) {
    const percent = is_full ? fullPercent : warningPercent;
    const note = `its site has sent ${percent} % or more of what its pack allows in ${month}`;
    if (notes.get(identifier) === note) continue;
    await raiseAlarm(context, { kind: "hosting-traffic", subject: identifier, note });
  }
}

/** Resolves the alarms of sites that are below the marks again: in a new month, with another pack, or after their removal. */
export async function endTrafficAlarms(context: Context): Promise<void> {
  for (const { subject } of await context.database.query(endedAlarms, { month: currentMonth(context) })) {
    await resolveAlarm(context, { kind: "hosting-traffic", subject });
  }
}

function currentMonth({ clock }: Context): string {
  return clock.now().toISOString().slice(0, 7);
}
