/**
 * Holds what a node has against what it shall have. Both change while one looks, so the database is read before and after
 * the node: only what is wrong against both, of an account that has not changed between them, is wrong.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { provenHostNames } from "#hosting/host-names.ts";
import type { HostingNodes } from "#hosting/nodes-open.ts";
import { enqueueProvision, enqueueReconcile } from "#jobs/enqueue.ts";
import {
  allCapabilities,
  type Capabilities,
  type HostingNode,
  type NodeAccount,
  NodeRefused,
  NodeUnavailable,
} from "#nodes/driver.ts";

/** More are counted, but not written down one by one. */
const findingsMax = 1_000;

/**
 * `stray`: on the node, and nothing here says so. `missing`: here, and not on the node. `different`: on both, with other
 * limits, uid or state.
 */
export type FindingKind = "stray" | "missing" | "different";

export interface Finding {
  kind: FindingKind;
  identifier: string;
  uid: number;
  note: string;
  /** Of a stray: whether its uid was given out here, so that it may be removed. */
  isOurs?: boolean;
}

const expectedOn = statement(
  "hosting-reconcile-expected",
  `SELECT account.id, account.identifier, uid, account.disk_quota_bytes, account.files_max, account.ftp_sessions_max,
     'ftp' = ANY (pack.features) AND NOT is_frozen AS has_ftp, suspended_at IS NOT NULL AS is_suspended, wanted_version,
     status <> 'Provisioning' AND applied_version = wanted_version AS is_settled, ${provenHostNames} AS host_names
   FROM hosting_accounts AS account JOIN service_packs AS pack
     ON pack.id = servicepack_id AND pack.version = servicepack_version
   WHERE node_id = $1 AND status IN ('Provisioning', 'Ready', 'Suspended')`,
  {
    id: "int8",
    identifier: "text",
    uid: "int8",
    disk_quota_bytes: "int8",
    files_max: "int4",
    ftp_sessions_max: "int4",
    has_ftp: "bool?",
    is_suspended: "bool",
    wanted_version: "int8",
    is_settled: "bool?",
    host_names: "text[]",
  },
);
type Expected = NonNullable<(typeof expectedOn)["row"]>;

// A copy that comes, or that is left for the grace time.
const passingThrough = statement(
  "hosting-reconcile-passing",
  `SELECT CASE WHEN source_node_id = $1 THEN source_uid ELSE target_uid END AS uid
   FROM hosting_moves WHERE ended_at IS NULL AND $1 IN (source_node_id, target_node_id)`,
  { uid: "int8" },
);

const givenOut = statement(
  "hosting-reconcile-given-out",
  `SELECT uid FROM unnest($1::int8[]) AS given (uid)
   WHERE EXISTS (SELECT FROM hosting_accounts WHERE hosting_accounts.uid = given.uid)
     OR EXISTS (SELECT FROM hosting_moves WHERE given.uid IN (source_uid, target_uid))`,
  { uid: "int8?" },
);

interface Side {
  accounts: Map<number, Expected>;
  passing: Set<number>;
}

async function readExpected({ database }: Pick<Context, "database">, nodeId: string): Promise<Side> {
  const [accounts, passing] = [
    await database.query(expectedOn, [nodeId]),
    await database.query(passingThrough, [nodeId]),
  ];
  return {
    accounts: new Map(accounts.map((account) => [account.uid, account])),
    passing: new Set(passing.map(({ uid }) => uid)),
  };
}

/** @throws NodeUnavailable, NodeRefused when the node cannot be asked */
async function compareNode(
  context: Pick<Context, "database">,
  node: HostingNode,
  nodeId: string,
): Promise<{ findings: Finding[]; accountIds: number[] }> {
  const before = await readExpected(context, nodeId);
  const there = await node.list();
  const after = await readExpected(context, nodeId);
  const findings: Finding[] = [];
  const accountIds: number[] = [];
  const isKnown = (uid: number) => [before, after].some((side) => side.accounts.has(uid) || side.passing.has(uid));
  for (const { identifier, uid } of there) {
    if (!isKnown(uid)) findings.push({ kind: "stray", identifier, uid, note: "nothing here says that it is there" });
  }
  const byUid = new Map(there.map((account) => [account.uid, account]));
  for (const account of before.accounts.values()) {
    const now = after.accounts.get(account.uid);
    if (!now?.is_settled || !account.is_settled || now.wanted_version !== account.wanted_version) continue;
    const finding = findingOf(account, byUid.get(account.uid), node.capabilities ?? allCapabilities);
    if (!finding) continue;
    findings.push(finding);
    accountIds.push(account.id);
  }
  return { findings: await markOurs(context, findings), accountIds };
}

