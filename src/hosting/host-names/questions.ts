/**
 * The questions to name servers that wait for their turn. They are rows, so that none is lost, and all workers share the
 * turns: a name server that is silent holds a place for seconds, and no reseller's may hold all places.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";

/** Tells workers that there is one. */
export const questionsChannel = "host_name_asked";

/** Of one reseller at once; two workers that take questions in the same moment may each take so many. */
const resellerPlacesMax = 4;
/** Longer than the name servers can take: then whoever took it has died. */
const takenSecondsMax = 60;

/** SQL: the turn that is under way. */
const currentTurn = `coalesce(
     (SELECT max(turn) FROM host_name_questions WHERE taken_until > now()),
     (SELECT min(turn) FROM host_name_questions), 0)`;

/** SQL: the turn of a reseller's next question. `resellerId` is SQL too. */
const nextTurn = (resellerId: string) => `greatest(${currentTurn},
     (SELECT max(turn) + 1 FROM host_name_questions AS own WHERE own.reseller_id = ${resellerId}))`;

const ask = statement(
  "host-name-ask",
  `WITH asked AS (
     INSERT INTO host_name_questions AS question (host_name_id, reseller_id, turn)
     SELECT host_names.id, account.reseller_id, ${nextTurn("account.reseller_id")}
     FROM host_names JOIN hosting_accounts AS account ON account.id = account_id WHERE host_names.id = $1
     ON CONFLICT (host_name_id) DO UPDATE SET times = question.times + 1)
   SELECT pg_notify('${questionsChannel}', '')::text AS notified`,
  { notified: "text" },
);

// The last condition is checked again when another worker has taken it meanwhile.
const take = statement(
  "host-name-questions-take",
  `WITH under_way AS (
     SELECT reseller_id, count(*) AS places FROM host_name_questions WHERE taken_until > now() GROUP BY reseller_id),
   waiting AS (
     SELECT host_name_id, turn,
       coalesce(places, 0) + row_number() OVER (PARTITION BY reseller_id ORDER BY turn, host_name_id) AS place
     FROM host_name_questions LEFT JOIN under_way USING (reseller_id) WHERE (taken_until > now()) IS NOT TRUE),
   chosen AS (
     SELECT host_name_id FROM waiting WHERE place <= $1 ORDER BY turn, place, host_name_id LIMIT $2)
   UPDATE host_name_questions AS question SET taken_until = now() + make_interval(secs => $3)
   FROM chosen WHERE question.host_name_id = chosen.host_name_id AND (taken_until > now()) IS NOT TRUE
   RETURNING question.host_name_id AS id, times`,
  { id: "int8", times: "int4" },
);

const end = statement(
  "host-name-question-end",
  `WITH ended AS (DELETE FROM host_name_questions WHERE host_name_id = $1 AND times = $2 RETURNING host_name_id)
   UPDATE host_name_questions AS question SET taken_until = NULL, turn = ${nextTurn("question.reseller_id")}
   WHERE host_name_id = $1 AND NOT EXISTS (SELECT FROM ended)`,
  {},
);

/** Lets the name servers be asked about a name, after those that its reseller has asked about before. */
export async function askNameServers({ database }: Pick<Context, "database">, hostNameId: number): Promise<void> {
  await database.query(ask, [hostNameId]);
}

export interface Question {
  /** Of the host name. */
  id: number;
  /** How often it was asked for until it was taken. */
  times: number;
}

/** Takes those whose turn it is, at most so many. */
export function takeQuestions({ database }: Pick<Context, "database">, max: number): Promise<Question[]> {
  return database.query(take, [resellerPlacesMax, max, takenSecondsMax]);
}

/** It is answered; if it was asked for again meanwhile, it gets another turn. */
export async function endQuestion({ database }: Pick<Context, "database">, { id, times }: Question): Promise<void> {
  await database.query(end, [id, times]);
}
