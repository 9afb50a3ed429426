/**
 * Looks whether a host name is its account's. Whose portfolio it is in comes before what the DNS says, and is found out at
 * once, by the step of the host name; for the DNS a name waits for its turn (questions.ts). Every look can be repeated,
 * and one that was overtaken is made again.
 */
import { raiseAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { isUniqueViolation } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { changeAccount } from "#hosting/accounts/change.ts";
import type { TxtLookup } from "#hosting/host-names/dns.ts";
import { proofLabel, proofText } from "#hosting/host-names/host-names.ts";
import { askNameServers } from "#hosting/host-names/questions.ts";
import {
  type HostNameEvent,
  type HostNameStatus,
  hostNameStatuses,
  nextHostNameStatus,
} from "#hosting/host-names/states.ts";
import { backoffMs } from "#lib/backoff.ts";

/** How often a name is looked at until it is proven, and so many times: about three weeks. */
const waiting = { firstMs: 30_000, maxMs: 6 * 60 * 60_000 };
const looksMax = 120;
/** How often a proven one is looked at, and how long its record may be missing. */
const dayMs = 24 * 60 * 60_000;
const proven = { firstMs: dayMs, maxMs: dayMs };
const missingMsMax = 7 * dayMs;

const factsOf = statement(
  "host-name-facts",
  `SELECT host.id, host.host_name, host.account_id, account.identifier, host.proof, host.status, host.proven_by,
     host.misses, host.missing_since, host.version, held.in_own, held.in_anothers, holder.id AS holder_id,
     holder.account_id AS holder_account_id, holder.proof AS holder_proof,
     holder.proven_by AS holder_proven_by, holder_account.identifier AS holder_identifier,
     holder_account.reseller_id = account.reseller_id AS holder_is_own
   FROM host_names AS host
   JOIN hosting_accounts AS account ON account.id = host.account_id
   CROSS JOIN LATERAL (
     SELECT coalesce(bool_or(reseller_id = account.reseller_id), false) AS in_own,
       coalesce(bool_or(reseller_id <> account.reseller_id), false) AS in_anothers
     FROM domains WHERE domain_name = ANY (names_at_and_above(host.host_name))) AS held
   LEFT JOIN host_names AS holder
     ON holder.host_name = host.host_name AND holder.status = 'Proven' AND holder.id <> host.id
   LEFT JOIN hosting_accounts AS holder_account ON holder_account.id = holder.account_id
   WHERE host.id = $id`,
  {
    id: "int8",
    host_name: "text",
    account_id: "int8",
    identifier: "text",
    proof: "text",
    status: hostNameStatuses,
    proven_by: "text?",
    misses: "int4",
    missing_since: "timestamptz?",
    version: "int8",
    in_own: "bool",
    in_anothers: "bool",
    holder_id: "int8?",
    holder_account_id: "int8?",
    holder_proof: "text?",
    holder_identifier: "text?",
    holder_is_own: "bool?",
    holder_proven_by: "text?",
  },
);
type Facts = NonNullable<(typeof factsOf)["row"]>;

// Whoever registers a name at or above it in this moment is seen by the facts, or sees the host name.
const awaitDomains = statement(
  "host-name-await-domains",
  "SELECT await_domains_of(host_name)::text AS done FROM host_names WHERE id = $id",
  { done: "text" },
);

// Before their names' rows, as everywhere else.
const lockAccounts = statement(
  "host-name-accounts-lock",
  "SELECT id FROM hosting_accounts WHERE id = ANY ($ids::bigint[]) ORDER BY id FOR NO KEY UPDATE",
  { id: "int8" },
);

// In one order for all, so that two transactions cannot wait for each other.
const lockNames = statement(
  "host-names-lock",
  "SELECT id, version FROM host_names WHERE id = ANY ($ids::bigint[]) ORDER BY id FOR UPDATE",
  { id: "int8", version: "int8" },
);

const writeFinding = statement(
  "host-name-finding",
  `UPDATE host_names SET status = $status, proven_by = $proven_by, reason = $reason, misses = $misses,
     missing_since = $missing_since, checked_at = $now, next_check_at = $next, next_step_at = $next WHERE id = $id`,
  {},
);

const takeAway = statement(
  "host-name-take-away",
  `UPDATE host_names SET status = 'Waiting', proven_by = NULL, reason = $reason, misses = 0, missing_since = NULL,
     checked_at = $now, next_check_at = $next, next_step_at = $next
   WHERE id = $id AND status = 'Proven' RETURNING account_id`,
  { account_id: "int8" },
);

interface Finding {
  event: HostNameEvent;
  provenBy?: "dns" | "portfolio" | "identifier";
  /** A sentence for the account's owner. */
  reason?: string;
  /** Another account that has the name now has no claim to it any more. */
  replaces?: boolean;
}

/** One step of the machine `host-names`. */
export async function lookAtHostName(context: Context, hostNameId: number): Promise<void> {
  for (;;) {
    const facts = await findFacts(context, hostNameId);
    if (!facts) return;
    const finding = lookHere(context, facts);
    if (!finding) return askNameServers(context, facts);
    if (await isRecorded(context, facts, finding)) return;
  }
}

/** Asks the name servers too. @param lookup never asked about names in somebody's portfolio */
export async function checkHostName(context: Context, hostNameId: number, lookup: TxtLookup): Promise<void> {
  for (;;) {
    const facts = await findFacts(context, hostNameId);
    if (!facts) return;
    const finding = lookHere(context, facts) ?? (await askAbout(context, lookup, facts));
    if (await isRecorded(context, facts, finding)) return;
    // What somebody else has written down meanwhile may be older than what this look was asked for.
  }
}

async function findFacts({ database }: Context, hostNameId: number): Promise<Facts | undefined> {
  await database.query(awaitDomains, { id: hostNameId });
  const [facts] = await database.query(factsOf, { id: hostNameId });
  return facts;
}

async function isRecorded(context: Context, facts: Facts, finding: Finding): Promise<boolean> {
  try {
    return await context.database.transaction((tx) => record(context, tx, facts, finding));
  } catch (error) {
    // Two accounts have shown the same name at the same time: the next look sees which of them has it.
    if (!isUniqueViolation(error, "host_names_proven")) throw error;
    const held: Finding = { event: "missing", reason: heldText };
    return context.database.transaction((tx) => record(context, tx, facts, held));
  }
}

const heldText =
  "The name answers for another hosting account: take it away there, or take away the TXT record of that account.";

/** Nothing when only the name servers can tell whose it is. */
function lookHere({ bareIdentifiers }: Context, facts: Facts): Finding | undefined {
  if (facts.in_anothers) {
    return { event: "withdrawn", reason: "The name, or one above it, is registered here by somebody else." };
  }
  if (facts.in_own) {
    // Somebody else who had it before has no say in a name that was registered here since.
    return facts.holder_is_own
      ? { event: "missing", reason: heldText }
      : { event: "shown", provenBy: "portfolio", replaces: true };
  }
  // As long as nobody has proved it.
  const isBare = bareIdentifiers && facts.host_name === facts.identifier && facts.holder_id === null;
  return isBare ? { event: "shown", provenBy: "identifier" } : undefined;
}

async function askAbout(context: Context, lookup: TxtLookup, facts: Facts): Promise<Finding> {
  return readProof(context, facts, await lookup.find(`${proofLabel}.${facts.host_name}`));
}

function readProof({ clock }: Context, facts: Facts, answer: Awaited<ReturnType<TxtLookup["find"]>>): Finding {
  if ("problem" in answer) {
    return {
      event: "unanswered",
      reason: `The name servers did not say whether the record is there: ${answer.problem}.`,
    };
  }
  if (!answer.texts.includes(proofText(facts.proof))) {
    const reason =
      answer.texts.length === 0
        ? `There is no TXT record at ${proofLabel}.${facts.host_name}.`
        : `The TXT record at ${proofLabel}.${facts.host_name} says something else.`;
    const missingMs = clock.now().getTime() - (facts.missing_since ?? clock.now()).getTime();
    return { event: missingMs >= missingMsMax ? "lost" : "missing", reason };
  }
  return facts.holder_proof !== null && answer.texts.includes(proofText(facts.holder_proof))
    ? { event: "missing", reason: heldText }
    : { event: "shown", provenBy: "dns", replaces: true };
}

/** Returns false, with nothing written, when somebody else has looked since the facts were read. */
async function record(context: Context, tx: Transaction, facts: Facts, finding: Finding): Promise<boolean> {
  const now = context.clock.now();
  const status = nextHostNameStatus(facts.status, finding.event);
  if (!status) throw new Error(`a host name that is ${facts.status} has no transition for ${finding.event}`);
  await tx.query(lockAccounts, { ids: [facts.account_id, facts.holder_account_id ?? 0] });
  const locked = await tx.query(lockNames, { ids: [facts.id, facts.holder_id ?? 0] });
  if (!locked.some(({ id, version }) => id === facts.id && version === facts.version)) return false;
  if (finding.replaces && facts.holder_id !== null) await takeFromHolder(context, tx, facts, finding);
  const misses = countMisses(status, facts, finding);
  const missingSince = status === "Proven" ? missingSinceOf(facts, finding, now) : null;
  const delayMs = nextLookMs(context, status, finding, misses);
  await tx.query(writeFinding, {
    ...{ id: facts.id, status, misses, missing_since: missingSince, now, reason: finding.reason ?? null },
    proven_by: status === "Proven" ? (finding.provenBy ?? facts.proven_by) : null,
    next: delayMs === undefined ? null : new Date(now.getTime() + delayMs),
  });
  if (status === facts.status) return true;
  await changeAccount(context, tx, facts.account_id, wish(facts.host_name, finding.event));
  if (finding.event === "withdrawn") await tellOperator(context, tx, facts.identifier, facts.host_name);
  return true;
}

async function takeFromHolder(context: Context, tx: Transaction, facts: Facts, { provenBy }: Finding): Promise<void> {
  const now = context.clock.now();
  const next = new Date(now.getTime() + backoffMs(1, waiting, context.random));
  const reason = "Another hosting account has shown that the name is its owner's.";
  const [taken] = await tx.query(takeAway, { id: facts.holder_id, reason, now, next });
  if (!taken) return;
  await changeAccount(context, tx, taken.account_id, wish(facts.host_name, "lost"));
  const isSurprising = provenBy === "portfolio" || (facts.holder_proven_by === "identifier" && !facts.holder_is_own);
  if (isSurprising) await tellOperator(context, tx, facts.holder_identifier ?? "", facts.host_name);
}

const wish = (hostName: string, event: HostNameEvent) => {
  return { event: "host-names-wanted" as const, note: `${hostName}: ${event}` };
};

/** Who had the name may wonder why, and ask. */
async function tellOperator(context: Context, tx: Transaction, identifier: string, hostName: string): Promise<void> {
  const note = `the site of ${identifier} does not answer there any more: the name is somebody else's now`;
  await raiseAlarm(context, { kind: "host-name", subject: hostName, note }, tx);
}

function countMisses(status: HostNameStatus, { misses }: Facts, { event }: Finding): number {
  return status === "Waiting" && (event === "missing" || event === "unanswered") ? misses + 1 : 0;
}

/** What nobody answers about is not missing, but not there again either. */
function missingSinceOf({ missing_since: since }: Facts, { event }: Finding, now: Date): Date | null {
  if (event === "missing") return since ?? now;
  return event === "unanswered" ? since : null;
}

/** Nothing: it is looked at when it is asked for again, or when a domain name at or above it comes or goes. */
function nextLookMs(
  { random }: Context,
  status: HostNameStatus,
  { event, provenBy }: Finding,
  misses: number,
): number | undefined {
  // The database knows by itself when one of the others changes.
  if (status === "Proven") return provenBy && provenBy !== "dns" ? undefined : backoffMs(1, proven, random);
  if (event === "withdrawn" || misses >= looksMax) return undefined;
  return backoffMs(Math.max(1, misses), waiting, random);
}

/** SQL, about a row of host_names: what it waits for its next look at the most. */
export const longestHostNameWait = `CASE status WHEN 'Proven' THEN interval '${proven.maxMs} ms' ELSE interval '${waiting.maxMs} ms' END`;
