/**
 * How fast an account sends to a host. A webhook's URL may lead to a host that has not asked for it, so a host gets few
 * requests at first, and more with each answer that takes a delivery. The places are counted in the database: all workers share
 * them.
 */
import type { Context } from "#context.ts";
import { deleteInParts } from "#db/parts.ts";
import { statement } from "#db/statement.ts";

/** Requests a second, and at once, for a host that has just begun to answer; each answer adds one. */
const firstPerSecond = 5;
const perSecondMax = 30;
/** For all hosts of an account together that have not answered a test. */
const untestedAtOnceMax = 10;
const untestedSeconds = 5;
/** A sender that waits for its pace waits for as many requests as this: each of its steps costs some queries. */
const waitForMax = 10;
/** A pace that has not been used for this long is the same as a new one. */
const idleMinutes = 60;

const takeSql = statement(
  "webhook-pace-take",
  `WITH known AS (
     SELECT answers, spent_until FROM webhook_hosts WHERE reseller_id = $reseller_id AND host = $host FOR UPDATE),
   pace AS (
     SELECT least(greatest($now::timestamptz, max(spent_until)), $now + interval '1 minute') AS begins_at,
       CASE WHEN $host = '' THEN ${untestedAtOnceMax}
         ELSE least(${perSecondMax}, ${firstPerSecond} - 1 + coalesce(max(answers), 1)) END AS at_once
     FROM known),
   room AS (
     SELECT begins_at, at_once, CASE WHEN $host = '' THEN interval '${untestedSeconds} seconds' ELSE interval '1 second' / at_once END AS every
     FROM pace),
   taken AS (
     SELECT begins_at, at_once, every, least($wanted::int4, greatest(0,
       floor(extract(epoch FROM $now + at_once * every - begins_at) / extract(epoch FROM every)))::int4) AS granted FROM room),
   saved AS (
     INSERT INTO webhook_hosts AS own (reseller_id, host, spent_until)
     SELECT $reseller_id, $host, begins_at + granted * every FROM taken
     ON CONFLICT (reseller_id, host) DO UPDATE SET spent_until = excluded.spent_until)
   SELECT granted, begins_at + (granted - at_once + least(at_once, $wanted - granted, ${waitForMax})) * every AS next_at FROM taken`,
  { granted: "int4", next_at: "timestamptz" },
);

const noteAnswersSql = statement(
  "webhook-pace-answers",
  `UPDATE webhook_hosts SET answers = least(answers + $answers::int4, ${perSecondMax})
   WHERE reseller_id = $reseller_id AND host = $host AND answers < ${perSecondMax}`,
  {},
);

const dropIdle = deleteInParts("webhook-pace-drop", "webhook_hosts", "spent_until < $before", "spent_until");

interface Target {
  reseller_id: number;
  url: string;
  /** Whether the URL has answered a test. */
  is_verified: boolean;
}

const hostOf = ({ url, is_verified }: Target) => (is_verified ? new URL(url).hostname : "");

/**
 * Takes places for requests that are sent at once.
 * @returns how many of them may be sent; and, when that is not all, when there is room for more
 */
export async function takePlaces(
  { database, clock }: Pick<Context, "database" | "clock">,
  target: Target,
  wanted: number,
): Promise<{ granted: number; nextAt: Date | undefined }> {
  if (wanted === 0) return { granted: 0, nextAt: undefined };
  const values = { reseller_id: target.reseller_id, host: hostOf(target), wanted, now: clock.now() };
  const [taken] = await database.query(takeSql, values);
  const { granted, next_at } = taken!;
  return { granted, nextAt: granted < wanted ? next_at : undefined };
}

/** Raises a host's pace. @param answers how many deliveries it has taken */
export async function noteAnswers(
  { database }: Pick<Context, "database">,
  target: Target,
  answers: number,
): Promise<void> {
  if (answers === 0 || !target.is_verified) return;
  await database.query(noteAnswersSql, { reseller_id: target.reseller_id, host: hostOf(target), answers });
}

/** Forgets the paces that have not been used for a while. */
export async function dropIdlePaces({ database, clock }: Pick<Context, "database" | "clock">): Promise<void> {
  await dropIdle(database, { before: new Date(clock.now().getTime() - idleMinutes * 60_000) });
}
