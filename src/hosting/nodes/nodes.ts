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

/** The context that a node's settings are sealed for: they open in no other row. */
const settingsRow = (nodeId: string) => `hosting_nodes.settings/${nodeId}`;

/** What a driver needs to reach its node; the fields depend on the kind. */
export type NodeSettings = Readonly<Record<string, string>>;

/** Where customers find a node, and how the gateway reaches it. */
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

// A new row begins with the room that accounts and live moves hold there: only the node's row may have been lost.
const saveNode = statement(
  "hosting-node-save",
  `INSERT INTO hosting_nodes (id, kind, ftp_host, ftp_port, web_host, web_port, web_is_https, settings_sealed,
     capacity_bytes, accounts_max, tags, committed_bytes, accounts_count, created_at, updated_at)
   SELECT $node_id, $kind, $ftp_host, $ftp_port, $web_host, $web_port, $web_is_https, $settings_sealed,
     $capacity_bytes, $accounts_max, $tags::text[], coalesce(sum(bytes), 0), count(*), $now, $now
   FROM (SELECT disk_quota_bytes AS bytes FROM hosting_accounts
         WHERE node_id = $node_id AND status NOT IN ('Failed', 'Removed')
         UNION ALL SELECT reserved_bytes FROM hosting_moves
         WHERE ended_at IS NULL AND CASE WHEN switched_at IS NULL THEN target_node_id ELSE source_node_id END = $node_id) AS held
   ON CONFLICT (id) DO UPDATE SET kind = $kind, ftp_host = $ftp_host, ftp_port = $ftp_port, web_host = $web_host,
     web_port = $web_port, web_is_https = $web_is_https, settings_sealed = $settings_sealed, updated_at = $now
     WHERE $updates_known::bool
   RETURNING id`,
  { id: "text" },
);

/**
 * Saves a node. A known one keeps its room, tags and accounts, and gets the new addresses and settings.
 * @param updatesKnown false: a known node stays as it is
 * @returns whether it was saved
 */
export async function registerNode(
  context: OperatorContext,
  { id, kind, ftp, web, settings }: NodePlace,
  { capacityBytes, accountsMax, tags }: NodeRoom,
  updatesKnown: boolean,
): Promise<boolean> {
  const sealed = context.sealer.seal(settingsRow(id), new Secret(JSON.stringify(settings)));
  const saved = await context.database.query(saveNode, {
    node_id: id,
    kind,
    ftp_host: ftp.host,
    ftp_port: ftp.port,
    web_host: web.host,
    web_port: web.port,
    web_is_https: web.isHttps,
    settings_sealed: sealed,
    capacity_bytes: capacityBytes,
    accounts_max: accountsMax,
    tags,
    now: context.clock.now(),
    updates_known: updatesKnown,
  });
  return saved.length > 0;
}

const lockSettings = statement(
  "hosting-node-settings",
  "SELECT settings_sealed FROM hosting_nodes WHERE id = $node_id FOR UPDATE",
  { settings_sealed: "bytea?" },
);

const writeSettings = statement(
  "hosting-node-settings-write",
  "UPDATE hosting_nodes SET settings_sealed = $settings_sealed WHERE id = $node_id",
  {},
);

/** @param change null removes a setting; settings that it does not name stay */
export async function changeNodeSettings(
  { sealer }: Pick<OperatorContext, "sealer">,
  tx: Pick<Transaction, "query">,
  id: string,
  change: Readonly<Record<string, string | null>>,
): Promise<void> {
  const [node] = await tx.query(lockSettings, { node_id: id });
  const changed = { ...openSettings(sealer, id, node?.settings_sealed ?? null), ...change };
  const kept = Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== null));
  const settings_sealed = sealer.seal(settingsRow(id), new Secret(JSON.stringify(kept)));
  await tx.query(writeSettings, { node_id: id, settings_sealed });
}

function openSettings(sealer: OperatorContext["sealer"], id: string, sealed: Buffer | null): NodeSettings {
  return sealed === null ? {} : JSON.parse(sealer.open(settingsRow(id), sealed).reveal());
}

const nodePlaces = statement(
  "hosting-node-places",
  `SELECT id, kind, ftp_host, ftp_port, web_host, web_port, web_is_https, settings_sealed FROM hosting_nodes
   WHERE $node_id::text IS NULL OR id = $node_id`,
  {
    id: "text",
    kind: nodeKinds,
    ftp_host: "text",
    ftp_port: "int4",
    web_host: "text",
    web_port: "int4",
    web_is_https: "bool",
    settings_sealed: "bytea?",
  },
);

/** @param nodeId null: all nodes */
export async function readNodePlaces(
  { database, sealer }: Pick<OperatorContext, "database" | "sealer">,
  nodeId: string | null,
): Promise<NodePlace[]> {
  return (await database.query(nodePlaces, { node_id: nodeId })).map((row) => ({
    id: row.id,
    kind: row.kind,
    ftp: { host: row.ftp_host, port: row.ftp_port },
    web: { host: row.web_host, port: row.web_port, isHttps: row.web_is_https },
    settings: openSettings(sealer, row.id, row.settings_sealed),
  }));
}
