/**
 * The periodic task of a registry's owner for renewals: inserts a row for each name whose term ends soon, and raises alarms for
 * renewals that are not proven in time. Each part reads an index that contains only what is due, so names with years to go
 * cost nothing.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { addDays } from "#domains/registry/terms.ts";
import { renewalStatuses } from "#domains/schedule/states.ts";
import { newOrderCode } from "#lib/order-code.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** How long before it is due a renewal is listed. */
const scheduledAheadDays = 60;
const batchRows = 500;
/** A renewal that is due on the day of an alarm gets this long before the alarm is raised. */
const provenWithinMs = 60 * 60_000;
/** A name that seems gone leaves within a day, after another look. */
const leavesWithinDays = 2;

const namesWithoutRenewal = statement(
  "names-without-renewal",
  `SELECT domain_name, reseller_id, expiration_date, expiration_date::text AS term FROM domains
   WHERE registry_id = $registry_id AND renewal_id IS NULL AND expiration_date <= $until
     AND (expiration_date, domain_name) > ($after_term::timestamptz, $after_name)
   ORDER BY expiration_date, domain_name LIMIT $rows_max`,
  // `term` has the microseconds, which a Date has not.
  { domain_name: "text", reseller_id: "int8", expiration_date: "timestamptz", term: "text" },
);
type Name = NonNullable<(typeof namesWithoutRenewal)["row"]>;

const insertRenewal = statement(
  "renewal-insert",
  `INSERT INTO renewals (renewal_code, reseller_id, domain_name, registry_id, period_years, term_ends_at, due_at, status,
     next_step_at, alarm_at, list_key, created_at, updated_at)
   VALUES ($code, $reseller_id, $domain_name, $registry_id, $period_years, $term::timestamptz, $due_at, 'Scheduled', $due_at,
     $alarm_at, $list_key, $now, $now) RETURNING id`,
  { id: "int8" },
);

const linkRenewal = statement(
  "domain-renewal",
  `UPDATE domains SET renewal_id = $renewal_id
   WHERE domain_name = $domain_name AND renewal_id IS NULL AND expiration_date = $term::timestamptz RETURNING domain_name`,
  { domain_name: "text" },
);

const alarmsDue = statement(
  "renewal-alarms-due",
  `SELECT r.id, r.domain_name, term_ends_at, due_at, alarm_at::text AS alarm_time, r.status,
     coalesce((SELECT reason FROM orders WHERE orders.renewal_id = r.id ORDER BY id DESC LIMIT 1), reason) AS reason
   FROM renewals AS r JOIN domains ON domains.renewal_id = r.id
   WHERE r.registry_id = $registry_id AND ended_at IS NULL AND alarm_at <= $now
     AND (alarm_at, r.id) > ($after_time::timestamptz, $after_id::int8)
   ORDER BY alarm_at, r.id LIMIT $rows_max`,
  {
    id: "int8",
    domain_name: "text",
    term_ends_at: "timestamptz",
    due_at: "timestamptz",
    alarm_time: "text?",
    status: renewalStatuses,
    reason: "text?",
  },
);
type AlarmDue = NonNullable<(typeof alarmsDue)["row"]>;

const moveAlarm = statement(
  "renewal-alarm-next",
  `UPDATE renewals SET alarm_at = $next FROM domains
   WHERE renewals.id = $id AND alarm_at <= $now AND ended_at IS NULL AND domains.renewal_id = renewals.id
   RETURNING will_renew, gone_since IS NOT NULL AND (gone_since > $leaves_since OR EXISTS (
     SELECT FROM alarms WHERE kind = 'departures' AND subject = renewals.registry_id AND resolved_at IS NULL)) AS is_leaving`,
  { will_renew: "bool", is_leaving: "bool" },
);

/** The name got a renewal, another reseller or another term meanwhile: nothing is wrong. */
class NameChanged extends Error {}

/** Never throws because of one name: the others have their turn. */
export async function sweepRenewals({ context, profile }: RegistrySessions): Promise<void> {
  const { clock, database } = context;
  const common = { registry_id: profile.id, rows_max: batchRows };
  const until = addDays(clock.now(), profile.renewalLeadDays + scheduledAheadDays);
  await sweep<Name>(context, profile, {
    read: (last) =>
      database.query(namesWithoutRenewal, {
        ...common,
        until,
        after_term: last?.term ?? "-infinity",
        after_name: last?.domain_name ?? "",
      }),
    handle: (name) => scheduleRenewal(context, profile, name),
    failed: "cannot be scheduled",
  });
  const now = clock.now();
  await sweep<AlarmDue>(context, profile, {
    read: (last) =>
      database.query(alarmsDue, {
        ...common,
        now,
        after_time: last?.alarm_time ?? "-infinity",
        after_id: last?.id ?? 0,
      }),
    handle: (renewal) => raiseNotProven(context, profile, renewal),
    failed: "is not proven, and its alarm cannot be written",
  });
}

