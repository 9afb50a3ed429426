/**
 * Asking a registry whether a name is free, from a process that has no session there. The question is a row and a
 * notification; the process that owns the registry's sessions takes the row, asks, and answers by notification. Questions
 * of one moment share both, and so do answers.
 */
import type { Context } from "#context.ts";
import type { Listener } from "#db/listener.ts";
import { statement } from "#db/statement.ts";
import type { DomainAvailability } from "#registry/epp/commands/domain-check.ts";
import type { Money } from "#registry/epp/commands/fee.ts";
import { premiumDecision } from "#registry/premium.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** Its payload: the ids of the questions, with commas between. */
export const checkChannel = "registry_check";
/** Its payload: a JSON array of `CheckAnswer`. */
export const checkAnswerChannel = "registry_check_answer";

const askCheck = statement(
  "registry-check-ask",
  `WITH asked AS MATERIALIZED (
     SELECT id, registry_id, domain_name, asked_at FROM jsonb_to_recordset($1::jsonb)
       AS item(id uuid, registry_id text, domain_name text, asked_at timestamptz)),
   written AS (INSERT INTO registry_checks (id, registry_id, domain_name, asked_at)
     SELECT id, registry_id, domain_name, asked_at FROM asked)
   SELECT 0 AS item, pg_notify('${checkChannel}', string_agg(id::text, ','))::text AS notified FROM asked`,
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
 * Asks the registry, and waits at most the budget for its word.
 * @returns "unknown" when it did not come in time
 */
export async function askAvailability(context: Context, registryId: string, name: string): Promise<NameCheck> {
  const id = context.random.uuid();
  const waiting = askers(context.listener);
  const { promise, resolve } = Promise.withResolvers<NameCheck>();
  waiting.set(id, resolve);
  const budgetOver = setTimeout(() => resolve({ availability: "unknown" }), context.checkBudgetMs);
  try {
    const question = { id, registry_id: registryId, domain_name: name, asked_at: context.clock.now() };
    await context.database.together(askCheck, question);
    return await promise;
  } finally {
    clearTimeout(budgetOver);
    waiting.delete(id);
  }
}
