/**
 * The questions to name servers that wait for their turn. They are rows, so that none is lost, and all workers share the
 * turns: a name server that is silent holds a place for seconds, and no reseller's may hold all places.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { heldLocks, lockKey } from "#locks/advisory-locks.ts";
import { progressRows, type RowSource } from "#progress/rows.ts";

/** Of one reseller at once; two workers that take questions in the same moment may each take so many. */
const resellerPlacesMax = 4;

/** Whoever asks the name servers holds the question's lock. */
export const questionLockClass = 0x686e71;

/** SQL: whether somebody asks a question of host_name_questions now. */
const isUnderWay = `host_name_id IN (
     SELECT host_name_id FROM host_name_questions JOIN (${heldLocks(questionLockClass)}) AS held
       ON held.key = ${lockKey("host_name_id")})`;

/** SQL: the turn that is under way. */
const currentTurn = `coalesce(
     (SELECT max(turn) FROM host_name_questions WHERE ${isUnderWay}),
     (SELECT min(turn) FROM host_name_questions), 0)`;

/** SQL: the turn of a reseller's next question. `resellerId` is SQL too. */
const nextTurn = (resellerId: string) => `greatest(${currentTurn},
     (SELECT max(turn) + 1 FROM host_name_questions AS own WHERE own.reseller_id = ${resellerId}))`;

// The host name itself has nothing to do until the answer is there. A release before this one counts `times`.
const ask = statement(
  "host-name-ask",
  `WITH asked AS (
     INSERT INTO host_name_questions AS question (host_name_id, reseller_id, turn, next_step_at)
     SELECT host_names.id, account.reseller_id, ${nextTurn("account.reseller_id")}, $now
     FROM host_names JOIN hosting_accounts AS account ON account.id = account_id WHERE host_names.id = $id
     ON CONFLICT (host_name_id) DO UPDATE SET times = question.times + 1, next_step_at = $now)
   UPDATE host_names SET next_step_at = NULL WHERE id = $id AND version = $version`,
  {},
);

const first = statement(
  "host-name-questions-in-turn",
  `WITH under_way AS MATERIALIZED (SELECT host_name_id, reseller_id FROM host_name_questions WHERE ${isUnderWay}),
   places AS (SELECT reseller_id, count(*) AS places FROM under_way GROUP BY reseller_id),
   waiting AS (
     SELECT host_name_id, version, next_step_at, turn,
       coalesce(places, 0) + row_number() OVER (PARTITION BY reseller_id ORDER BY turn, host_name_id) AS place
     FROM host_name_questions LEFT JOIN places USING (reseller_id)
     WHERE next_step_at <= $now AND host_name_id <> ALL ($except::int8[])
       AND host_name_id NOT IN (SELECT host_name_id FROM under_way))
   SELECT host_name_id AS id, version, next_step_at FROM waiting
   WHERE place <= ${resellerPlacesMax} ORDER BY turn, place, host_name_id LIMIT $rows_max::int4`,
  { id: "int8", version: "int8", next_step_at: "timestamptz?" },
);

const readVersion = statement(
  "host-name-question-version",
  "SELECT version FROM host_name_questions WHERE host_name_id = $id",
  { version: "int8" },
);

const end = statement(
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

/** Those that are due, in the order of their turns. */
export function questionsInTurn(context: Context): RowSource<number> {
  const { database, clock } = context;
  return {
    ...questionRows(context),
    async first(rowsMax, except) {
      const rows = await database.query(first, { now: clock.now(), rows_max: rowsMax, except });
      return rows.map((row) => ({ ...row, next_step_at: row.next_step_at ?? clock.now() }));
    },
  };
}

/** Lets the name servers be asked about a name, after those that its reseller has asked about before. */
export async function askNameServers(
  { database, clock }: Pick<Context, "database" | "clock">,
  { id, version }: { id: number; version: number },
): Promise<void> {
  await database.query(ask, { id, version, now: clock.now() });
}

/**
 * One step of the machine `host-name-questions`. A name that is asked for again meanwhile gets another turn.
 * @param look asks the name servers, and writes down what they say
 */
export async function answerQuestion(
  { database }: Pick<Context, "database">,
  hostNameId: number,
  look: () => Promise<void>,
): Promise<void> {
  const [question] = await database.query(readVersion, { id: hostNameId });
  if (!question) return;
  await look();
  await database.query(end, { id: hostNameId, version: question.version });
}
