/** Compares a node with the database, reports the differences, and repairs what an operator has asked to repair. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { makeAccountDue } from "#hosting/accounts/accounts.ts";
import { compareNode, type Finding, type FindingKind, type NamedStray } from "#hosting/nodes/compare.ts";
import type { HostingNodes } from "#hosting/nodes/open.ts";
import { learnUids } from "#hosting/nodes/uids.ts";
import { type HostingNode, NodeRefused, NodeUnavailable } from "#nodes/driver.ts";

/** Further findings are counted, but not stored. */
const findingsMax = 1_000;

// One comparison also does what earlier requests asked for and no comparison has done yet.
const isUndone = "(before.done_at >= before.wanted_at) IS NOT TRUE";
const requestReconcile = statement(
  "hosting-reconcile-want",
  `INSERT INTO hosting_reconciles AS before (node_id, wanted_at, next_step_at, repairs, removes)
   VALUES ($node_id, $now, $now, $repairs, $removes::jsonb)
   ON CONFLICT (node_id) DO UPDATE SET wanted_at = $now, next_step_at = $now,
     repairs = $repairs OR before.repairs AND ${isUndone},
     removes = $removes::jsonb || CASE WHEN ${isUndone} THEN coalesce(before.removes, '[]') ELSE '[]' END
   RETURNING node_id`,
  { node_id: "text" },
);

const allNodes = statement("hosting-reconcile-nodes", "SELECT id FROM hosting_nodes ORDER BY id", { id: "text" });

export interface ReconcileRequest {
  repairs: boolean;
  /** The strays to remove: these, and none that has appeared since they were listed. */
  removes: readonly NamedStray[];
}

/** Asks a worker to compare a node. */
export async function askReconcile(
  { database, clock }: Pick<Context, "database" | "clock">,
  nodeId: string,
  { repairs, removes }: ReconcileRequest,
): Promise<Date> {
  const wantedAt = clock.now();
  const wanted = { node_id: nodeId, now: wantedAt, repairs, removes: JSON.stringify(removes) };
  await database.query(requestReconcile, wanted);
  return wantedAt;
}

/** Once a day: only reports, and repairs nothing. */
export async function askAllReconciles(context: Pick<Context, "database" | "clock">): Promise<void> {
  for (const { id } of await context.database.query(allNodes, {})) {
    await askReconcile(context, id, { repairs: false, removes: [] });
  }
}

const readRequest = statement(
  "hosting-reconcile-wish",
  "SELECT version, repairs, removes FROM hosting_reconciles WHERE node_id = $node_id",
  { version: "int8", repairs: "bool", removes: "jsonb?" },
);

const writeResult = statement(
  "hosting-reconcile-done",
  `UPDATE hosting_reconciles SET done_at = $now, counts = $counts, findings = $findings, error_text = $error,
     next_step_at = NULL
   WHERE node_id = $node_id AND version = $version`,
  {},
);

/** One step of the machine `hosting-reconciles`. */
export async function reconcileNode(context: Context, nodes: HostingNodes, nodeId: string): Promise<void> {
  const { database, clock } = context;
  const [wanted] = await database.query(readRequest, { node_id: nodeId });
  if (!wanted) return;
  const write = (counts: object | null, findings: Finding[] | null, error: string | null) => {
    const listed = findings && JSON.stringify(findings.slice(0, findingsMax));
    const result = { counts, findings: listed, error, now: clock.now() };
    return database.query(writeResult, { node_id: nodeId, version: wanted.version, ...result });
  };
  const node = await nodes.find(nodeId);
  if (!node) {
    await write(null, null, "the node cannot be reached from here");
    return;
  }
  try {
    await learnUids(context, node, nodeId);
    const compared = await compareNode(context, node, nodeId);
    const counts = countsOf(compared.findings);
    if (wanted.repairs) {
      for (const id of compared.accountIds) await makeAccountDue(context, database, id);
    }
    const findings = await removeStrays(node, compared.findings, (wanted.removes ?? []) as NamedStray[]);
    await updateAlarm(
      context,
      nodeId,
      findings.filter(({ kind, isRemoved }) => (kind === "stray" ? !isRemoved : !wanted.repairs)),
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

/** Removes only the accounts that an operator has named and that are still strays. */
async function removeStrays(
  node: HostingNode,
  findings: readonly Finding[],
  named: readonly NamedStray[],
): Promise<Finding[]> {
  const left: Finding[] = [];
  for (const finding of findings) {
    const { kind, identifier, uid } = finding;
    const isNamed = named.some((stray) => stray.identifier === identifier && stray.uid === uid);
    const isRemoved = kind === "stray" && isNamed;
    if (isRemoved) await node.remove({ identifier, uid });
    left.push(isRemoved ? { ...finding, isRemoved } : finding);
  }
  return left;
}

/** Raises an alarm while findings need a person. */
async function updateAlarm(context: Context, nodeId: string, findings: readonly Finding[]): Promise<void> {
  const alarm = { kind: "hosting-node", subject: nodeId } as const;
  if (findings.length === 0) {
    await resolveAlarm(context, alarm);
    return;
  }
  const counts = Object.entries(countsOf(findings)).filter(([, count]) => count > 0);
  const what = counts.map(([kind, count]) => `${count} ${kind}`).join(", ");
  const note = `the node differs from the database: ${what}; deedhouse node reconcile ${nodeId}`;
  await raiseAlarm(context, { ...alarm, note });
}

const lastResult = statement(
  "hosting-reconcile-result",
  `SELECT wanted_at, done_at, counts, findings, error_text FROM hosting_reconciles
   WHERE node_id = $node_id AND done_at >= wanted_at AND wanted_at >= $wanted_at`,
  {
    wanted_at: "timestamptz",
    done_at: "timestamptz?",
    counts: "jsonb?",
    findings: "jsonb?",
    error_text: "text?",
  },
);

const listedFindings = statement(
  "hosting-reconcile-listed",
  "SELECT findings FROM hosting_reconciles WHERE node_id = $node_id",
  { findings: "jsonb?" },
);

/** The findings of the last comparison, from which operators name strays. */
export async function findListed(database: Pick<Transaction, "query">, nodeId: string): Promise<Finding[]> {
  const [row] = await database.query(listedFindings, { node_id: nodeId });
  return (row?.findings ?? []) as Finding[];
}

export interface ReconcileResult {
  counts: Counts;
  findings: Finding[];
}

/** @returns undefined until the comparison is done; a text when it failed: why */
export async function findResult(
  database: Pick<Transaction, "query">,
  nodeId: string,
  wantedAt: Date,
): Promise<ReconcileResult | string | undefined> {
  const [row] = await database.query(lastResult, { node_id: nodeId, wanted_at: wantedAt });
  if (!row) return undefined;
  if (row.error_text !== null) return row.error_text;
  return { counts: row.counts as Counts, findings: row.findings as Finding[] };
}