function findingOf(account: Expected, found: NodeAccount | undefined, can: Capabilities): Finding | undefined {
  const { identifier, uid } = account;
  if (!found) return { kind: "missing", identifier, uid, note: "the node has none of this identifier and uid" };
  const differences = differencesOf(account, found, can);
  return differences.length === 0 ? undefined : { kind: "different", identifier, uid, note: differences.join(", ") };
}

const namesOf = (hostNames: readonly string[]) => hostNames.toSorted().join(" ");

/** As far as this kind of node can tell. */
function differencesOf(account: Expected, found: NodeAccount, can: Capabilities): string[] {
  const disk = Math.ceil(account.disk_quota_bytes / can.diskUnitBytes) * can.diskUnitBytes;
  const pairs: [name: string, expected: unknown, found: unknown, isShown?: boolean][] = [
    ["identifier", account.identifier, found.identifier],
    ["disk quota", disk, found.diskBytesMax],
    ["files", account.files_max, found.filesMax, can.limitsFilesAndSessions],
    ["FTP sessions", account.ftp_sessions_max, found.sessionsMax, can.limitsFilesAndSessions],
    ["FTP", account.has_ftp, found.ftpEnabled, can.showsFtp],
    ["suspended", account.is_suspended, found.suspended],
    ["host names", namesOf(account.host_names), namesOf(found.hostNames), can.hostNames],
  ];
  return pairs
    .filter(([, expected, is, isShown = true]) => isShown && expected !== is)
    .map(([name, expected, is]) => `${name}: ${is}, and not ${expected}`);
}

async function markOurs({ database }: Pick<Context, "database">, findings: Finding[]): Promise<Finding[]> {
  const strayUids = findings.filter(({ kind }) => kind === "stray").map(({ uid }) => uid);
  if (strayUids.length === 0) return findings;
  const ours = new Set((await database.query(givenOut, [strayUids])).map(({ uid }) => uid));
  return findings.map((finding) =>
    finding.kind === "stray" ? { ...finding, isOurs: ours.has(finding.uid) } : finding,
  );
}

// What was asked for before, and is not done yet, is done by the same comparison.
const isUndone = "(before.done_at >= before.wanted_at) IS NOT TRUE";
const wantReconcile = statement(
  "hosting-reconcile-want",
  `INSERT INTO hosting_reconciles AS before (node_id, wanted_at, repairs, removes_strays) VALUES ($1, $2, $3, $4)
   ON CONFLICT (node_id) DO UPDATE SET wanted_at = $2, repairs = $3 OR before.repairs AND ${isUndone},
     removes_strays = $4 OR before.removes_strays AND ${isUndone}
   RETURNING node_id`,
  { node_id: "text" },
);

const allNodes = statement("hosting-reconcile-nodes", "SELECT id FROM hosting_nodes ORDER BY id", { id: "text" });

export interface ReconcileWish {
  repairs: boolean;
  removesStrays: boolean;
}

/** Asks a worker to compare a node. */
export async function askReconcile(
  { database, clock }: Pick<Context, "database" | "clock">,
  nodeId: string,
  { repairs, removesStrays }: ReconcileWish,
): Promise<Date> {
  const wantedAt = clock.now();
  await database.transaction(async (tx) => {
    await tx.query(wantReconcile, [nodeId, wantedAt, repairs, removesStrays]);
    await enqueueReconcile(tx, nodeId);
  });
  return wantedAt;
}

/** Once a day: says what is wrong, and changes nothing. */
export async function askAllReconciles(context: Pick<Context, "database" | "clock">): Promise<void> {
  for (const { id } of await context.database.query(allNodes, [])) {
    await askReconcile(context, id, { repairs: false, removesStrays: false });
  }
}

