/**
 * Periodic chores of the workers. Each is a row, so that one worker at a time runs it, and one that fails or takes long holds up
 * no other.
 */
import { dropOldAlarmMessages } from "#alarm-messages/kept.ts";
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { deleteInParts } from "#db/parts.ts";
import { statement } from "#db/statement.ts";
import { eraseContacts } from "#domains/contacts/erase.ts";
import { dropOldMessages } from "#domains/messages/messages.ts";
import { dropOldEvents } from "#events/log.ts";
import { updateAbsenceAlarms } from "#hosting/nodes/seen.ts";
import { askAllReconciles } from "#hosting/reconciles/reconcile.ts";
import { endTrafficAlarms } from "#hosting/traffic-alarms.ts";
import { alarmUnservedRegistries } from "#jobs/unserved-registries.ts";
import { dayMs, nightBefore, systemClock } from "#lib/clock.ts";
import { showing } from "#lib/measure/measure.ts";
import type { RowLocks } from "#locks/row-locks.ts";
import { type RunningMachine, startMachine } from "#progress/engine.ts";
import { progressRows } from "#progress/rows.ts";
import { dropOldDeliveries } from "#webhooks/kept.ts";
import { wakeWebhooks } from "#webhooks/machine.ts";
import { dropIdlePaces } from "#webhooks/pace.ts";
import { dropOldZones } from "#zones/kept.ts";
import { checkAllSerials } from "#zones/servers/nightly.ts";
import { watchServers } from "#zones/servers/watch.ts";
import { renewZones } from "#zones/settings.ts";

/** The first half of the locks' keys; "cho" in ASCII. */
const choreLockClass = 0x63686f;

const minuteMs = 60_000;

const committedRequestsKeptSeconds = 24 * 60 * 60;

const dropOldCommitted = deleteInParts(
  "committed-requests-drop",
  "committed_requests",
  "signed_at < $signed_before",
  "signed_at",
);
const dropOldIdempotent = deleteInParts(
  "idempotent-requests-drop",
  "idempotent_requests",
  "created_at < $now::timestamptz - interval '7 days'",
  "created_at",
);

interface Chore {
  run(context: Context): Promise<unknown>;
  /** When it is due again. */
  next(now: Date): Date;
}

const everyMinute = (run: Chore["run"]): Chore => ({ run, next: (now) => new Date(now.getTime() + minuteMs) });

const chores = {
  "committed-requests": everyMinute(({ database, clock }) =>
    dropOldCommitted(database, {
      signed_before: Math.floor(clock.now().getTime() / 1000) - committedRequestsKeptSeconds,
    }),
  ),
  "idempotent-requests": everyMinute(({ database, clock }) => dropOldIdempotent(database, { now: clock.now() })),
  "contacts-to-erase": everyMinute(eraseContacts),
  "old-messages": everyMinute(dropOldMessages),
  "old-events": everyMinute(dropOldEvents),
  "old-deliveries": everyMinute(dropOldDeliveries),
  "old-alarm-messages": everyMinute(dropOldAlarmMessages),
  "idle-paces": everyMinute(dropIdlePaces),
  "wake-webhooks": everyMinute(wakeWebhooks),
  "traffic-alarms": everyMinute(endTrafficAlarms),
  "unserved-registries": everyMinute(alarmUnservedRegistries),
  "absent-nodes": everyMinute(updateAbsenceAlarms),
  "zone-settings": everyMinute(renewZones),
  "old-zones": everyMinute(dropOldZones),
  "name-servers": everyMinute(watchServers),
  "zone-serials": {
    run: checkAllSerials,
    next: (now) => new Date(nightBefore(now).getTime() + dayMs),
  },
  reconciles: {
    run: askAllReconciles,
    next: (now) => new Date(nightBefore(now).getTime() + dayMs),
  },
} satisfies Readonly<Record<string, Chore>>;
type ChoreName = keyof typeof chores;

const names = Object.keys(chores) as ChoreName[];
const nightly: ReadonlySet<ChoreName> = new Set(["reconciles", "zone-serials"]);
const ofEveryMinute = names.filter((name) => !nightly.has(name));
/** Chores that run at once in a worker. */
const rowsMax = 4;
/** Two failures in a row may be one outage. */
const failuresBeforeAlarm = 3;
/** A chore that takes longer is worth a line in the log. */
const longRunMs = 1_000;

// A newer release may have rows of chores that this one does not know.
const choreRows = progressRows("chores", {
  table: "chores",
  id: { column: "name", type: "text" },
  longestWait: `CASE WHEN name IN ('reconciles', 'zone-serials') THEN interval '${dayMs} ms' ELSE interval '${minuteMs} ms' END`,
  only: `name IN (${names.map((name) => `'${name}'`).join(", ")})`,
});

const readVersion = statement("chore-version", "SELECT version FROM chores WHERE name = $name", { version: "int8" });
const writeNext = statement(
  "chore-next",
  `UPDATE chores SET next_step_at = $next, failures = CASE WHEN $has_failed THEN failures + 1 ELSE 0 END
   WHERE name = $name AND version = $version RETURNING failures`,
  { failures: "int4" },
);
const makeDue = statement(
  "chores-due",
  `INSERT INTO chores (name, next_step_at) SELECT name, $now FROM unnest($names::text[]) AS name
   ON CONFLICT (name) DO UPDATE SET next_step_at = excluded.next_step_at`,
  {},
);

/** Runs the chores that are due, until it is stopped; those of every minute at once. */
export async function startChores(context: Context, locks: RowLocks): Promise<RunningMachine> {
  const { clock, database } = context;
  const doneAtMs = new Map<string, number>();
  showing("housekeeping_last_success_seconds", () =>
    [...doneAtMs].map(([part, atMs]) => [{ part }, (clock.monotonicMs() - atMs) / 1_000] as const),
  );
  await database.query(makeDue, { names: ofEveryMinute, now: clock.now() });
  return startMachine(context, {
    name: "chores",
    rows: choreRows(context),
    rowsMax,
    exclusion: { locks, lockClass: choreLockClass },
    step: async (chore) => {
      if (await doChore(context, chore as ChoreName)) doneAtMs.set(chore, clock.monotonicMs());
    },
  });
}

/** @returns whether it was done @throws when the outcome cannot be written */
async function doChore(context: Context, name: ChoreName): Promise<boolean> {
  const { clock, database, log } = context;
  const [read] = await database.query(readVersion, { name });
  if (!read) return false;
  const chore: Chore = chores[name];
  const startedMs = systemClock.monotonicMs();
  const failure = await chore.run(context).then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  const tookMs = Math.round(systemClock.monotonicMs() - startedMs);
  const next = failure ? new Date(clock.now().getTime() + minuteMs) : chore.next(clock.now());
  const [written] = await database.query(writeNext, { name, version: read.version, next, has_failed: !!failure });
  const alarm = { kind: "chore", subject: name } as const;
  if (!failure) {
    log[tookMs >= longRunMs ? "info" : "debug"]({ chore: name, tookMs }, "a chore was done");
    await resolveAlarm(context, alarm);
    return true;
  }
  const { error } = failure;
  log.error({ err: error, chore: name, tookMs, failures: written?.failures }, "a chore failed, and is tried again");
  if ((written?.failures ?? 0) < failuresBeforeAlarm) return false;
  const reason = error instanceof Error ? error.message : String(error);
  const note = `it has failed ${written?.failures} times in a row, after ${tookMs} ms the last time: ${reason}`;
  await raiseAlarm(context, { ...alarm, note });
  return false;
}
