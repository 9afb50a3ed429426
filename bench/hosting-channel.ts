/**
 * From a worker's change to its acknowledgement by the node's agent, with many accounts on the node: database, endpoint, TLS and
 * agent are real. Once with a node that keeps accounts in memory, which leaves the cost of the channel, and, as root with the
 * servers installed, once with ProFTPD and nginx.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generate } from "selfsigned";
import type { Context } from "#context.ts";
import { createDatabase } from "#db/database.ts";
import { createListener } from "#db/listener.ts";
import { statement } from "#db/statement.ts";
import { type AgentEndpoint, startAgentEndpoint } from "#hosting/channel/agent-endpoint.ts";
import { createAgentDriver } from "#hosting/channel/driver.ts";
import { createJoinToken } from "#hosting/channel/join-token.ts";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import { createSealer } from "#lib/sealed-secret.ts";
import { Secret } from "#lib/secret.ts";
import { startAgent } from "#nodes/agent/agent.ts";
import { loadAgentConfig } from "#nodes/agent/config.ts";
import { join as joinGateway } from "#nodes/agent/join.ts";
import { memoryNode } from "#nodes/agent/test-agent-node.ts";
import { createTransport } from "#nodes/agent/transport.ts";
import type { AgentNode } from "#nodes/agent-node.ts";
import type { DesiredAccount } from "#nodes/driver.ts";
import { cannotStart, startTestProftpdNode } from "#nodes/proftpd-nginx/test-node.ts";
import { printTable, summaryCells } from "./statistics.ts";
import { withDatabase, withSystem } from "./system.ts";

/** This run's own master key, which seals the gateway's key. */
const forgetKey = statement("bench-forget-gateway", "DELETE FROM node_gateway", {});

const accountCounts = [5_000, 50_000];
const changesCount = 60;
const warmupChangesCount = 10;
const createsCount = 200;
const createsAtOnce = 20;
const firstUid = 300_000;

type Row = (string | number)[];

export async function benchHostingChannel(): Promise<void> {
  const rows: Row[] = [];
  await withSystem(async (system) => {
    for (const count of accountCounts) {
      rows.push(...(await measureNode(system, "memory", memoryNode(), count)));
      if (cannotStart) continue;
      const machine = await startTestProftpdNode();
      rows.push(...(await measureNode(system, "proftpd", machine.node, count)));
      await machine.close();
    }
  });
  printTable(["milliseconds", "median", "p95", "min", "max"], rows);
  if (cannotStart) process.stdout.write(`without ProFTPD and nginx: ${cannotStart}\n`);
}

async function measureNode(system: BenchSystem, kind: string, node: AgentNode, count: number): Promise<Row[]> {
  const nodeId = `${kind}-${count}`;
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-bench-agent-"));
  const { context, close } = openContext(system.ready.database_url);
  const made = await generate([{ name: "commonName", value: "gateway.test" }], { keyType: "ec", curve: "P-256" });
  const tls = { certificate: made.cert, key: made.private };
  let endpoint: AgentEndpoint | undefined;
  try {
    await withDatabase(system, (client) => client.query(insertNode, [nodeId]));
    endpoint = await startAgentEndpoint(context, { host: "127.0.0.1", port: 0, tls });
    const configPath = join(folder, "agent.json");
    await joinGateway((await createJoinToken(context, nodeId)).reveal(), configPath, systemClock);
    await withDatabase(system, (client) => client.query(fillNode, [nodeId, firstUid, count]));
    const config = await loadAgentConfig(configPath);
    const transport = createTransport(config.gateway);
    const agent = await startAgent({
      ...context,
      config,
      transport,
      node,
      progressFile: join(folder, "progress.json"),
    });
    const rows = await measureChanges(context, nodeId, count);
    await agent.close();
    return rows;
  } finally {
    await endpoint?.close();
    await close();
    await rm(folder, { recursive: true });
  }
}