const wish = statement(
  "hosting-reconcile-wish",
  "SELECT wanted_at, repairs, removes_strays FROM hosting_reconciles WHERE node_id = $1",
  { wanted_at: "timestamptz", repairs: "bool", removes_strays: "bool" },
);

const writeResult = statement(
  "hosting-reconcile-done",
  `UPDATE hosting_reconciles SET done_at = $3, counts = $4, findings = $5, error_text = $6
   WHERE node_id = $1 AND wanted_at = $2`,
  {},
);

/** The task `hosting-reconcile`. */
export async function reconcileNode(context: Context, nodes: HostingNodes, nodeId: string): Promise<void> {
  const { database, clock } = context;
  const [wanted] = await database.query(wish, [nodeId]);
  if (!wanted) return;
  const write = (counts: object | null, findings: Finding[] | null, error: string | null) => {
    const listed = findings && JSON.stringify(findings.slice(0, findingsMax));
    return database.query(writeResult, [nodeId, wanted.wanted_at, clock.now(), counts, listed, error]);
  };
  const node = await nodes.find(nodeId);
  if (!node) {
    await write(null, null, "the node cannot be reached from here");
    return;
  }
  try {
    const { findings, accountIds } = await compareNode(context, node, nodeId);
    const counts = countsOf(findings);
    if (wanted.repairs) for (const id of accountIds) await enqueueProvision(database, id, 0);
    if (wanted.removes_strays) await removeStrays(node, findings);
    await tell(
      context,
      nodeId,
      findings.filter((finding) => !isSeenTo(finding, wanted)),
    );
    await write(counts, findings, null);
  } catch (error) {
    if (!(error instanceof NodeUnavailable || error instanceof NodeRefused)) throw error;
    await write(null, null, error.message);
  }
}

type Counts = Record<FindingKind, number>;

function countsOf(findings: readonly Finding[]): Counts {
  const counts: Counts = { stray: 0, missing: 0, different: 0 };
  for (const { kind } of findings) counts[kind] += 1;
  return counts;
}

/** Only what was given out here and is not any more: what else is there belongs to somebody. */
async function removeStrays(node: HostingNode, findings: readonly Finding[]): Promise<void> {
  for (const { kind, isOurs, identifier, uid } of findings) {
    if (kind === "stray" && isOurs) await node.remove({ identifier, uid });
  }
}

const isSeenTo = ({ kind, isOurs = false }: Finding, wanted: { repairs: boolean; removes_strays: boolean }) =>
  kind === "stray" ? wanted.removes_strays && isOurs : wanted.repairs;

/** An alarm about what is left for a person. */
async function tell(context: Context, nodeId: string, findings: readonly Finding[]): Promise<void> {
  const alarm = { kind: "hosting-node", subject: nodeId } as const;
  if (findings.length === 0) {
    await resolveAlarm(context, alarm);
    return;
  }
  const told = Object.entries(countsOf(findings)).filter(([, count]) => count > 0);
  const what = told.map(([kind, count]) => `${count} ${kind}`).join(", ");
  const note = `the node is not as it shall be: ${what}; deedhouse node reconcile ${nodeId}`;
  await raiseAlarm(context, { ...alarm, note });
}

const lastResult = statement(
  "hosting-reconcile-result",
  `SELECT wanted_at, done_at, counts, findings, error_text FROM hosting_reconciles
   WHERE node_id = $1 AND done_at >= wanted_at AND wanted_at >= $2`,
  {
    wanted_at: "timestamptz",
    done_at: "timestamptz?",
    counts: "jsonb?",
    findings: "jsonb?",
    error_text: "text?",
  },
);

export interface ReconcileResult {
  counts: Counts;
  findings: Finding[];
}

/** What came of it, once it is done. @returns a text: why it could not be done */
export async function findResult(
  database: Pick<Transaction, "query">,
  nodeId: string,
  wantedAt: Date,
): Promise<ReconcileResult | string | undefined> {
  const [row] = await database.query(lastResult, [nodeId, wantedAt]);
  if (!row) return undefined;
  if (row.error_text !== null) return row.error_text;
  return { counts: row.counts as Counts, findings: row.findings as Finding[] };
}
