/** Sends messages about alarms by the channels that are set up. */
import { advanceChannel, longestChannelWait } from "#alarm-messages/deliver.ts";
import { type ChannelName, openChannels, type Send } from "#alarm-messages/send.ts";
import type { AlarmChannels } from "#config-alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { startRowLocks } from "#locks/row-locks.ts";
import { startMachine } from "#progress/engine.ts";
import { progressRows } from "#progress/rows.ts";

/** The first half of the locks' keys; "alm" in ASCII. */
const lockClass = 0x616c6d;

const channelRows = progressRows("alarm-channels", {
  table: "alarm_channels",
  id: { column: "name", type: "text" },
  owner: "name",
  longestWait: longestChannelWait,
});

const addChannels = statement(
  "alarm-channels-add",
  `INSERT INTO alarm_channels (name, seen_at, next_step_at) SELECT name, $now, $now FROM unnest($names::text[]) AS name
   ON CONFLICT (name) DO UPDATE SET seen_at = $now, next_step_at = $now, paused_until = NULL`,
  {},
);

const wakeChannels = statement(
  "alarm-channels-wake",
  `UPDATE alarm_channels SET next_step_at = greatest($now, paused_until)
   WHERE name = ANY ($names::text[]) AND EXISTS (SELECT FROM alarm_messages WHERE channel = name AND status = 'Pending')`,
  {},
);

export interface AlarmMessages {
  /** Waits for the step in progress. */
  close(): Promise<void>;
}

/**
 * Runs until it is closed, in every process that the settings name a channel for: one of them sends.
 * @param databaseUrl for the connection that holds locks @throws the driver's error when the database is not available
 */
export async function startAlarmMessages(
  context: Pick<Context, "database" | "listener" | "clock" | "random" | "log">,
  databaseUrl: string,
  channels: AlarmChannels,
): Promise<AlarmMessages> {
  const { database, listener, clock, log } = context;
  const opened = Object.entries(openChannels(context, channels)) as [ChannelName, Send][];
  if (opened.length === 0) return { close: async () => {} };
  const names = opened.map(([name]) => name);
  await database.query(addChannels, { names, now: clock.now() });
  const locks = startRowLocks({ log, databaseUrl });
  const machines = opened.map(([name, send]) =>
    startMachine(context, {
      name: `alarm-channels:${name}`,
      rows: channelRows(context, name),
      rowsMax: 1,
      exclusion: { locks, lockClass },
      step: () => advanceChannel(context, name, send),
    }),
  );
  const stopListening = listener.on("alarm_message", () => {
    database
      .query(wakeChannels, { names, now: clock.now() })
      .catch((error: unknown) =>
        log.warn({ err: error }, "a message about an alarm was not noticed; it is in a minute"),
      );
  });
  return {
    async close() {
      stopListening();
      await Promise.all(machines.map((machine) => machine.stop()));
      await locks.close();
    },
  };
}