interface Sweep<Row> {
  /** At most `batchRows`, in an order that handling does not change. @param last the last row of the batch before */
  read(last: Row | undefined): Promise<Row[]>;
  handle(row: Row): Promise<void>;
  /** What an alarm says about the renewal of a row that could not be handled. */
  failed: string;
}

/** One row that fails is an alarm, and the next sweep tries it again. */
async function sweep<Row extends { domain_name: string }>(
  context: Context,
  profile: RegistryProfile,
  { read, handle, failed }: Sweep<Row>,
): Promise<void> {
  try {
    let rows: Row[] = [];
    do {
      rows = await read(rows.at(-1));
      for (const row of rows) await handle(row).catch((error: unknown) => noteFailure(context, row, failed, error));
    } while (rows.length === batchRows);
  } catch (error) {
    context.log.warn({ err: error, registry: profile.id }, "a part of the renewals' sweep failed");
  }
}

async function noteFailure(
  context: Context,
  { domain_name: subject }: { domain_name: string },
  failed: string,
  error: unknown,
) {
  if (error instanceof NameChanged) return;
  const reason = error instanceof Error ? error.message : String(error);
  context.log.error({ err: error, name: subject }, `a name's renewal ${failed}`);
  const note = `its renewal ${failed}: ${reason}. It is tried again; if that goes on failing, order a renewal of the name`;
  await raiseAlarm(context, { kind: "renewal", subject, note });
}

/** Inserts one name's renewal, and links the name to it. */
async function scheduleRenewal(context: Context, profile: RegistryProfile, name: Name): Promise<void> {
  const { domain_name, reseller_id, expiration_date: termEndsAt, term } = name;
  const now = context.clock.now();
  const dueAt = addDays(termEndsAt, -profile.renewalLeadDays);
  const alarmAt = nextAlarmAt(profile, termEndsAt, dueAt > now ? dueAt : now, undefined);
  const code = newOrderCode(context.random, "REN");
  // The code makes it unique: where the registry's date was a whole period before ours, an earlier renewal has the same end.
  const listKey = `${termEndsAt.toISOString()} ${domain_name} ${code}`;
  await context.database.transaction(async (tx) => {
    const [renewal] = await tx.query(insertRenewal, {
      code,
      reseller_id,
      domain_name,
      registry_id: profile.id,
      period_years: profile.renewalYears,
      term,
      due_at: dueAt,
      alarm_at: alarmAt ?? null,
      list_key: listKey,
      now,
    });
    const link = { renewal_id: renewal!.id, domain_name, term };
    if ((await tx.query(linkRenewal, link)).length === 0) throw new NameChanged();
    // An alarm that it could not be scheduled.
    await resolveAlarm(context, { kind: "renewal", subject: domain_name }, tx);
  });
}

/** When to raise the next alarm. A time before `startAt` counts as just after it. @param after the time of the last one */
function nextAlarmAt(profile: RegistryProfile, termEndsAt: Date, startAt: Date, after: Date | undefined) {
  const earliestMs = startAt.getTime() + provenWithinMs;
  const times = profile.renewalAlarmDays
    .map((days) => Math.max(earliestMs, addDays(termEndsAt, -days).getTime()))
    .filter((time) => after === undefined || time > after.getTime());
  return times.length > 0 ? new Date(Math.min(...times)) : undefined;
}

async function raiseNotProven(context: Context, profile: RegistryProfile, renewal: AlarmDue): Promise<void> {
  const { id, domain_name, term_ends_at: termEndsAt, due_at: dueAt } = renewal;
  const now = context.clock.now();
  const next = nextAlarmAt(profile, termEndsAt, dueAt, now);
  await context.database.transaction(async (tx) => {
    const [moved] = await tx.query(moveAlarm, {
      id,
      now,
      next: next ?? null,
      leaves_since: addDays(now, -leavesWithinDays),
    });
    // It may have been switched off since the due alarms were read.
    if (!moved?.will_renew) return;
    // It leaves soon, or there is an alarm about all names of its registry that seem gone.
    if (moved.is_leaving) return;
    const days = Math.floor((termEndsAt.getTime() - now.getTime()) / addDays(new Date(0), 1).getTime());
    const why = renewal.reason === null ? "" : `; last: ${renewal.reason}`;
    const note = `its term ends in ${days} days, and its renewal is not proven (${renewal.status}${why})`;
    await raiseAlarm(context, { kind: "renewal", subject: domain_name, note }, tx);
  });
}
