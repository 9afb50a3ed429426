/**
 * A gateway with a real hosting node, a reseller and a service pack. The node's FTP and web ports, and the way of its agent to
 * the gateway (`control`), can be taken away one by one.
 */
import assert from "node:assert/strict";
import { statement } from "#db/statement.ts";
import { advanceAccount } from "#hosting/accounts/advance.ts";
import { openHostingNodes } from "#hosting/drivers/open.ts";
import { sleep, systemClock } from "#lib/clock.ts";
import { startTestNode, type TestNode } from "#nodes/test-embedded-node.ts";
import type { Scope } from "../harness/database.ts";
import { type GatewayOptions, startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { type Relay, startRelay } from "./relay.ts";

export const password = "Correct-horse-9-battery";

/** The time-out of a condition, on a busy machine. */
const patienceMs = 60_000;
const pollMs = 25;

export interface Account {
  identifier: string;
  status: string;
  ftp: { host: string; port: number; username: string };
  web: { url: string };
  disk_quota_bytes: number;
  disk_used_bytes: number;
  files_used: number;
  changes_pending: boolean;
  removal_requested_at?: string;
  error_text?: string;
}

export interface HostingStage {
  gateway: TestGateway;
  node: TestNode;
  control: Relay;
  ftp: Relay;
  web: Relay;
  reseller: TestReseller;
  packId: string;
  /** POSTs an account, which must be accepted. @returns its row's id */
  create(identifier: string, owner?: TestReseller): Promise<number>;
  /** Creates an account and runs its step, after which it must be ready: for tests without a worker. @returns its row's id */
  ready(identifier: string): Promise<number>;
  read(identifier: string, owner?: TestReseller): Promise<Account>;
  /** Waits until it is created or given up. */
  settled(identifier: string, owner?: TestReseller): Promise<Account>;
  /** Runs the account's step now, in this process: for tests that control the clock and have no worker. */
  advance(accountId: number): Promise<void>;
  /** An owner's request under `/hostingaccounts/<identifier>`, which must be accepted. */
  ask(method: "PUT" | "DELETE", path: string, body?: object, owner?: TestReseller): Promise<void>;
  /** The events of its history, without repetitions in a row. */
  story(accountId: number): Promise<string[]>;
  /** The parts of the account's row that the worker reads, and its alarm. */
  inside(accountId: number): Promise<Inside>;
  /** The agent of the node `embedded` cannot reach the gateway, and has been silent for so long that nobody waits for it. */
  agentLeaves(): Promise<void>;
  /** All agents reach the gateway, and have asked for their nodes' states since. Tests that skip hours need it too. */
  agentReturns(): Promise<void>;
  /** The node's process ends and comes back on other ports, behind the same relays. */
  restartNode(): Promise<void>;
}

const inside = statement(
  "test-hosting-inside",
  `SELECT uid, next_step_at, wanted_version, applied_version,
     (SELECT note FROM alarms WHERE kind = 'hosting' AND subject = identifier AND resolved_at IS NULL) AS alarm
   FROM hosting_accounts WHERE id = $id`,
  { uid: "int8", next_step_at: "timestamptz?", wanted_version: "int8", applied_version: "int8", alarm: "text?" },
);
type Inside = NonNullable<(typeof inside)["row"]>;

const history = statement(
  "test-hosting-history",
  "SELECT event FROM hosting_history WHERE account_id = $id ORDER BY id",
  { event: "text" },
);
const accountId = statement(
  "test-hosting-account-id",
  "SELECT max(id) AS id FROM hosting_accounts WHERE identifier = $identifier AND reseller_id = $owner",
  { id: "int8?" },
);

const silence = statement(
  "test-hosting-agent-silent",
  "UPDATE node_channels SET last_seen_at = $now::timestamptz - interval '2 minutes' WHERE node_id = 'embedded'",
  {},
);
const readSyncs = statement(
  "test-hosting-agent-syncs",
  "SELECT node_id, sync_counter FROM node_channels WHERE public_key IS NOT NULL",
  { node_id: "text", sync_counter: "int8" },
);

export async function startHostingStage(
  scope: Scope,
  options: GatewayOptions & { diskBytesMax?: number } = {},
): Promise<HostingStage> {
  const nowhere = 1;
  const relays = await Promise.all([startRelay(nowhere), startRelay(nowhere), startRelay(nowhere)]);
  const [control, ftp, web] = relays;
  const ports = { ftpPort: ftp.port, webPort: web.port };
  const node = await startTestNode({ probedAt: () => ports });
  const leadToNode = () => {
    ftp.join(node.ports.ftpPort);
    web.join(node.ports.webPort);
  };
  leadToNode();
  const gateway = await startTestGateway(scope, options);
  // The gateway's own hook was added earlier, and ends the worker first.
  scope.after(async () => {
    await Promise.all(relays.map((relay) => relay.close()));
    await node.close();
  });
  const reseller = await gateway.addReseller();
  const packId = await gateway.addPack({ diskBytesMax: options.diskBytesMax ?? 100_000 });
  const { context } = gateway;
  if (options.node ?? true) {
    control.join(await gateway.agentsPort());
    await gateway.addNode(node, { ports, agentsPort: control.port });
  }
  const nodes = await openHostingNodes(context);
  scope.after(() => nodes.close());
  let hasLeft = false;
  const stage: HostingStage = {
    gateway,
    node,
    control,
    ftp,
    web,
    reseller,
    packId,
    async create(identifier, owner = reseller) {
      const body = { servicepack_id: packId, identifier, password };
      const reply = await gateway.send(owner, "POST", "/v1/hostingaccounts", { body });
      assert.equal(reply.status, 202, reply.text);
      const [row] = await context.database.query(accountId, { identifier, owner: owner.id });
      return row?.id ?? assert.fail("the account is not stored");
    },
    async ready(identifier) {
      const id = await stage.create(identifier);
      await stage.advance(id);
      assert.equal((await stage.read(identifier)).status, "Ready");
      return id;
    },
    async read(identifier, owner = reseller) {
      const reply = await gateway.send(owner, "GET", `/v1/hostingaccounts/${identifier}`);
      assert.equal(reply.status, 200, reply.text);
      return reply.body as Account;
    },
    settled: async (identifier, owner = reseller) =>
      (await gateway.settled(owner, `/v1/hostingaccounts/${identifier}`)) as unknown as Account,
    advance: (id) => advanceAccount(context, nodes, id),
    async ask(method, path, body, owner = reseller) {
      const reply = await gateway.send(owner, method, `/v1/hostingaccounts/${path}`, { body });
      assert.equal(reply.status, 202, reply.text);
    },
    async story(id) {
      const events = (await context.database.query(history, { id })).map(({ event }) => event);
      return events.filter((event, index) => event !== events[index - 1]);
    },
    async inside(id) {
      const [row] = await context.database.query(inside, { id });
      return row ?? assert.fail("there is no such account");
    },
    async agentLeaves() {
      control.cut();
      hasLeft = true;
      await context.database.query(silence, { now: context.clock.now() });
    },
    async agentReturns() {
      // A request that was cut may have been recorded after the silence began.
      if (hasLeft) await context.database.query(silence, { now: context.clock.now() });
      hasLeft = false;
      const before = await context.database.query(readSyncs, {});
      control.join();
      await gateway.reconnectAgents();
      for (const { node_id, sync_counter } of before) {
        await eventually("its agent asks", async () => {
          const now = await context.database.query(readSyncs, {});
          return now.some((channel) => channel.node_id === node_id && channel.sync_counter > sync_counter);
        });
        // What the gateway does because an agent is back is done before it sends the agent a question.
        await (await nodes.find(node_id))?.find("nobody.example");
      }
    },
    async restartNode() {
      for (const relay of relays) relay.cut();
      await node.restart();
      leadToNode();
      control.join();
    },
  };
  return stage;
}

/** Repeats until the result is not undefined or false. */
export async function eventually<Value>(what: string, ask: () => Promise<Value | undefined | false>): Promise<Value> {
  const deadlineMs = systemClock.monotonicMs() + patienceMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (systemClock.monotonicMs() > deadlineMs) throw new Error(`it never came that ${what}`);
    await sleep(pollMs);
  }
}
