/**
 * Compares a node with its desired state. Both change during the comparison, so the database is read before and after the node:
 * only a difference from both, of an account that has not changed in between, is a finding.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { ftpIsOpen, isToBeSuspended, provenHostNames } from "#hosting/accounts/accounts.ts";
import { allCapabilities, type Capabilities, type HostingNode, type NodeAccount } from "#nodes/driver.ts";

/**
 * `stray`: on the node, but not in the database. `missing`: in the database, but not on the node. `different`: in both, with other
 * limits, another uid or another state.
 */
export type FindingKind = "stray" | "missing" | "different";

export interface Finding {
  kind: FindingKind;
  identifier: string;
  uid: number;
  note: string;
  /** Of a stray: whether this database has assigned its uid. After a restore, it has not assigned those that were lost. */
  isOurs?: boolean;
  /** Of a stray that an operator named: it was removed. */
  isRemoved?: boolean;
}

export type NamedStray = Pick<Finding, "identifier" | "uid">;

const expectedOn = statement(
  "hosting-reconcile-expected",
  `SELECT account.id, account.identifier, uid, account.disk_quota_bytes, account.files_max, account.ftp_sessions_max,
     ${ftpIsOpen} AND NOT is_frozen AS ftp_is_open, ${isToBeSuspended} AS is_suspended, wanted_version,
     status <> 'Provisioning' AND applied_version = wanted_version AS is_settled, ${provenHostNames} AS host_names
   FROM hosting_accounts AS account JOIN service_packs AS pack
     ON pack.id = servicepack_id AND pack.version = servicepack_version
   WHERE node_id = $node_id AND status IN ('Provisioning', 'Ready', 'Suspended')`,
  {
    id: "int8",
    identifier: "text",
    uid: "int8",
    disk_quota_bytes: "int8",
    files_max: "int4",
    ftp_sessions_max: "int4",
    ftp_is_open: "bool?",
    is_suspended: "bool",
    wanted_version: "int8",
    is_settled: "bool?",
    host_names: "text[]",
  },
);
type Expected = NonNullable<(typeof expectedOn)["row"]>;

// Copies of moves: one that is being made, or one that stays for the grace time.
const movingCopies = statement(
  "hosting-reconcile-passing",
  `SELECT CASE WHEN source_node_id = $node_id THEN source_uid ELSE target_uid END AS uid
   FROM hosting_moves WHERE ended_at IS NULL AND $node_id IN (source_node_id, target_node_id)`,
  { uid: "int8" },
);

const assignedUids = statement(
  "hosting-reconcile-given-out",
  `SELECT uid FROM unnest($uids::int8[]) AS given (uid)
   WHERE EXISTS (SELECT FROM hosting_accounts WHERE hosting_accounts.uid = given.uid)
     OR EXISTS (SELECT FROM hosting_moves WHERE source_uid = given.uid)
     OR EXISTS (SELECT FROM hosting_moves WHERE target_uid = given.uid)`,
  { uid: "int8?" },
);

interface Expectation {
  accounts: Map<number, Expected>;
  movingUids: Set<number>;
}

async function readExpected({ database }: Pick<Context, "database">, nodeId: string): Promise<Expectation> {
  const [accounts, moving] = [
    await database.query(expectedOn, { node_id: nodeId }),
    await database.query(movingCopies, { node_id: nodeId }),
  ];
  return {
    accounts: new Map(accounts.map((account) => [account.uid, account])),
    movingUids: new Set(moving.map(({ uid }) => uid)),
  };
}

/** @throws NodeUnavailable, NodeRefused when the node does not list its accounts */
export async function compareNode(
  context: Pick<Context, "database">,
  node: HostingNode,
  nodeId: string,
): Promise<{ findings: Finding[]; accountIds: number[] }> {
  const before = await readExpected(context, nodeId);
  const there = await node.list();
  const after = await readExpected(context, nodeId);
  const findings: Finding[] = [];
  const accountIds: number[] = [];
  const isKnown = (uid: number) =>
    [before, after].some((expected) => expected.accounts.has(uid) || expected.movingUids.has(uid));
  for (const { identifier, uid } of there) {
    if (!isKnown(uid))
      findings.push({ kind: "stray", identifier, uid, note: "the database has no such account there" });
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
  if (!found) return { kind: "missing", identifier, uid, note: "the node has no account with this identifier and uid" };
  const differences = differencesOf(account, found, can);
  return differences.length === 0 ? undefined : { kind: "different", identifier, uid, note: differences.join(", ") };
}

const namesOf = (hostNames: readonly string[]) => hostNames.toSorted().join(" ");

/** Compares only what this kind of node shows. */
function differencesOf(account: Expected, found: NodeAccount, can: Capabilities): string[] {
  const disk = Math.ceil(account.disk_quota_bytes / can.diskUnitBytes) * can.diskUnitBytes;
  const pairs: [name: string, expected: unknown, found: unknown, isShown?: boolean][] = [
    ["identifier", account.identifier, found.identifier],
    ["disk quota", disk, found.diskBytesMax],
    ["files", account.files_max, found.filesMax, can.limitsFilesAndSessions],
    ["FTP sessions", account.ftp_sessions_max, found.sessionsMax, can.limitsFilesAndSessions],
    ["FTP", account.ftp_is_open, found.ftpEnabled, can.showsFtp],
    ["suspended", account.is_suspended, found.suspended],
    ["host names", namesOf(account.host_names), namesOf(found.hostNames), can.hostNames],
  ];
  return pairs
    .filter(([, expected, is, isShown = true]) => isShown && expected !== is)
    .map(([name, expected, is]) => `${name}: ${is}, not ${expected}`);
}

async function markOurs({ database }: Pick<Context, "database">, findings: Finding[]): Promise<Finding[]> {
  const strayUids = findings.filter(({ kind }) => kind === "stray").map(({ uid }) => uid);
  if (strayUids.length === 0) return findings;
  const ours = new Set((await database.query(assignedUids, { uids: strayUids })).map(({ uid }) => uid));
  return findings.map((finding) =>
    finding.kind === "stray" ? { ...finding, isOurs: ours.has(finding.uid) } : finding,
  );
}
