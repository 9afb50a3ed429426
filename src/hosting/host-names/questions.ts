/**
 * Questions to name servers. Each is a row, so that none is lost, and resellers take turns across all workers: a name server that
 * is silent occupies a slot for seconds, and one reseller's must not occupy all slots.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { heldLocks, lockKey } from "#locks/advisory-locks.ts";
import { progressRows, type RowSource } from "#progress/rows.ts";

/** Concurrent questions of one reseller. Two workers that take questions at the same moment may each take this many. */
const resellerSlotsMax = 4;

/** A worker holds the lock of the question that it is asking. */
export const questionLockClass = 0x686e71;

/** SQL, about a row of host_name_questions: a worker is asking it. */
const isInProgress = `host_name_id IN (
     SELECT host_name_id FROM host_name_questions JOIN (${heldLocks(questionLockClass)}) AS held
       ON held.key = ${lockKey("host_name_id")})`;

/** SQL: the turn in progress. */
const currentTurn = `coalesce(
     (SELECT max(turn) FROM host_name_questions WHERE ${isInProgress}),
     (SELECT min(turn) FROM host_name_questions), 0)`;

/** SQL: the turn of a reseller's next question. `resellerId` is SQL too. */
const nextTurn = (resellerId: string) => `greatest(${currentTurn},
     (SELECT max(turn) + 1 FROM host_name_questions AS own WHERE own.reseller_id = ${resellerId}))`;

// The host name is not due until the answer arrives.
const insertQuestion = statement(
  "host-name-ask",
  `WITH inserted AS (
     INSERT INTO host_name_questions AS question (host_name_id, reseller_id, turn, next_step_at)
     SELECT host_names.id, account.reseller_id, ${nextTurn("account.reseller_id")}, $now
     FROM host_names JOIN hosting_accounts AS account ON account.id = account_id WHERE host_names.id = $id
     ON CONFLICT (host_name_id) DO UPDATE SET next_step_at = $now)
   UPDATE host_names SET next_step_at = NULL WHERE id = $id AND version = $version`,
  {},
);

const takeTurns = statement(
  "host-name-questions-in-turn",
  `WITH in_progress AS MATERIALIZED (SELECT host_name_id, reseller_id FROM host_name_questions WHERE ${isInProgress}),
   used AS (SELECT reseller_id, count(*) AS slots FROM in_progress GROUP BY reseller_id),
   waiting AS (
     SELECT host_name_id, version, next_step_at, turn,
       coalesce(slots, 0) + row_number() OVER (PARTITION BY reseller_id ORDER BY turn, host_name_id) AS slot
     FROM host_name_questions LEFT JOIN used USING (reseller_id)
     WHERE next_step_at <= $now AND host_name_id <> ALL ($except::int8[])
       AND host_name_id NOT IN (SELECT host_name_id FROM in_progress))
   SELECT host_name_id AS id, version, next_step_at FROM waiting
   WHERE slot <= ${resellerSlotsMax} ORDER BY turn, slot, host_name_id LIMIT $rows_max::int4`,
  { id: "int8", version: "int8", next_step_at: "timestamptz?" },
);

const readVersion = statement(
  "host-name-question-version",
  "SELECT version FROM host_name_questions WHERE host_name_id = $id",
  { version: "int8" },
);

const endQuestion = statement(
  "host-name-question-end",
  `WITH ended AS (DELETE FROM host_name_questions WHERE host_name_id = $id AND version = $version RETURNING host_name_id)
   UPDATE host_name_questions AS question SET turn = ${nextTurn("question.reseller_id")}
   WHERE host_name_id = $id AND NOT EXISTS (SELECT FROM ended)`,
  {},
);

const questionRows = progressRows("host-name-questions", {
  table: "host_name_questions",
  id: { column: "host_name_id", type: "int8" },
  longestWait: "interval '5 minutes'",
});

/** The questions that are due, in the order of their turns. */
export function questionsInTurn(context: Context): RowSource<number> {
  const { database, clock } = context;
  return {
    ...questionRows(context),
    async first(rowsMax, except) {
      const rows = await database.query(takeTurns, { now: clock.now(), rows_max: rowsMax, except });
      return rows.map((row) => ({ ...row, next_step_at: row.next_step_at ?? clock.now() }));
    },
  };
}

/** Schedules a question about a host name, after the earlier ones of its reseller. */
export async function askNameServers(
  { database, clock }: Pick<Context, "database" | "clock">,
  { id, version }: { id: number; version: number },
): Promise<void> {
  await database.query(insertQuestion, { id, version, now: clock.now() });
}

/**
 * One step of the machine `host-name-questions`. A name that is asked about again meanwhile gets another turn.
 * @param check asks the name servers, and records their answer
 */
export async function answerQuestion(
  { database }: Pick<Context, "database">,
  hostNameId: number,
  check: () => Promise<void>,
): Promise<void> {
  const [question] = await database.query(readVersion, { id: hostNameId });
  if (!question) return;
  await check();
  await database.query(endQuestion, { id: hostNameId, version: question.version });
}
