/** Two hosting nodes, and accounts that move between them. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { getMove } from "#hosting/moves/manage.ts";
import { startMove } from "#hosting/moves/move.ts";
import { sleep, systemClock } from "#lib/clock.ts";
import { startTestNode, type TestNode } from "#nodes/test-embedded-node.ts";
import type { Scope } from "../harness/database.ts";
import type { TestGateway } from "../harness/gateway.ts";
import { readPage, upload } from "../harness/site.ts";
import { runSql } from "../harness/sql.ts";
import { type HostingStage, password, startHostingStage } from "./stage.ts";

/** A move copies every file, so it may take longer than other conditions. */
const patienceMs = 90_000;
const pollMs = 25;

export interface MoveStage extends HostingStage {
  /** The node `embedded` is behind the stage's relays, the node `second` is not. */
  second: TestNode;
  /** A Ready account on the node `embedded`, with a page. Returns its row's id. */
  createOnFirst(identifier: string): Promise<number>;
  move(identifier: string, to: string, graceSeconds?: number): Promise<number>;
  /** Waits until the move is in one of these states. */
  comes(moveId: number, ...states: string[]): Promise<Awaited<ReturnType<typeof getMove>>>;
}

export async function startMoveStage(scope: Scope, options: { worker?: boolean } = {}): Promise<MoveStage> {
  const stage = await startHostingStage(scope, { ...options, diskBytesMax: 50_000_000 });
  const second = await startTestNode();
  scope.after(() => second.close());
  const { context, databaseUrl } = stage.gateway;
  const setDraining = (sql: string) => runSql(databaseUrl, `UPDATE hosting_nodes SET is_draining = ${sql}`);
  await stage.gateway.addNode(second, { id: "second" });
  return {
    ...stage,
    second,
    async createOnFirst(identifier) {
      await setDraining("id <> 'embedded'");
      const id = await stage.create(identifier);
      assert.equal((await stage.settled(identifier)).status, "Ready");
      await setDraining("false");
      await upload(ftpOf(stage.node), identifier, password, "/www/index.html", identifier);
      return id;
    },
    async move(identifier, to, graceSeconds = 3_600) {
      return (await startMove(context, { identifier, to, graceSeconds })).moveId;
    },
    comes: (moveId, ...states) => comes(context, moveId, ...states),
  };
}

/** Waits until the move is in one of these states. */
export async function comes(context: TestGateway["context"], moveId: number, ...states: string[]) {
  const deadlineMs = systemClock.monotonicMs() + patienceMs;
  for (;;) {
    const move = await getMove(context, moveId);
    if (states.includes(move.state)) return move;
    if (systemClock.monotonicMs() > deadlineMs) throw new Error(`the move is still ${move.state}: ${move.note}`);
    await sleep(pollMs);
  }
}

export const ftpOf = (node: TestNode) => ({ host: "127.0.0.1", port: node.ports.ftpPort });

export function pageOf(node: TestNode, identifier: string, path = "/index.html") {
  return readPage({ host: "127.0.0.1", port: node.ports.webPort }, `${identifier}.localhost`, path);
}

/** The content of an account's site on a node: paths with digests; folders end with a slash. */
export async function filesOf({ dataDir }: TestNode, uid: number): Promise<string[]> {
  const root = join(dataDir, "homes", String(uid), "www");
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const described = entries.map(async (entry) => {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(root.length);
    if (entry.isDirectory()) return `${name}/`;
    return `${name} ${createHash("sha256")
      .update(await readFile(path))
      .digest("hex")}`;
  });
  return (await Promise.all(described)).sort();
}

/** Each node's committed bytes and count match its accounts and live moves. */
export async function assertRoomIsKept(databaseUrl: string): Promise<void> {
  const rows = await runSql<{ id: string; kept: string; held: string }>(
    databaseUrl,
    `SELECT id, committed_bytes || ' of ' || accounts_count AS kept, coalesce(sum(bytes), 0) || ' of ' || count(bytes) AS held
     FROM hosting_nodes LEFT JOIN (
       SELECT node_id, disk_quota_bytes AS bytes FROM hosting_accounts
       WHERE status IN ('Provisioning', 'Ready', 'Suspended')
       UNION ALL
       SELECT CASE WHEN switched_at IS NULL THEN target_node_id ELSE source_node_id END, reserved_bytes FROM hosting_moves
       WHERE ended_at IS NULL) AS holding ON node_id = hosting_nodes.id
     GROUP BY id ORDER BY id`,
  );
  assert.deepEqual(
    rows.map(({ id, kept }) => `${id}: ${kept}`),
    rows.map(({ id, held }) => `${id}: ${held}`),
  );
}
