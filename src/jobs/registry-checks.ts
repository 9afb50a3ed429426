/** Checks names for the processes that have no session at the registry (src/domains/registry/availability.ts). */
import { statement } from "#db/statement.ts";
import {
  type CheckAnswer,
  checkAnswerChannel,
  checkBudgetMsOf,
  checkChannel,
  nameCheckOf,
  newOwnerChannel,
  tokenOfQuestion,
} from "#domains/registry/availability.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { CheckPurpose } from "#registry/epp/pool/pool.ts";

const answerCheck = statement(
  "registry-check-answer",
  `SELECT 0 AS item, pg_notify('${checkAnswerChannel}', $items::text)::text AS notified`,
  { item: "int4", notified: "text" },
);

const announce = statement(
  "registry-new-owner",
  `SELECT pg_notify('${newOwnerChannel}', $registry_id::text)::text AS notified`,
  { notified: "text" },
);

/** Answers from now on. Who asked before this process listens asks again. @returns a function that stops it */
export function answerChecks(sessions: RegistrySessions): () => void {
  const { context, profile } = sessions;
  const inProgress = new Set<string>();
  const stopped = new AbortController();
  const stopListening = context.listener.on(checkChannel, (payload) => {
    for (const question of payload.split(",")) {
      const [id = "", registryId, name = "", purpose, token] = question.split(" ");
      // A process repeats a question whose answer takes long; the first one is still being answered.
      if (registryId !== profile.id || inProgress.has(id)) continue;
      inProgress.add(id);
      const asked = { id, name, purpose: purpose === "bulk-check" ? purpose : "check", token } as const;
      answer(sessions, asked, stopped.signal)
        .finally(() => inProgress.delete(id))
        .catch((error: unknown) => context.log.error({ err: error }, "a name check could not be answered"));
    }
  });
  const announced = async () => {
    await context.listener.listening();
    await context.database.query(announce, { registry_id: profile.id });
  };
  announced().catch((error: unknown) =>
    context.log.warn({ err: error, registry: profile.id }, "cannot say that the registry has a new session holder"),
  );
  return () => {
    stopListening();
    stopped.abort();
  };
}

async function answer(
  { context, profile, pool }: RegistrySessions,
  { id, name, purpose, token }: { id: string; name: string; purpose: CheckPurpose; token: string | undefined },
  stopped: AbortSignal,
): Promise<void> {
  if (!context.lease.isHeld()) return;
  const budgetMs = checkBudgetMsOf(context, purpose);
  // Async, because a token of another master key does not open.
  const check = async () => {
    const allocationToken = token === undefined ? undefined : tokenOfQuestion(context, id, token);
    return pool.checkDomain(name, { budgetMs, purpose, allocationToken });
  };
  const answered = await check().then(nameCheckOf, (error: Error) => {
    const why = { registry: profile.id, name, reason: error.message };
    context.log.warn(why, "the registry did not say whether a name is free");
    return undefined;
  });
  // The next session holder has newer facts, and gets the same question.
  if (!context.lease.isHeld() || (!answered && stopped.aborted)) return;
  await context.database
    .batched(answerCheck, { id, ...(answered ?? { availability: "unknown" }) } satisfies CheckAnswer)
    .catch((error: unknown) => context.log.warn({ err: error }, "the answer to a name check could not be sent"));
}
