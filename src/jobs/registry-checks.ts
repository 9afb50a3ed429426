/** Answers the questions about names that processes without a session at the registry ask (src/domains/availability.ts). */
import { statement } from "#db/statement.ts";
import { availabilityOf, checkAnswerChannel, checkChannel } from "#domains/availability.ts";
import type { RegistrySessions } from "#domains/registry-sessions.ts";

const takeCheck = statement(
  "registry-check-take",
  "DELETE FROM registry_checks WHERE id = $1::uuid AND registry_id = $2 RETURNING domain_name",
  { domain_name: "text" },
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
  `SELECT pg_notify('${checkAnswerChannel}', $1)::text AS notified`,
  {
    notified: "text",
  },
);

/** Answers what is asked from now on, and what was asked while nobody listened. @returns what ends it */
export function answerChecks(sessions: RegistrySessions): () => void {
  const { context, profile, pool } = sessions;
  const answer = async (id: string): Promise<void> => {
    const [asked] = await context.database.query(takeCheck, [id, profile.id]);
    if (!asked) return;
    const availability = await pool
      .checkDomain(asked.domain_name, { budgetMs: context.checkBudgetMs })
      .then(availabilityOf, () => "unknown" as const);
    await context.database.query(answerCheck, [JSON.stringify({ id, availability })]);
  };
  const tryAnswer = (id: string) =>
    answer(id).catch((error: unknown) => context.log.warn({ err: error }, "a registry check could not be answered"));
  // What was asked while nobody listened.
  const catchUp = async () => {
    const waiting = await context.database.query(waitingChecks, [profile.id]).catch(() => []);
    for (const { id } of waiting) tryAnswer(id);
  };
  const stopListening = context.listener.on(checkChannel, tryAnswer);
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
