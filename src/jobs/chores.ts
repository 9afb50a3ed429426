/** Periodic chores of the workers. Each is a row, so that one worker at a time runs it. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { eraseContacts } from "#domains/contacts/erase.ts";
import { dropOldMessages } from "#domains/registry/messages.ts";
import { dropOldEvents } from "#events/log.ts";
import { serveAtAllIdentifiers } from "#hosting/host-names/identifiers.ts";
import { askAllReconciles } from "#hosting/nodes/reconcile.ts";
import { updateAbsenceAlarms } from "#hosting/nodes/seen.ts";
import { endTrafficAlarms } from "#hosting/traffic-alarms.ts";
import { alarmUnservedRegistries } from "#jobs/unserved-registries.ts";
import type { RowLocks } from "#locks/row-locks.ts";
import { type RunningMachine, startMachine } from "#progress/engine.ts";
import { progressRows } from "#progress/rows.ts";
import { dropOldDeliveries } from "#webhooks/kept.ts";
import { wakeWebhooks } from "#webhooks/machine.ts";

/** The first half of the locks' keys; "cho" in ASCII. */
const choreLockClass = 0x63686f;

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** 3:23 UTC. */
const reconcilesMs = (3 * 60 + 23) * minuteMs;

interface Chore {
  run(context: Context): Promise<void>;
  /** When it is due again; null: only when somebody makes it due. */
  next(now: Date): Date | null;
}

const chores = {
  housekeeping: { run: runHousekeeping, next: (now) => new Date(now.getTime() + minuteMs) },
  reconciles: {
    run: askAllReconciles,
    next(now) {
      const nightMs = Math.floor(now.getTime() / dayMs) * dayMs + reconcilesMs;
      return new Date(nightMs > now.getTime() ? nightMs : nightMs + dayMs);
    },
  },
  "bare-names": { run: serveAtAllIdentifiers, next: () => null },
} as const satisfies Readonly<Record<string, Chore>>;
type ChoreName = keyof typeof chores;

const names = Object.keys(chores);
// A newer release may have rows of chores that this one does not know.
const choreRows = progressRows("chores", {
  table: "chores",
  id: { column: "name", type: "text" },
  longestWait: `CASE name WHEN 'housekeeping' THEN interval '${minuteMs} ms' ELSE interval '${dayMs} ms' END`,
  only: `name IN (${names.map((name) => `'${name}'`).join(", ")})`,
});

const readVersion = statement("chore-version", "SELECT version FROM chores WHERE name = $name", { version: "int8" });
const writeNext = statement(
  "chore-next",
  "UPDATE chores SET next_step_at = $next WHERE name = $name AND version = $version",
  {},
);
const makeDue = statement("chore-due", "UPDATE chores SET next_step_at = $now WHERE name = $name", {});

/** Runs the chores that are due, until it is stopped; housekeeping at once. */
export async function startChores(context: Context, locks: RowLocks): Promise<RunningMachine> {
  const { clock, database } = context;
  const name: ChoreName = "housekeeping";
  await database.query(makeDue, { name, now: clock.now() });
  return startMachine(context, {
    name: "chores",
    rows: choreRows(context),
    rowsMax: names.length,
    exclusion: { locks, lockClass: choreLockClass },
    step: (chore) => doChore(context, chore as ChoreName),
  });
}

async function doChore(context: Context, name: ChoreName): Promise<void> {
  const { clock, database } = context;
  const [read] = await database.query(readVersion, { name });
  if (!read) return;
  await chores[name].run(context);
  await database.query(writeNext, { name, version: read.version, next: chores[name].next(clock.now()) });
}

const committedRequestsKeptSeconds = 24 * 60 * 60;

const dropOldCommitted = statement(
  "committed-requests-drop",
  "DELETE FROM committed_requests WHERE signed_at < $signed_before",
  {},
);
const dropOldIdempotent = statement(
  "idempotent-requests-drop",
  "DELETE FROM idempotent_requests WHERE created_at < $now::timestamptz - interval '7 days'",
  {},
);

/** Deletes expired rows, erases contacts, and raises alarms for nodes that are away and registries that no process serves. */
async function runHousekeeping(context: Context): Promise<void> {
  const { database, clock } = context;
  const seconds = Math.floor(clock.now().getTime() / 1000);
  await database.query(dropOldCommitted, { signed_before: seconds - committedRequestsKeptSeconds });
  await database.query(dropOldIdempotent, { now: clock.now() });
  await eraseContacts(context);
  await dropOldMessages(context);
  await dropOldEvents(context);
  await dropOldDeliveries(context);
  await wakeWebhooks(context);
  await endTrafficAlarms(context);
  await alarmUnservedRegistries(context);
  await updateAbsenceAlarms(context);
}
