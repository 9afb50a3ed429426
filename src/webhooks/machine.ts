/** Runs the steps of webhooks. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import type { RowLocks } from "#locks/row-locks.ts";
import { type RunningMachine, type StepInProgress, startMachine } from "#progress/engine.ts";
import { advanceWebhook } from "#webhooks/deliver.ts";
import { webhooksInTurn } from "#webhooks/turns.ts";

/** Concurrent steps of each kind in a worker. */
const wellMax = 32;
const failingMax = 32;
/** The first halves of the locks' keys; "whk" in ASCII. A webhook's lock is the same whether it fails or not. */
const lockClass = 0x77686b;

const isWell = "failing_since IS NULL AND verified_at IS NOT NULL";
const wellRows = webhooksInTurn("webhooks", isWell);
// A receiver that hangs takes ten seconds: those that fail, or have not answered yet, never take the places of the others.
const failingRows = webhooksInTurn("webhooks-failing", `NOT (${isWell})`);

const isNew = `EXISTS (SELECT FROM events WHERE events.reseller_id = webhooks.reseller_id
  AND (events.era, events.transaction, events.number) > (webhooks.era, webhooks.transaction, webhooks.number))`;

// One that pauses after a failure is due when the pause ends, although what it has tried waits longer. One whose URL must answer a test
// first finds its new events later.
const wake = `UPDATE webhooks SET next_step_at = least(next_step_at, greatest($now, paused_until))
   WHERE is_enabled AND (verified_at IS NOT NULL OR next_step_at IS NULL)
     AND NOT coalesce(next_step_at <= paused_until AND paused_until > $now, false)`;
const wakeOfReseller = statement("webhooks-wake-reseller", `${wake} AND reseller_id = $reseller_id` as string, {});
const wakeAll = statement(
  "webhooks-wake",
  `${wake} AND (next_step_at IS NULL OR next_step_at > $now) AND ${isNew}` as string,
  {},
);

/** Makes those due that have events without deliveries: notifications may have been lost. */
export async function wakeWebhooks({ database, clock }: Pick<Context, "database" | "clock">): Promise<void> {
  await database.query(wakeAll, { now: clock.now() });
}

export interface WebhookMachines {
  stepsInProgress(): StepInProgress[];
  /** Waits for them. */
  close(): Promise<void>;
}

/** Runs the steps that are due until it is closed. Does not throw. */
export function startWebhooks(context: Context, locks: RowLocks): WebhookMachines {
  const { log, listener, database, clock } = context;
  const exclusion = { locks, lockClass };
  const step = (id: number) => advanceWebhook(context, id);
  const machines: RunningMachine[] = [
    startMachine(context, { name: "webhooks", rows: wellRows(context), rowsMax: wellMax, exclusion, step }),
    startMachine(context, {
      name: "webhooks-failing",
      rows: failingRows(context),
      rowsMax: failingMax,
      exclusion,
      step,
    }),
  ];
  const tried = (wake: Promise<unknown>) => {
    wake.catch((error: unknown) => log.warn({ err: error }, "webhooks were not woken; they are in a minute"));
  };
  const stops = [
    listener.on("events", (resellerId) =>
      tried(database.query(wakeOfReseller, { reseller_id: Number(resellerId), now: clock.now() })),
    ),
    listener.onReconnect(() => tried(wakeWebhooks(context))),
  ];
  return {
    stepsInProgress: () => machines.flatMap((machine) => machine.stepsInProgress()),
    async close() {
      for (const stop of stops) stop();
      await Promise.all(machines.map((machine) => machine.stop()));
    },
  };
}
