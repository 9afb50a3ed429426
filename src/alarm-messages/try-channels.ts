/** Tests of the channels that an operator asks for. Processes that are set up to send by them do so. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";

const addTests = statement(
  "alarm-tests-add",
  `WITH added AS (
     INSERT INTO alarm_messages (channel, what, created_at) SELECT name, 'test', $now FROM alarm_channels RETURNING id, channel),
   woken AS (
     UPDATE alarm_channels SET next_step_at = $now, paused_until = NULL WHERE name IN (SELECT channel FROM added))
   SELECT id FROM added`,
  { id: "int8" },
);

const readTests = statement(
  "alarm-tests-read",
  "SELECT channel, status, error_text FROM alarm_messages WHERE id = ANY ($ids::int8[]) ORDER BY channel",
  { channel: "text", status: ["Pending", "Sent", "Failed"], error_text: "text?" },
);
export type ChannelTest = NonNullable<(typeof readTests)["row"]>;

/** Has one sent by each channel. @returns their ids; none when no channel is set up */
export async function requestChannelTests({ database, clock }: Pick<Context, "database" | "clock">): Promise<number[]> {
  return (await database.query(addTests, { now: clock.now() })).map(({ id }) => id);
}

export const readChannelTests = ({ database }: Pick<Context, "database">, ids: readonly number[]) =>
  database.query(readTests, { ids });
