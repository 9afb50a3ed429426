/** How long messages about alarms, and the channels that they went by, are kept. */
import type { Context } from "#context.ts";
import { deleteInParts } from "#db/parts.ts";
import { statement } from "#db/statement.ts";
import { dayMs } from "#lib/clock.ts";

const keptDays = 90;
/** A channel without a process that sends by it is no channel any more. */
const channelKeptDays = 1;

// That of an open alarm stays: without it, the alarm would be sent again.
const dropOld = deleteInParts(
  "alarm-messages-drop",
  "alarm_messages",
  `created_at < $before AND status <> 'Pending'
   AND NOT EXISTS (SELECT FROM alarms WHERE alarms.id = alarm_messages.alarm_id AND resolved_at IS NULL)`,
  "created_at",
);

const dropUnused = statement("alarm-channels-drop", "DELETE FROM alarm_channels WHERE seen_at < $before", {});

export async function dropOldAlarmMessages({ database, clock }: Pick<Context, "database" | "clock">): Promise<void> {
  const daysAgo = (days: number) => new Date(clock.now().getTime() - days * dayMs);
  await dropOld(database, { before: daysAgo(keptDays) });
  await database.query(dropUnused, { before: daysAgo(channelKeptDays) });
}
