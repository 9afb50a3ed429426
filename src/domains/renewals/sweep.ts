/**
 * What a registry's owner does for renewals again and again: makes a row for each name whose term comes to its end, and tells the
 * operator of those that are not proven in time. Each is one look at an index that holds what is due and nothing else: names with
 * years to go cost nothing. All of it goes by the context's clock.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { addDays } from "#domains/renewals/terms.ts";
import { newRenewalCode } from "#lib/order-code.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** A renewal is there to be seen so long before it is due. */
const scheduledAheadDays = 60;
/** So many rows at a time, until none is left. */
const batchRows = 500;
/** What is done at once when it is due needs no alarm, though it be due on the day of one. */
const provenWithinMs = 60 * 60_000;

const namesWithoutRenewal = statement(
  "names-without-renewal",
  `SELECT domain_name, reseller_id, expiration_date FROM domains
   WHERE registry_id = $1 AND renewal_id IS NULL AND expiration_date <= $2 ORDER BY expiration_date LIMIT $3`,
  { domain_name: "text", reseller_id: "int8", expiration_date: "timestamptz" },
);
type Name = NonNullable<(typeof namesWithoutRenewal)["row"]>;

const insertRenewal = statement(
  "renewal-insert",
  `INSERT INTO renewals (renewal_code, reseller_id, domain_name, registry_id, period_years, term_ends_at, due_at, status,
     next_step_at, alarm_at, list_key, created_at, updated_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, 'Scheduled', $7, $8, $9, $10, $10) RETURNING id`,
  { id: "int8" },
);

const linkRenewal = statement(
  "domain-renewal",
  `UPDATE domains SET renewal_id = $2
   WHERE domain_name = $1 AND renewal_id IS NULL AND expiration_date = $3 RETURNING domain_name`,
  { domain_name: "text" },
);

const alarmsDue = statement(
  "renewal-alarms-due",
  `SELECT r.id, r.domain_name, term_ends_at, due_at, alarm_at, r.status, reason
   FROM renewals AS r JOIN domains ON domains.renewal_id = r.id
   WHERE r.registry_id = $1 AND ended_at IS NULL AND alarm_at <= $2 ORDER BY alarm_at LIMIT $3`,
  {
    id: "int8",
    domain_name: "text",
    term_ends_at: "timestamptz",
    due_at: "timestamptz",
    alarm_at: "timestamptz?",
    status: "text",
    reason: "text?",
  },
);
type AlarmDue = NonNullable<(typeof alarmsDue)["row"]>;

const moveAlarm = statement(
  "renewal-alarm-next",
  `UPDATE renewals SET alarm_at = $3 FROM domains
   WHERE renewals.id = $1 AND alarm_at = $2 AND ended_at IS NULL AND domains.renewal_id = renewals.id RETURNING will_renew`,
  { will_renew: "bool" },
);

/** It has a renewal by now, another reseller or another term: nothing is wrong. */
class NameChanged extends Error {}

/** Never throws for one name's sake: the others have their turn. */
export async function sweepRenewals({ context, profile }: RegistrySessions): Promise<void> {
  await inBatches(context, profile, () => scheduleRenewals(context, profile));
  await inBatches(context, profile, () => raiseAlarms(context, profile));
}

/** @param batch returns how many rows it has dealt with, of those that it will not see again */
async function inBatches({ log }: Context, { id }: RegistryProfile, batch: () => Promise<number>): Promise<void> {
  try {
    while ((await batch()) === batchRows);
  } catch (error) {
    log.warn({ err: error, registry: id }, "a part of the renewals' sweep failed");
  }
}

async function scheduleRenewals(context: Context, profile: RegistryProfile): Promise<number> {
  const until = addDays(context.clock.now(), profile.renewalLeadDays + scheduledAheadDays);
  const names = await context.database.query(namesWithoutRenewal, [profile.id, until, batchRows]);
  let opened = 0;
  for (const name of names) {
    try {
      await scheduleRenewal(context, profile, name);
      opened += 1;
    } catch (error) {
      if (error instanceof NameChanged) continue;
      context.log.error({ err: error, name: name.domain_name }, "a name's renewal could not be scheduled");
      const note = `its renewal cannot be scheduled: ${error instanceof Error ? error.message : error}`;
      await raiseAlarm(context, { kind: "renewal", subject: name.domain_name, note });
    }
  }
  return opened;
}

/** One name in one transaction: the row, and the name that has it. */
async function scheduleRenewal(context: Context, profile: RegistryProfile, name: Name): Promise<void> {
  const { domain_name, reseller_id, expiration_date: termEndsAt } = name;
  const now = context.clock.now();
  const dueAt = addDays(termEndsAt, -profile.renewalLeadDays);
  const alarmAt = nextAlarmAt(profile, termEndsAt, dueAt > now ? dueAt : now, undefined);
  const code = newRenewalCode(context.random);
  // With the code: a registry whose date was a whole period before ours has brought the term to the same end by a renewal.
  const listKey = `${termEndsAt.toISOString()} ${domain_name} ${code}`;
  await context.database.transaction(async (tx) => {
    const [renewal] = await tx.query(insertRenewal, [
      ...[code, reseller_id, domain_name, profile.id, profile.renewalYears, termEndsAt],
      ...[dueAt, alarmAt ?? null, listKey, now],
    ]);
    const [linked] = await tx.query(linkRenewal, [domain_name, renewal!.id, termEndsAt]);
    if (!linked) throw new NameChanged();
    // One that says that it could not be scheduled.
    await resolveAlarm(context, { kind: "renewal", subject: domain_name }, tx);
  });
}

/** When the operator hears next, of the times that the profile names and those that are over. @param after the last one */
function nextAlarmAt(profile: RegistryProfile, termEndsAt: Date, startAt: Date, after: Date | undefined) {
  const earliestMs = startAt.getTime() + provenWithinMs;
  const times = profile.renewalAlarmDays
    .map((days) => Math.max(earliestMs, addDays(termEndsAt, -days).getTime()))
    .filter((time) => after === undefined || time > after.getTime());
  return times.length > 0 ? new Date(Math.min(...times)) : undefined;
}

async function raiseAlarms(context: Context, profile: RegistryProfile): Promise<number> {
  const due = await context.database.query(alarmsDue, [profile.id, context.clock.now(), batchRows]);
  for (const renewal of due) await raiseNotProven(context, profile, renewal);
  return due.length;
}

async function raiseNotProven(context: Context, profile: RegistryProfile, renewal: AlarmDue): Promise<void> {
  const { id, domain_name, term_ends_at: termEndsAt, due_at: dueAt, alarm_at: alarmAt } = renewal;
  const now = context.clock.now();
  const next = nextAlarmAt(profile, termEndsAt, dueAt, now);
  await context.database.transaction(async (tx) => {
    const [moved] = await tx.query(moveAlarm, [id, alarmAt, next ?? null]);
    // It may have been switched off since the alarms that are due were read.
    if (!moved?.will_renew) return;
    const days = Math.floor((termEndsAt.getTime() - now.getTime()) / addDays(new Date(0), 1).getTime());
    const why = renewal.reason === null ? "" : `; last: ${renewal.reason}`;
    const note = `its term ends in ${days} days, and that it is renewed is not proven (${renewal.status}${why})`;
    await raiseAlarm(context, { kind: "renewal", subject: domain_name, note }, tx);
  });
}