async function measureChanges(context: Context, nodeId: string, count: number): Promise<Row[]> {
  const driver = createAgentDriver(context, nodeId, { host: "localhost", port: 21 });
  const label = (what: string) => `${nodeId}: ${what}`;
  const timed = async (work: () => Promise<unknown>) => {
    const startedMs = systemClock.monotonicMs();
    await work();
    return systemClock.monotonicMs() - startedMs;
  };
  const fillMs = await timed(async () => {
    // The first change waits behind all accounts, longer than a single wait lasts.
    while (!(await succeeds(driver.ensureAccount(accountOf(firstUid + 1)))));
  });
  const changes: number[] = [];
  for (let change = -warmupChangesCount; change < changesCount; change++) {
    const account = accountOf(firstUid + 1 + systemRandom.below(count));
    const filesMax = 1_000 + systemRandom.below(1_000);
    const ms = await timed(() => driver.ensureAccount({ ...account, filesMax }));
    if (change >= 0) changes.push(ms);
  }
  const createMs = await timed(() => Promise.all(Array.from({ length: createsAtOnce }, createSeveral)));
  async function createSeveral(_: unknown, place: number): Promise<void> {
    const each = createsCount / createsAtOnce;
    for (let made = 1; made <= each; made++)
      await driver.ensureAccount(accountOf(firstUid + count + place * each + made));
  }
  process.stdout.write(
    `${label("everything, once")}: ${(fillMs / 1_000).toFixed(1)} s; ` +
      `accounts made a second, ${createsAtOnce} at once: ${((createsCount * 1_000) / createMs).toFixed(0)}\n`,
  );
  return [[label("change -> acknowledged"), ...summaryCells(changes)]];
}

const succeeds = (work: Promise<unknown>) =>
  work.then(
    () => true,
    () => false,
  );

type BenchSystem = Parameters<Parameters<typeof withSystem>[0]>[0];

function openContext(url: string): { context: Context; close(): Promise<void> } {
  const log = createLog("bench", "silent");
  const database = createDatabase({ url, transactionsMax: 25, applicationName: "deedhouse-bench", log });
  const listener = createListener({ url, clock: systemClock, log });
  const key = { id: "bench", key: new Secret(Buffer.from(systemRandom.bytes(32))) };
  const needed = {
    database,
    listener,
    log,
    clock: systemClock,
    random: systemRandom,
    siteDomain: "localhost",
    sealer: createSealer({ keys: [key], random: systemRandom }),
  };
  const close = async () => {
    await database.query(forgetKey, []);
    await Promise.all([listener.close(), database.close()]);
  };
  return { context: needed as unknown as Context, close };
}

function accountOf(uid: number): DesiredAccount {
  return {
    identifier: `site-${uid}.example`,
    uid,
    passwordHash: undefined,
    diskBytesMax: 1_000_000,
    filesMax: 1_000,
    sessionsMax: 4,
    ftpEnabled: true,
    suspended: false,
    hostNames: [],
  };
}

const insertNode = `INSERT INTO hosting_nodes
    (id, kind, ftp_host, ftp_port, web_host, web_port, capacity_bytes, accounts_max, created_at, updated_at)
  VALUES ($1, 'proftpd-nginx', 'localhost', 21, 'localhost', 80, 0, 0, now(), now())`;
const fillNode = `WITH filled AS (INSERT INTO node_states (node_id, uid, identifier, version, state)
      SELECT $1, $2::int + n, 'site-' || $2::int + n || '.example', n, jsonb_build_object('identifier',
        'site-' || $2::int + n || '.example', 'uid', $2::int + n, 'diskBytesMax', 1000000, 'filesMax', 1000,
        'sessionsMax', 4, 'ftpEnabled', true, 'suspended', false, 'hostNames', '[]'::jsonb)
      FROM generate_series(1, $3::int) AS n)
  UPDATE node_channels SET head = $3::int WHERE node_id = $1`;
