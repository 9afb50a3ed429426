/**
 * Checks whether an account has control over a host name. Portfolios take precedence over the DNS: the step of the host name
 * checks them at once, and only then the name waits for its turn at the name servers (questions.ts). Every check can be
 * repeated; if the row changed meanwhile, it is.
 */
import { raiseAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { isUniqueViolation } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { requestChange } from "#hosting/accounts/accounts.ts";
import { proofLabel, proofText } from "#hosting/host-names/dns.ts";
import { askNameServers } from "#hosting/host-names/questions.ts";
import {
  type HostNameEvent,
  type HostNameStatus,
  hostNameStatuses,
  nextHostNameStatus,
} from "#hosting/host-names/states.ts";
import { backoffMs } from "#lib/backoff.ts";

/** A name is checked at these intervals until it is proven, for about three weeks. */
const waiting = { firstMs: 30_000, maxMs: 6 * 60 * 60_000 };
const checksMax = 120;
/** How often a proven name is checked, and how long its record may be missing. */
const dayMs = 24 * 60 * 60_000;
const proven = { firstMs: dayMs, maxMs: dayMs };
const missingMsMax = 7 * dayMs;

const factsOf = statement(
  "host-name-facts",
  `SELECT host.id, host.host_name, host.account_id, account.reseller_id, account.identifier, host.proof, host.status, host.proven_by,
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
    reseller_id: "int8",
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

// Waits for registrations in progress at or above the name. Either the facts include them, or they see the host name.
const awaitRegistrations = statement(
  "host-name-await-domains",
  "SELECT await_domains_of(host_name)::text AS done FROM host_names WHERE id = $id",
  { done: "text" },
);

// Accounts are locked before their host names, here as everywhere.
const lockAccounts = statement(
  "host-name-accounts-lock",
  "SELECT id FROM hosting_accounts WHERE id = ANY ($ids::bigint[]) ORDER BY id FOR NO KEY UPDATE",
  { id: "int8" },
);

// Always in the same order, so that transactions cannot deadlock.
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

const withdrawProof = statement(
  "host-name-withdraw-proof",
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
  /** The account that holds the name loses it. */
  replacesHolder?: boolean;
}

/** One step of the machine `host-names`. */
export async function advanceHostName(context: Context, hostNameId: number): Promise<void> {
  for (;;) {
    const facts = await findFacts(context, hostNameId);
    if (!facts) return;
    const finding = checkPortfolios(context, facts);
    if (!finding) return askNameServers(context, facts);
    if (await isRecorded(context, facts, finding)) return;
  }
}

/** Checks the portfolios, and then the DNS. @param signal ends the lookup as if no name server answered */
export async function checkHostName(context: Context, hostNameId: number, signal?: AbortSignal): Promise<void> {
  for (;;) {
    const facts = await findFacts(context, hostNameId);
    if (!facts) return;
    const finding = checkPortfolios(context, facts) ?? (await checkDns(context, facts, signal));
    if (await isRecorded(context, facts, finding)) return;
    // Another check was recorded meanwhile, but it may have begun before this one was requested.
  }
}

async function findFacts({ database }: Context, hostNameId: number): Promise<Facts | undefined> {
  await database.query(awaitRegistrations, { id: hostNameId });
  const [facts] = await database.query(factsOf, { id: hostNameId });
  return facts;
}

async function isRecorded(context: Context, facts: Facts, finding: Finding): Promise<boolean> {
  try {
    return await context.database.transaction((tx) => record(context, tx, facts, finding));
  } catch (error) {
    // Two accounts have proven the same name at the same time. This one does not get it.
    if (!isUniqueViolation(error, "host_names_proven")) throw error;
    const held: Finding = { event: "missing", reason: isHeldText };
    return context.database.transaction((tx) => record(context, tx, facts, held));
  }
}

const isHeldText =
  "The name is served for another hosting account: remove it there, or remove the TXT record of that account.";

/** @returns nothing when only the DNS can decide */
function checkPortfolios({ bareIdentifiers }: Context, facts: Facts): Finding | undefined {
  if (facts.in_anothers) {
    return { event: "withdrawn", reason: "The name, or one above it, is registered here by somebody else." };
  }
  if (facts.in_own) {
    // A registration takes precedence over an earlier proof of another reseller.
    return facts.holder_is_own
      ? { event: "missing", reason: isHeldText }
      : { event: "shown", provenBy: "portfolio", replacesHolder: true };
  }
  // Until somebody proves the name.
  const isBare = bareIdentifiers && facts.host_name === facts.identifier && facts.holder_id === null;
  return isBare ? { event: "shown", provenBy: "identifier" } : undefined;
}

async function checkDns({ clock, names }: Context, facts: Facts, signal?: AbortSignal): Promise<Finding> {
  const name = `${proofLabel}.${facts.host_name}`;
  const answer = await names.findTexts(facts.reseller_id, name, signal);
  if ("problem" in answer) {
    return {
      event: "unanswered",
      reason: `The name servers did not say whether the record exists: ${answer.problem}.`,
    };
  }
  if (!answer.found.includes(proofText(facts.proof))) {
    const reason =
      answer.found.length === 0 ? `There is no TXT record at ${name}.` : `The TXT record at ${name} has another text.`;
    const missingMs = clock.now().getTime() - (facts.missing_since ?? clock.now()).getTime();
    return { event: missingMs >= missingMsMax ? "lost" : "missing", reason };
  }
  return facts.holder_proof !== null && answer.found.includes(proofText(facts.holder_proof))
    ? { event: "missing", reason: isHeldText }
    : { event: "shown", provenBy: "dns", replacesHolder: true };
}

/** @returns false, with nothing written, when another check was recorded since the facts were read */
async function record(context: Context, tx: Transaction, facts: Facts, finding: Finding): Promise<boolean> {
  const now = context.clock.now();
  const status = nextHostNameStatus(facts.status, finding.event);
  if (!status) throw new Error(`a host name that is ${facts.status} has no transition for ${finding.event}`);
  await tx.query(lockAccounts, { ids: [facts.account_id, facts.holder_account_id ?? 0] });
  const locked = await tx.query(lockNames, { ids: [facts.id, facts.holder_id ?? 0] });
  if (!locked.some(({ id, version }) => id === facts.id && version === facts.version)) return false;
  if (finding.replacesHolder && facts.holder_id !== null) await takeFromHolder(context, tx, facts, finding);
  const misses = countMisses(status, facts, finding);
  const delayMs = nextCheckMs(context, status, finding, misses);
  await tx.query(writeFinding, {
    id: facts.id,
    status,
    proven_by: status === "Proven" ? (finding.provenBy ?? facts.proven_by) : null,
    reason: finding.reason ?? null,
    misses,
    missing_since: status === "Proven" ? missingSince(facts, finding, now) : null,
    now,
    next: delayMs === undefined ? null : new Date(now.getTime() + delayMs),
  });
  if (status === facts.status) return true;
  await requestChange(context, tx, facts.account_id, "host-names-wanted", `${facts.host_name}: ${finding.event}`);
  if (finding.event === "withdrawn") await raiseNameAlarm(context, tx, facts.identifier, facts.host_name);
  return true;
}

async function takeFromHolder(context: Context, tx: Transaction, facts: Facts, { provenBy }: Finding): Promise<void> {
  const now = context.clock.now();
  const next = new Date(now.getTime() + backoffMs(1, waiting, context.random));
  const reason = "Another hosting account has proven that the name is its owner's.";
  const [taken] = await tx.query(withdrawProof, { id: facts.holder_id, reason, now, next });
  if (!taken) return;
  await requestChange(context, tx, taken.account_id, "host-names-wanted", `${facts.host_name}: lost`);
  const isSurprising = provenBy === "portfolio" || (facts.holder_proven_by === "identifier" && !facts.holder_is_own);
  if (isSurprising) await raiseNameAlarm(context, tx, facts.holder_identifier ?? "", facts.host_name);
}

/** The account's owner may ask the operator why the site is no longer served there. */
async function raiseNameAlarm(context: Context, tx: Transaction, identifier: string, hostName: string): Promise<void> {
  const note = `the site of ${identifier} is no longer served there: the name belongs to somebody else now`;
  await raiseAlarm(context, { kind: "host-name", subject: hostName, note }, tx);
}

function countMisses(status: HostNameStatus, { misses }: Facts, { event }: Finding): number {
  return status === "Waiting" && (event === "missing" || event === "unanswered") ? misses + 1 : 0;
}

/** When no name server answers, the record neither goes missing nor comes back. */
function missingSince({ missing_since: since }: Facts, { event }: Finding, now: Date): Date | null {
  if (event === "missing") return since ?? now;
  return event === "unanswered" ? since : null;
}

/** @returns nothing when the name is only checked on request, or when a domain at or above it is registered or deleted */
function nextCheckMs(
  { random }: Context,
  status: HostNameStatus,
  { event, provenBy }: Finding,
  misses: number,
): number | undefined {
  // Triggers notice changes of portfolios and identifiers.
  if (status === "Proven") return provenBy && provenBy !== "dns" ? undefined : backoffMs(1, proven, random);
  if (event === "withdrawn" || misses >= checksMax) return undefined;
  return backoffMs(Math.max(1, misses), waiting, random);
}

/** SQL, about a row of host_names: its longest wait for the next check. */
export const longestHostNameWait = `CASE status
  WHEN 'Proven' THEN interval '${proven.maxMs} ms' ELSE interval '${waiting.maxMs} ms' END`;
