/**
 * Asking a registry whether a name is free, from a process that has no session there. The question is a notification; the
 * process that owns the registry's sessions asks, and answers by another. Questions of one moment share one, and so do answers.
 */
import type { Context } from "#context.ts";
import type { Listener } from "#db/listener.ts";
import { statement } from "#db/statement.ts";
import type { DomainAvailability } from "#registry/epp/commands/domain/check.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import { premiumDecision } from "#registry/premium.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** Its payload: questions with commas between, each an id, the registry's id and the name, with spaces between. */
export const checkChannel = "name_check";
/** Its payload: a JSON array of `CheckAnswer`. */
export const checkAnswerChannel = "registry_check_answer";

/** Of a question: 12 symbols, so that the answers of one batch fit into the 8,000 bytes of a notification. */
const idBytes = 9;
/** Likewise for questions, with names as long as they can be. */
const questionsInPayloadMax = 16;

export const askCheck = statement(
  "name-check-ask",
  `SELECT 0 AS item,
     pg_notify('${checkChannel}', string_agg(id || ' ' || registry_id || ' ' || domain_name, ','))::text AS notified
   FROM jsonb_to_recordset($1::jsonb) AS question(item int4, id text, registry_id text, domain_name text)
   GROUP BY item / ${questionsInPayloadMax}`,
  { item: "int4", notified: "text" },
);

export type Availability = "available" | "taken" | "refused" | "unknown";

/** What a registry says about a name: `fee` is the price of its own that an available name has and our policy accepts. */
export interface NameCheck {
  availability: Availability;
  fee?: Money;
}

export interface CheckAnswer extends NameCheck {
  id: string;
}

/**
 * What a registry's `<check>` means: `taken` by somebody, or `refused`: reserved, blocked or premium. The protocol has
 * one flag and a free text for this (RFC 5731 §3.1.1), so the text is read, and only to tell these two apart.
 */
export function availabilityOf(check: { available: boolean; reason?: string | undefined }): Availability {
  if (check.available) return "available";
  return /reserv|block|premium|prohibit|restrict|policy|not allowed/i.test(check.reason ?? "") ? "refused" : "taken";
}

/** The same with the price that its registration has to name. */
export function nameCheckOf(profile: RegistryProfile, check: DomainAvailability): NameCheck {
  const decision = premiumDecision(profile, check);
  if (typeof decision === "string") return { availability: availabilityOf(check) };
  const { amount, currency } = decision;
  return { availability: availabilityOf(check), fee: { amount, currency } };
}

/** Who waits for an answer, by the question's id, in each process: one look at a notification for all of them. */
const askersOf = new WeakMap<Listener, Map<string, (answer: NameCheck) => void>>();

function askers(listener: Listener): Map<string, (answer: NameCheck) => void> {
  const known = askersOf.get(listener);
  if (known) return known;
  const waiting = new Map<string, (answer: NameCheck) => void>();
  askersOf.set(listener, waiting);
  listener.on(checkAnswerChannel, (payload) => {
    for (const { id, ...answer } of JSON.parse(payload) as CheckAnswer[]) waiting.get(id)?.(answer);
  });
  return waiting;
}

/**
 * Asks the registry, and waits at most the budget for its word. The owner may not hear a question, if its connection is
 * just being made again: halfway it is asked once more.
 * @returns "unknown" when the answer did not come in time
 */
export async function askAvailability(context: Context, registryId: string, name: string): Promise<NameCheck> {
  const id = context.random.bytes(idBytes).toString("base64url");
  const waiting = askers(context.listener);
  const { promise, resolve } = Promise.withResolvers<NameCheck>();
  waiting.set(id, resolve);
  const ask = async () => {
    // An answer that comes before this process listens would be missed.
    await context.listener.listening();
    await context.database.batched(askCheck, { id, registry_id: registryId, domain_name: name });
  };
  const halfOver = setTimeout(() => void ask().catch(() => {}), context.checkBudgetMs / 2);
  const budgetOver = setTimeout(() => {
    context.log.warn({ registry: registryId, name }, "nobody said in time whether a name is free");
    resolve({ availability: "unknown" });
  }, context.checkBudgetMs);
  try {
    return await Promise.race([promise, ask().then(() => promise)]);
  } finally {
    clearTimeout(halfOver);
    clearTimeout(budgetOver);
    waiting.delete(id);
  }
}
