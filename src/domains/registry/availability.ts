/**
 * Asks a registry whether a name is free, from a process without a session there. The question is a notification to the owner of
 * the registry's sessions, which answers with another. Questions of the same moment share a notification, and so do answers.
 */
import type { Context } from "#context.ts";
import type { Listener } from "#db/listener.ts";
import { statement } from "#db/statement.ts";
import type { Secret } from "#lib/secret.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import type { CheckPurpose } from "#registry/epp/pool/pool.ts";
import type { PricedAvailability } from "#registry/premium.ts";

/**
 * Its payload: questions separated by commas, each an id, the registry's id, the name, the purpose and, if there is one, an
 * allocation token, sealed, separated by spaces.
 */
export const checkChannel = "name_check";
/** Its payload: a JSON array of `CheckAnswer`. */
export const checkAnswerChannel = "registry_check_answer";
/** Its payload: the id of a registry whose sessions have a new owner, which has not heard the questions before. */
export const newOwnerChannel = "registry_new_owner";

/** A question's id has 12 characters, so that the answers of one batch fit into the 8,000 bytes of a notification. */
const idBytes = 9;
/** The same for questions with the longest names and tokens. */
const questionsInPayloadMax = 8;

export const askCheck = statement(
  "name-check-ask",
  `SELECT 0 AS item,
     pg_notify('${checkChannel}', string_agg(id || ' ' || registry_id || ' ' || domain_name || ' ' || purpose || coalesce(' ' || token, ''),
     ','))::text AS notified
   FROM jsonb_to_recordset($items::jsonb) AS question(item int4, id text, registry_id text, domain_name text, purpose text,
     token text)
   GROUP BY item / ${questionsInPayloadMax}`,
  { item: "int4", notified: "text" },
);

export type Availability = "available" | "taken" | "refused" | "unknown";

/** A registry's answer about a name; `fee` is the price of an available name with a price of its own, if our policy accepts it. */
export interface NameCheck {
  availability: Availability;
  fee?: Money;
  /** Why a refused name is, where the registry says so by an extension. */
  obstacle?: "claims-notice" | "token";
  /** Whether the registry has allocation tokens (RFC 8495); absent if none was given. */
  takesTokens?: boolean;
}

/** The context under which a question's allocation token is sealed. */
const questionRow = (id: string) => `name_check.token/${id}`;

/** The token of a question, as `askAvailability` has sealed it. */
export function tokenOfQuestion({ sealer }: Pick<Context, "sealer">, id: string, sealed: string): Secret {
  return sealer.open(questionRow(id), Buffer.from(sealed, "base64url"));
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
  const reason = check.reason ?? "";
  const isRefused = /reserv|block|premium|prohibit|restrict|policy|not allowed|claims notice/i.test(reason);
  return isRefused || isAboutToken(reason) ? "refused" : "taken";
}

/** What an obstacle means for who asked. */
export function textOfObstacle(obstacle: NonNullable<NameCheck["obstacle"]>): string {
  return {
    "claims-notice":
      "The name matches a trademark, and its registrant must acknowledge a claims notice first: such names cannot be registered here.",
    token: "The registry allocates this name only to who has its allocation token.",
  }[obstacle];
}

/** RFC 8495 §3.1.1: "Allocation Token required", or "mismatch". */
const isAboutToken = (reason: string) => /allocation token/i.test(reason);

/** The same with the price that the registration must agree to. */
export function nameCheckOf(check: PricedAvailability): NameCheck {
  const { agreedFee: fee, needsClaimsNotice, reason = "", takesTokens } = check;
  const obstacle = needsClaimsNotice ? "claims-notice" : isAboutToken(reason) ? "token" : undefined;
  return {
    availability: availabilityOf(check),
    ...(fee && { fee }),
    ...(obstacle && !check.available && { obstacle }),
    ...(takesTokens !== undefined && { takesTokens }),
  };
}

/** How many times longer than other questions those about a list of names may take: their lane is narrow. */
const bulkPatience = 10;

/** How long a question may take, here and at the owner of the registry's sessions. */
export function checkBudgetMsOf({ checkBudgetMs }: Pick<Context, "checkBudgetMs">, purpose: CheckPurpose): number {
  return purpose === "bulk-check" ? bulkPatience * checkBudgetMs : checkBudgetMs;
}

/** How long a question waits for an owner of the registry's sessions. */
const ownerWaitMs = 3_000;

interface Asker {
  registryId: string;
  answer(answer: NameCheck): void;
  /** Once: sessions that pass from one owner to another all the time must not keep anybody waiting. */
  askNewOwner: (() => void) | undefined;
}

/** The callers that wait for an answer, by the question's id: each notification is parsed once for all of them. */
const askersOf = new WeakMap<Listener, Map<string, Asker>>();

function askers(listener: Listener): Map<string, Asker> {
  const known = askersOf.get(listener);
  if (known) return known;
  const waiting = new Map<string, Asker>();
  askersOf.set(listener, waiting);
  listener.on(checkAnswerChannel, (payload) => {
    for (const { id, ...answer } of JSON.parse(payload) as CheckAnswer[]) waiting.get(id)?.answer(answer);
  });
  listener.on(newOwnerChannel, (registryId) => {
    for (const asker of waiting.values()) {
      if (asker.registryId !== registryId) continue;
      asker.askNewOwner?.();
      asker.askNewOwner = undefined;
    }
  });
  return waiting;
}

interface AskOptions {
  purpose?: CheckPurpose;
  allocationToken?: Secret | undefined;
  /** Whether the sessions have no owner at the moment: then the question waits for the next one first. */
  isUnowned?: boolean;
}

/**
 * Asks the registry, and waits for its answer no longer than the budget. Halfway it asks again: the owner misses a question while
 * it reconnects to the database. When the sessions get another owner meanwhile, that one is asked, and has the whole budget.
 * @returns "unknown" when no answer came in time
 */
export async function askAvailability(
  context: Context,
  registryId: string,
  name: string,
  { purpose = "check", allocationToken, isUnowned = false }: AskOptions = {},
): Promise<NameCheck> {
  const budgetMs = checkBudgetMsOf(context, purpose);
  const id = context.random.bytes(idBytes).toString("base64url");
  const waiting = askers(context.listener);
  const { promise, resolve } = Promise.withResolvers<NameCheck>();
  const token = allocationToken && context.sealer.seal(questionRow(id), allocationToken).toString("base64url");
  const ask = async () => {
    // Otherwise it could miss the answer.
    await context.listener.listening();
    await context.database.batched(askCheck, { id, registry_id: registryId, domain_name: name, purpose, token });
  };
  const askAgain = () => {
    ask().catch(() => {});
  };
  const giveUp = () => {
    context.log.warn({ registry: registryId, name }, "the registry did not answer in time whether a name is free");
    resolve({ availability: "unknown" });
  };
  let timers: NodeJS.Timeout[] = [];
  const waitFor = (waitMs: number) => {
    for (const timer of timers) clearTimeout(timer);
    timers = [setTimeout(askAgain, waitMs / 2), setTimeout(giveUp, waitMs)];
  };
  const askNewOwner = () => {
    waitFor(budgetMs);
    askAgain();
  };
  waiting.set(id, { registryId, answer: resolve, askNewOwner });
  waitFor(isUnowned ? ownerWaitMs : budgetMs);
  try {
    return await Promise.race([promise, ask().then(() => promise)]);
  } finally {
    for (const timer of timers) clearTimeout(timer);
    waiting.delete(id);
  }
}
