/**
 * Asking a registry whether a name is free, from a process that has no session there. The question is a row and a
 * notification; the process that owns the registry's sessions takes the row, asks, and answers by notification.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { sleep } from "#lib/clock.ts";

export const checkChannel = "registry_check";
export const checkAnswerChannel = "registry_check_answer";

const askCheck = statement(
  "registry-check-ask",
  `WITH asked AS (INSERT INTO registry_checks (id, registry_id, domain_name, asked_at) VALUES ($1::uuid, $2, $3, $4))
   SELECT pg_notify('${checkChannel}', $1::text)::text AS notified`,
  { notified: "text" },
);

export type Availability = "available" | "taken" | "refused" | "unknown";

interface CheckAnswer {
  id: string;
  availability: Availability;
}

/**
 * What a registry's `<check>` means: `taken` by somebody, or `refused`: reserved, blocked or premium. The protocol has
 * one flag and a free text for this (RFC 5731 §3.1.1), so the text is read, and only to tell these two apart.
 */
export function availabilityOf(check: { available: boolean; reason?: string | undefined }): Availability {
  if (check.available) return "available";
  return /reserv|block|premium|prohibit|restrict|policy|not allowed/i.test(check.reason ?? "") ? "refused" : "taken";
}

/**
 * Asks the registry, and waits at most the budget for its word.
 * @returns "unknown" when it did not come in time
 */
export async function askAvailability(context: Context, registryId: string, name: string): Promise<Availability> {
  const id = context.random.uuid();
  const { promise, resolve } = Promise.withResolvers<Availability>();
  const stopListening = context.listener.on(checkAnswerChannel, (payload) => {
    const answer = JSON.parse(payload) as CheckAnswer;
    if (answer.id === id) resolve(answer.availability);
  });
  const budgetOver = new AbortController();
  try {
    await context.database.query(askCheck, [id, registryId, name, context.clock.now()]);
    const unknown = sleep(context.checkBudgetMs, budgetOver.signal).then((): Availability => "unknown");
    return await Promise.race([promise, unknown]);
  } finally {
    budgetOver.abort();
    stopListening();
  }
}
