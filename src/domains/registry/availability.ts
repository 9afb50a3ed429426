/**
 * Asks a registry whether a name is free, from a process without a session there. The question is a notification to the owner of
 * the registry's sessions, which answers with another. Questions of the same moment share a notification, and so do answers.
 */
import type { Context } from "#context.ts";
import type { Listener } from "#db/listener.ts";
import { statement } from "#db/statement.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import type { CheckPurpose } from "#registry/epp/pool/pool.ts";
import type { PricedAvailability } from "#registry/premium.ts";

/** Its payload: questions separated by commas, each an id, the registry's id, the name and the purpose, separated by spaces. */
export const checkChannel = "name_check";
/** Its payload: a JSON array of `CheckAnswer`. */
export const checkAnswerChannel = "registry_check_answer";

/** A question's id has 12 characters, so that the answers of one batch fit into the 8,000 bytes of a notification. */
const idBytes = 9;
/** The same for questions with the longest names. */
const questionsInPayloadMax = 16;

export const askCheck = statement(
  "name-check-ask",
  `SELECT 0 AS item,
     pg_notify('${checkChannel}', string_agg(id || ' ' || registry_id || ' ' || domain_name || ' ' || purpose, ','))::text AS notified
   FROM jsonb_to_recordset($items::jsonb) AS question(item int4, id text, registry_id text, domain_name text, purpose text)
   GROUP BY item / ${questionsInPayloadMax}`,
  { item: "int4", notified: "text" },
);

export type Availability = "available" | "taken" | "refused" | "unknown";

/** A registry's answer about a name; `fee` is the price of an available name with a price of its own, if our policy accepts it. */
export interface NameCheck {
  availability: Availability;
  fee?: Money;
}

export interface CheckAnswer extends NameCheck {
  id: string;
}

/**
 * What a `<check>` means: `taken` by somebody, or `refused` because the name is reserved, blocked or premium. The protocol has one
 * flag and a free text (RFC 5731 §3.1.1); the text is used only to distinguish these two.
 */
export function availabilityOf(check: { available: boolean; reason?: string | undefined }): Availability {
  if (check.available) return "available";
  return /reserv|block|premium|prohibit|restrict|policy|not allowed/i.test(check.reason ?? "") ? "refused" : "taken";
}

/** The same with the price that the registration must agree to. */
export function nameCheckOf(check: PricedAvailability): NameCheck {
  const { agreedFee: fee } = check;
  return { availability: availabilityOf(check), ...(fee && { fee }) };
}

/** How many times longer than other questions those about a list of names may take: their lane is narrow. */
const bulkPatience = 10;

/** How long a question may take, here and at the owner of the registry's sessions. */
export function checkBudgetMsOf({ checkBudgetMs }: Pick<Context, "checkBudgetMs">, purpose: CheckPurpose): number {
  return purpose === "bulk-check" ? bulkPatience * checkBudgetMs : checkBudgetMs;
}

/** The callers that wait for an answer, by the question's id: each notification is parsed once for all of them. */
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
 * Asks the registry, and waits for its answer no longer than the budget. Halfway it asks again: the owner misses a question while
 * it reconnects to the database.
 * @returns "unknown" when no answer came in time
 */
export async function askAvailability(
  context: Context,
  registryId: string,
  name: string,
  purpose: CheckPurpose = "check",
): Promise<NameCheck> {
  const budgetMs = checkBudgetMsOf(context, purpose);
  const id = context.random.bytes(idBytes).toString("base64url");
  const waiting = askers(context.listener);
  const { promise, resolve } = Promise.withResolvers<NameCheck>();
  waiting.set(id, resolve);
  const ask = async () => {
    // Otherwise it could miss the answer.
    await context.listener.listening();
    await context.database.batched(askCheck, { id, registry_id: registryId, domain_name: name, purpose });
  };
  const halfOver = setTimeout(() => void ask().catch(() => {}), budgetMs / 2);
  const budgetOver = setTimeout(() => {
    context.log.warn({ registry: registryId, name }, "the registry did not answer in time whether a name is free");
    resolve({ availability: "unknown" });
  }, budgetMs);
  try {
    return await Promise.race([promise, ask().then(() => promise)]);
  } finally {
    clearTimeout(halfOver);
    clearTimeout(budgetOver);
    waiting.delete(id);
  }
}
