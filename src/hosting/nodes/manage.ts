/** The operator's side of hosting nodes. */
import { statement } from "#db/statement.ts";
import { changeNodeSettings, hasAgent, type NodeRoom } from "#hosting/nodes/nodes.ts";
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
   WHERE $1::text IS NULL OR id = $1 ORDER BY id`,
  {
    id: "text",
    kind: "text",
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
  return database.query(nodeReport, [null]);
}

/** @throws OperatorError */
export async function getNode({ database }: Pick<OperatorContext, "database">, id: string) {
  const [node] = await database.query(nodeReport, [id]);
  if (!node) throw unknownNode(id);
  return node;
}

function unknownNode(id: string): OperatorError {
  return new OperatorError("not-found", `there is no hosting node ${id}: deedhouse node list shows those that are`);
}

// What is left out stays as it is.
const updateNode = statement(
  "hosting-node-set",
  `UPDATE hosting_nodes SET capacity_bytes = coalesce($2, capacity_bytes), accounts_max = coalesce($3, accounts_max),
     tags = coalesce($4::text[], tags), is_draining = coalesce($5, is_draining), ftp_host = coalesce($6, ftp_host),
     ftp_port = coalesce($7, ftp_port), web_host = coalesce($8, web_host), web_port = coalesce($9, web_port),
     web_is_https = coalesce($10, web_is_https), updated_at = $11
   WHERE id = $1 RETURNING id`,
  { id: "text" },
);

export interface NodeChange extends Partial<NodeRoom> {
  isDraining?: boolean;
  ftp?: { host: string; port: number };
  web?: { host: string; port: number };
  isHttps?: boolean;
  /** How its driver reaches it: null takes a setting away. */
  settings?: Readonly<Record<string, string | null>>;
}

/**
 * What is changed holds for the next placement; accounts that wait for room try at once.
 * @throws OperatorError
 */
export async function setNode(context: OperatorContext, id: string, change: NodeChange): Promise<void> {
  const { database, clock } = context;
  const { capacityBytes, accountsMax, tags, isDraining, ftp, web, isHttps, settings } = change;
  await database.transaction(async (tx) => {
    const [updated] = await tx.query(updateNode, [
      ...[id, capacityBytes ?? null, accountsMax ?? null, tags ?? null, isDraining ?? null],
      ...[ftp?.host ?? null, ftp?.port ?? null, web?.host ?? null, web?.port ?? null, isHttps ?? null, clock.now()],
    ]);
    if (!updated) throw unknownNode(id);
    if (settings) await changeNodeSettings(context, tx, id, settings);
    await wakeUnplaced(tx);
  });
}

const lockNode = statement("hosting-node-lock", "SELECT id FROM hosting_nodes WHERE id = $1 FOR UPDATE", {
  id: "text",
});

const nodeHolds = statement(
  "hosting-node-holds",
  `SELECT (SELECT count(*) FROM hosting_accounts WHERE node_id = $1 AND status NOT IN ('Failed', 'Removed')) AS accounts,
     (SELECT count(*) FROM hosting_moves WHERE ended_at IS NULL AND $1 IN (source_node_id, target_node_id)) AS moves`,
  { accounts: "int8", moves: "int8" },
);

const deleteNode = statement("hosting-node-delete", "DELETE FROM hosting_nodes WHERE id = $1", {});

/** Forgets a node that holds no account. The machine is left as it is. @throws OperatorError */
export async function removeNode({ database }: OperatorContext, id: string): Promise<void> {
  await database.transaction(async (tx) => {
    // Whoever places or moves an account here needs this lock too.
    if ((await tx.query(lockNode, [id])).length === 0) throw unknownNode(id);
    const [holds] = await tx.query(nodeHolds, [id]);
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
    await tx.query(deleteNode, [id]);
  });
}
