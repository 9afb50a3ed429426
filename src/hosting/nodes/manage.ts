/** The operator's side of hosting nodes. */
import { statement } from "#db/statement.ts";
import { changeNodeSettings, hasAgent, type NodeRoom, nodeKinds } from "#hosting/nodes/nodes.ts";
import { wakeUnplaced } from "#hosting/nodes/place.ts";
import { OperatorError } from "#operator-error.ts";
import type { OperatorContext } from "#resellers/create.ts";

const nodeReport = statement(
  "operator-nodes",
  `SELECT id, kind, CASE WHEN ${hasAgent} AND channel.public_key IS NULL THEN 'waits for its machine'
     WHEN restored_at IS NOT NULL THEN 'removes nothing after a restore' WHEN is_draining THEN 'draining' ELSE 'open'
     END AS state, capacity_bytes, committed_bytes,
     coalesce(used.bytes, 0)::int8 AS used_bytes, accounts_count, accounts_max, tags, ftp_host, ftp_port, web_host, web_port,
     web_is_https, coalesce(channel.last_seen_at, hosting_nodes.last_seen_at) AS last_seen_at,
     channel.agent_version, coalesce(moving.count, 0) AS moves, created_at
   FROM hosting_nodes LEFT JOIN node_channels AS channel ON channel.node_id = hosting_nodes.id
   CROSS JOIN LATERAL (SELECT sum(disk_used_bytes) AS bytes FROM hosting_accounts
                       WHERE node_id = hosting_nodes.id AND status NOT IN ('Failed', 'Removed')) AS used
   LEFT JOIN (SELECT node_id, count(*) AS count
              FROM hosting_moves, LATERAL (VALUES (source_node_id), (target_node_id)) AS ends (node_id)
              WHERE ended_at IS NULL GROUP BY node_id) AS moving ON moving.node_id = hosting_nodes.id
   WHERE $node_id::text IS NULL OR id = $node_id ORDER BY id`,
  {
    id: "text",
    kind: nodeKinds,
    state: "text",
    capacity_bytes: "int8",
    committed_bytes: "int8",
    used_bytes: "int8",
    accounts_count: "int4",
    accounts_max: "int4",
    tags: "text[]",
    ftp_host: "text",
    ftp_port: "int4",
    web_host: "text",
    web_port: "int4",
    web_is_https: "bool",
    last_seen_at: "timestamptz?",
    agent_version: "text?",
    moves: "int8",
    created_at: "timestamptz",
  },
);

export async function listNodes({ database }: Pick<OperatorContext, "database">) {
  return database.query(nodeReport, { node_id: null });
}

/** @throws OperatorError */
export async function getNode({ database }: Pick<OperatorContext, "database">, id: string) {
  const [node] = await database.query(nodeReport, { node_id: id });
  if (!node) throw unknownNode(id);
  return node;
}

function unknownNode(id: string): OperatorError {
  return new OperatorError("not-found", `there is no hosting node ${id}: deedhouse node list shows all`);
}

// Null leaves a column as it is.
const updateNode = statement(
  "hosting-node-set",
  `UPDATE hosting_nodes SET capacity_bytes = coalesce($capacity_bytes, capacity_bytes),
     accounts_max = coalesce($accounts_max, accounts_max), tags = coalesce($tags::text[], tags),
     is_draining = coalesce($is_draining, is_draining), ftp_host = coalesce($ftp_host, ftp_host),
     ftp_port = coalesce($ftp_port, ftp_port), web_host = coalesce($web_host, web_host),
     web_port = coalesce($web_port, web_port), web_is_https = coalesce($web_is_https, web_is_https), updated_at = $now
   WHERE id = $node_id RETURNING id`,
  { id: "text" },
);

export interface NodeChange extends Partial<NodeRoom> {
  isDraining?: boolean;
  ftp?: { host: string; port: number };
  web?: { host: string; port: number };
  isHttps?: boolean;
  /** How its driver reaches it; null removes a setting. */
  settings?: Readonly<Record<string, string | null>>;
}

/** The next placement uses the new values. Accounts that wait for room retry at once. @throws OperatorError */
export async function setNode(context: OperatorContext, id: string, change: NodeChange): Promise<void> {
  const { database, clock } = context;
  const { capacityBytes, accountsMax, tags, isDraining, ftp, web, isHttps, settings } = change;
  await database.transaction(async (tx) => {
    const [updated] = await tx.query(updateNode, {
      node_id: id,
      capacity_bytes: capacityBytes ?? null,
      accounts_max: accountsMax ?? null,
      tags: tags ?? null,
      is_draining: isDraining ?? null,
      ftp_host: ftp?.host ?? null,
      ftp_port: ftp?.port ?? null,
      web_host: web?.host ?? null,
      web_port: web?.port ?? null,
      web_is_https: isHttps ?? null,
      now: clock.now(),
    });
    if (!updated) throw unknownNode(id);
    if (settings) await changeNodeSettings(context, tx, id, settings);
    await wakeUnplaced(tx);
  });
}

const lockNode = statement("hosting-node-lock", "SELECT id FROM hosting_nodes WHERE id = $node_id FOR UPDATE", {
  id: "text",
});

const nodeHolds = statement(
  "hosting-node-holds",
  `SELECT (SELECT count(*) FROM hosting_accounts WHERE node_id = $node_id AND status NOT IN ('Failed', 'Removed')) AS accounts,
     (SELECT count(*) FROM hosting_moves WHERE ended_at IS NULL AND $node_id IN (source_node_id, target_node_id)) AS moves`,
  { accounts: "int8", moves: "int8" },
);

const deleteNode = statement("hosting-node-delete", "DELETE FROM hosting_nodes WHERE id = $node_id", {});

/** Deletes a node that holds no account. Its server stays as it is. @throws OperatorError */
export async function removeNode({ database }: OperatorContext, id: string): Promise<void> {
  await database.transaction(async (tx) => {
    // Placing or moving an account here also takes this lock.
    if ((await tx.query(lockNode, { node_id: id })).length === 0) throw unknownNode(id);
    const [holds] = await tx.query(nodeHolds, { node_id: id });
    if (!holds) throw new Error("what the node holds returned no row");
    const { accounts, moves } = holds;
    if (accounts > 0) {
      const advice = `move them away first: deedhouse node drain ${id} --move`;
      throw new OperatorError("refused", `${accounts} accounts are on the hosting node ${id}: ${advice}`);
    }
    if (moves > 0) {
      const advice = "deedhouse moves list shows until when, deedhouse moves finish ends the wait";
      throw new OperatorError("refused", `${moves} moves still need the hosting node ${id}: ${advice}`);
    }
    await tx.query(deleteNode, { node_id: id });
  });
}
