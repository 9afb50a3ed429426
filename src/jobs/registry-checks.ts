/** Answers the questions about names that processes without a session at the registry ask (src/domains/registry/availability.ts). */
import { statement } from "#db/statement.ts";
import { type CheckAnswer, checkAnswerChannel, checkChannel, nameCheckOf } from "#domains/registry/availability.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";

const answerCheck = statement(
  "registry-check-answer",
  `SELECT 0 AS item, pg_notify('${checkAnswerChannel}', $items::text)::text AS notified`,
  { item: "int4", notified: "text" },
);

/** Answers what is asked from now on; who asks before this process listens asks again. @returns what ends it */
export function answerChecks(sessions: RegistrySessions): () => void {
  const { context, profile } = sessions;
  const underWay = new Set<string>();
  return context.listener.on(checkChannel, (payload) => {
    for (const question of payload.split(",")) {
      const [id = "", registryId, name = ""] = question.split(" ");
      // One that is asked once more, because its answer takes long, has it by the first time.
      if (registryId !== profile.id || underWay.has(id)) continue;
      underWay.add(id);
      void answer(sessions, id, name).finally(() => underWay.delete(id));
    }
  });
}

async function answer({ context, profile, pool }: RegistrySessions, id: string, name: string): Promise<void> {
  if (!context.lease.isHeld()) return;
  const answered = await pool.checkDomain(name, { budgetMs: context.checkBudgetMs }).then(
    (check) => nameCheckOf(profile, check),
    (error: Error) => {
      const why = { registry: profile.id, name, reason: error.message };
      context.log.warn(why, "the registry did not say whether a name is free");
      return { availability: "unknown" } as const;
    },
  );
  // Its successor knows better, and was asked too.
  if (!context.lease.isHeld()) return;
  await context.database
    .batched(answerCheck, { id, ...answered } satisfies CheckAnswer)
    .catch((error: unknown) => context.log.warn({ err: error }, "a question about a name could not be answered"));
}
