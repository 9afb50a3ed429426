/** Answers the questions about names that processes without a session at the registry ask (src/domains/availability.ts). */
import { statement } from "#db/statement.ts";
import { type CheckAnswer, checkAnswerChannel, checkChannel, nameCheckOf } from "#domains/availability.ts";
import type { RegistrySessions } from "#domains/registry-sessions.ts";

const takeChecks = statement(
  "registry-checks-take",
  "DELETE FROM registry_checks WHERE id = ANY($1::uuid[]) AND registry_id = $2 RETURNING id::text, domain_name",
  { id: "text", domain_name: "text" },
);

const waitingChecks = statement(
  "registry-checks-waiting",
  "SELECT id::text FROM registry_checks WHERE registry_id = $1",
  { id: "text" },
);

const dropStaleChecks = statement(
  "registry-checks-drop",
  "DELETE FROM registry_checks WHERE registry_id = $1 AND asked_at < $2::timestamptz - interval '1 minute'",
  {},
);

const answerCheck = statement(
  "registry-check-answer",
  `SELECT 0 AS item, pg_notify('${checkAnswerChannel}', $1::text)::text AS notified`,
  { item: "int4", notified: "text" },
);

/** Answers what is asked from now on, and what was asked while nobody listened. @returns what ends it */
export function answerChecks(sessions: RegistrySessions): () => void {
  const { context, profile, pool } = sessions;
  const answer = async (id: string, name: string): Promise<void> => {
    const answered = await pool.checkDomain(name, { budgetMs: context.checkBudgetMs }).then(
      (check) => nameCheckOf(profile, check),
      () => ({ availability: "unknown" }) as const,
    );
    await context.database.together(answerCheck, { id, ...answered } satisfies CheckAnswer);
  };
  const answerAll = async (ids: string[]): Promise<void> => {
    const asked = await context.database.query(takeChecks, [ids, profile.id]);
    await Promise.all(asked.map(({ id, domain_name }) => answer(id, domain_name)));
  };
  const tryAnswer = (ids: string[]) =>
    answerAll(ids).catch((error: unknown) => context.log.warn({ err: error }, "registry checks could not be answered"));
  // What was asked while nobody listened.
  const catchUp = async () => {
    const waiting = await context.database.query(waitingChecks, [profile.id]).catch(() => []);
    if (waiting.length > 0) await tryAnswer(waiting.map(({ id }) => id));
  };
  const stopListening = context.listener.on(checkChannel, (payload) => tryAnswer(payload.split(",")));
  const stopReconnects = context.listener.onReconnect(catchUp);
  catchUp();
  return () => {
    stopListening();
    stopReconnects();
  };
}

/** Forgets the questions of processes that have given up waiting. */
export async function forgetStaleChecks({ context, profile }: RegistrySessions): Promise<void> {
  await context.database.query(dropStaleChecks, [profile.id, context.clock.now()]);
}
