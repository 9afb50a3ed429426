/** Hosting nodes in the database: where each is found, and what it can hold. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { Secret } from "#lib/secret.ts";
import { panelFtpUsername } from "#nodes/cpanel/names.ts";
import type { Endpoint } from "#nodes/driver.ts";
import type { OperatorContext } from "#resellers/create.ts";

export const nodeKinds = ["embedded", "proftpd-nginx", "cpanel"] as const;
export type NodeKind = (typeof nodeKinds)[number];

/** SQL: a node that is reached through its agent. */
export const hasAgent = "kind <> 'cpanel'";

/** The user name with which a customer logs in to the FTP server of such a node. */
export function ftpUsername(kind: NodeKind | null, identifier: string, siteDomain: string): string {
  return kind === "cpanel" ? panelFtpUsername(identifier, siteDomain) : identifier;
}

/** What a node's settings are sealed for: they open in no other row. */
const settingsRow = (nodeId: string) => `hosting_nodes.settings/${nodeId}`;

/** What a driver must know to reach its node: a JSON object whose fields are the kind's own. */
export type NodeSettings = Readonly<Record<string, string>>;

/** Where customers find a node, and how we reach it. */
export interface NodePlace {
  id: string;
  kind: NodeKind;
  ftp: Endpoint;
  web: Endpoint & { isHttps: boolean };
  settings: NodeSettings;
}

export interface NodeRoom {
  capacityBytes: number;
  accountsMax: number;
  tags: readonly string[];
}

// A node that comes anew holds what its accounts and the live moves need there: its row may have been lost, they not.
const saveNode = statement(
  "hosting-node-save",
  `INSERT INTO hosting_nodes (id, kind, ftp_host, ftp_port, web_host, web_port, web_is_https, settings_sealed,
     capacity_bytes, accounts_max, tags, committed_bytes, accounts_count, created_at, updated_at)
   SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::text[], coalesce(sum(bytes), 0), count(*), $12, $12
   FROM (SELECT disk_quota_bytes AS bytes FROM hosting_accounts
         WHERE node_id = $1 AND status NOT IN ('Failed', 'Removed')
         UNION ALL SELECT reserved_bytes FROM hosting_moves
         WHERE ended_at IS NULL AND CASE WHEN switched_at IS NULL THEN target_node_id ELSE source_node_id END = $1) AS held
   ON CONFLICT (id) DO UPDATE SET kind = $2, ftp_host = $3, ftp_port = $4, web_host = $5, web_port = $6,
     web_is_https = $7, settings_sealed = $8, updated_at = $12 WHERE $13::bool
   RETURNING id`,
  { id: "text" },
);

/**
 * Writes down a node. One that is known already keeps its room, tags and accounts, and is found elsewhere from now on.
 * @param isKnownToo whether it may be known already; if not, a known one is left as it is
 * @returns whether it was written
 */
export async function registerNode(
  context: OperatorContext,
  { id, kind, ftp, web, settings }: NodePlace,
  { capacityBytes, accountsMax, tags }: NodeRoom,
  isKnownToo: boolean,
): Promise<boolean> {
  const sealed = context.sealer.seal(settingsRow(id), new Secret(JSON.stringify(settings)));
  const saved = await context.database.query(saveNode, [
    ...[id, kind, ftp.host, ftp.port, web.host, web.port, web.isHttps, sealed],
    ...[capacityBytes, accountsMax, tags, context.clock.now(), isKnownToo],
  ]);
  return saved.length > 0;
}

const lockSettings = statement(
  "hosting-node-settings",
  "SELECT settings_sealed FROM hosting_nodes WHERE id = $1 FOR UPDATE",
  { settings_sealed: "bytea?" },
);

const writeSettings = statement(
  "hosting-node-settings-write",
  "UPDATE hosting_nodes SET settings_sealed = $2 WHERE id = $1",
  {},
);

/** @param change null takes a setting away; those that are not in it stay */
export async function changeNodeSettings(
  { sealer }: Pick<OperatorContext, "sealer">,
  tx: Pick<Transaction, "query">,
  id: string,
  change: Readonly<Record<string, string | null>>,
): Promise<void> {
  const [node] = await tx.query(lockSettings, [id]);
  const changed = { ...openSettings(sealer, id, node?.settings_sealed ?? null), ...change };
  const kept = Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== null));
  await tx.query(writeSettings, [id, sealer.seal(settingsRow(id), new Secret(JSON.stringify(kept)))]);
}

function openSettings(sealer: OperatorContext["sealer"], id: string, sealed: Buffer | null): NodeSettings {
  return sealed === null ? {} : JSON.parse(sealer.open(settingsRow(id), sealed).reveal());
}

const nodePlaces = statement(
  "hosting-node-places",
  `SELECT id, kind, ftp_host, ftp_port, web_host, web_port, web_is_https, settings_sealed FROM hosting_nodes
   WHERE $1::text IS NULL OR id = $1`,
  {
    id: "text",
    kind: "text",
    ftp_host: "text",
    ftp_port: "int4",
    web_host: "text",
    web_port: "int4",
    web_is_https: "bool",
    settings_sealed: "bytea?",
  },
);

/** @param nodeId all of them with null */
export async function readNodePlaces(
  { database, sealer }: Pick<OperatorContext, "database" | "sealer">,
  nodeId: string | null,
): Promise<NodePlace[]> {
  return (await database.query(nodePlaces, [nodeId])).map((row) => ({
    id: row.id,
    kind: row.kind as NodeKind,
    ftp: { host: row.ftp_host, port: row.ftp_port },
    web: { host: row.web_host, port: row.web_port, isHttps: row.web_is_https },
    settings: openSettings(sealer, row.id, row.settings_sealed),
  }));
}
