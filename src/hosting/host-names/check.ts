/**
 * Looks whether a host name is its account's. Whose portfolio it is in comes before what the DNS says, and is found out at
 * once, by the task `host-name`; for the DNS a name waits for its turn (questions.ts). Every look can be repeated,
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
import { type HostNameEvent, type HostNameStatus, nextHostNameStatus } from "#hosting/host-names/states.ts";
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
     host.misses, host.missing_since, host.checked_at, held.in_own, held.in_anothers, holder.id AS holder_id,
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
   WHERE host.id = $1`,
  {
    id: "int8",
    host_name: "text",
    account_id: "int8",
    identifier: "text",
    proof: "text",
    status: "text",
    proven_by: "text?",
    misses: "int4",
    missing_since: "timestamptz?",
    checked_at: "timestamptz?",
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
  "SELECT await_domains_of(host_name)::text AS done FROM host_names WHERE id = $1",
  { done: "text" },
);

// Before their names' rows, as everywhere else.
const lockAccounts = statement(
  "host-name-accounts-lock",
  "SELECT id FROM hosting_accounts WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE",
  { id: "int8" },
);

// Somebody else may have looked since.
const lockAsFound = statement(
  "host-name-lock-as-found",
  "SELECT id FROM host_names WHERE id = $1 AND status = $2 AND checked_at IS NOT DISTINCT FROM $3 FOR UPDATE",
  { id: "int8" },
);

const writeFinding = statement(
  "host-name-finding",
  `UPDATE host_names SET status = $2, proven_by = $3, reason = $4, misses = $5, missing_since = $6, checked_at = $7,
     next_check_at = $8 WHERE id = $1`,
  {},
);

const takeAway = statement(
  "host-name-take-away",
  `UPDATE host_names SET status = 'Waiting', proven_by = NULL, reason = $2, misses = 0, missing_since = NULL,
     checked_at = $3, next_check_at = $4
   WHERE id = $1 AND status = 'Proven' RETURNING account_id`,
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

/** The task `host-name`. */
export async function lookAtHostName(context: Context, hostNameId: number): Promise<void> {
  if (!(await checkHostName(context, hostNameId, undefined))) await askNameServers(context, hostNameId);
}

/**
 * @param lookup never asked about names in somebody's portfolio
 * @returns false when only the name servers can tell, and there is no lookup to ask them by
 */
export async function checkHostName(
  context: Context,
  hostNameId: number,
  lookup: TxtLookup | undefined,
): Promise<boolean> {
  for (;;) {
    await context.database.query(awaitDomains, [hostNameId]);
    const [facts] = await context.database.query(factsOf, [hostNameId]);
    if (!facts) return true;
    const finding = lookHere(context, facts) ?? (lookup && (await askAbout(context, lookup, facts)));
    if (!finding) return false;
    if (await isRecorded(context, facts, finding)) return true;
    // What somebody else has written down meanwhile may be older than what this look was asked for.
  }
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
  const status = nextHostNameStatus(facts.status as HostNameStatus, finding.event);
  if (!status) throw new Error(`a host name that is ${facts.status} has no transition for ${finding.event}`);
  await tx.query(lockAccounts, [[facts.account_id, facts.holder_account_id ?? 0]]);
  const [unchanged] = await tx.query(lockAsFound, [facts.id, facts.status, facts.checked_at]);
  if (!unchanged) return false;
  if (finding.replaces && facts.holder_id !== null) await takeFromHolder(context, tx, facts, finding);
  const misses = countMisses(status, facts, finding);
  const missingSince = status === "Proven" ? missingSinceOf(facts, finding, now) : null;
  const delayMs = nextLookMs(context, status, finding, misses);
  await tx.query(writeFinding, [
    ...[
      facts.id,
      status,
      status === "Proven" ? (finding.provenBy ?? facts.proven_by) : null,
      finding.reason ?? null,
      misses,
    ],
    ...[missingSince, now, delayMs === undefined ? null : new Date(now.getTime() + delayMs)],
  ]);
  if (status === facts.status) return true;
  await changeAccount(context, tx, facts.account_id, wish(facts.host_name, finding.event));
  if (finding.event === "withdrawn") await tellOperator(context, tx, facts.identifier, facts.host_name);
  return true;
}

async function takeFromHolder(context: Context, tx: Transaction, facts: Facts, { provenBy }: Finding): Promise<void> {
  const now = context.clock.now();
  const next = new Date(now.getTime() + backoffMs(1, waiting, context.random));
  const reason = "Another hosting account has shown that the name is its owner's.";
  const [taken] = await tx.query(takeAway, [facts.holder_id, reason, now, next]);
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

/** SQL: a time further away was written by a clock that was put forward and back, and is due now. */
const longestWait = `CASE status WHEN 'Proven' THEN interval '${proven.maxMs} ms' ELSE interval '${waiting.maxMs} ms' END`;

const lookAtDue = statement(
  "host-names-look-at-due",
  `SELECT host_names_look(array_agg(id))::text AS looked FROM (
     SELECT id FROM host_names WHERE (next_check_at <= $1 OR next_check_at > $1::timestamptz + ${longestWait})
       AND NOT EXISTS (SELECT FROM host_name_questions WHERE host_name_id = host_names.id)
     ORDER BY next_check_at LIMIT $2) AS due`,
  { looked: "text" },
);

const dueMax = 1_000;

/** Enqueues the looks whose time has come, the oldest first; of those that are more, the next minute takes care. */
export async function lookAtDueHostNames({ database, clock }: Context): Promise<void> {
  await database.query(lookAtDue, [clock.now(), dueMax]);
}
