/**
 * The gateway for tests: api and worker in this process on a separate database, with a real sandbox registry over EPP
 * on TLS and, on request, a real embedded hosting node.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { createReplayGuard } from "#api/replay/replay.ts";
import { type ServerOptions, startServer } from "#api/server.ts";
import type { Context } from "#context.ts";
import { createAcknowledged } from "#db/acknowledged.ts";
import { createDatabase } from "#db/database.ts";
import { createListener } from "#db/listener.ts";
import { statement } from "#db/statement.ts";
import type { HttpServer } from "#front/http-server.ts";
import { type AgentEndpoint, startAgentEndpoint } from "#hosting/channel/agent-endpoint.ts";
import { createJoinToken } from "#hosting/channel/join-token.ts";
import { type NodeRoom, registerNode } from "#hosting/nodes/nodes.ts";
import { createPack } from "#hosting/packs/manage.ts";
import { startWorker, type WorkerRole } from "#jobs/worker.ts";
import { type Clock, sleep, systemClock } from "#lib/clock.ts";
import { loadCommonPasswords } from "#lib/ftp-password.ts";
import { createLog } from "#lib/log.ts";
import { createNameLookups } from "#lib/net/name-lookups.ts";
import { createPasswordQueue } from "#lib/queues/password-queue.ts";
import { systemRandom } from "#lib/random.ts";
import { createSealer } from "#lib/sealed-secret.ts";
import { Secret } from "#lib/secret.ts";
import { registryOwnerAlive } from "#locks/owner-lock.ts";
import { startTestNode, type TestNode, type TestNodePorts } from "#nodes/test-embedded-node.ts";
import type { RegistryProfile } from "#registry/registries.ts";
import { createReseller } from "#resellers/create.ts";
import { createKey, type KeyWithSecret, type NewKey } from "#resellers/keys.ts";
import { setProfile } from "#resellers/profile.ts";
import { recordZoneSettings } from "#zones/settings.ts";
import { type SandboxRegistry, startSandboxRegistry } from "../../sandbox/registry/server.ts";
import type { Settings } from "../../sandbox/registry/settings.ts";
import { type Scope, testDatabase } from "./database.ts";
import { type DatabaseProxy, startDatabaseProxy } from "./database-proxy.ts";
import { nodePlace, nodeRoom, registrarId, registrarPassword, registryProfile } from "./profiles.ts";
import { quickFolder } from "./quick-folder.ts";
import { sharedTlsFolder } from "./shared-tls.ts";
import { type Reply, type SignedRequestOptions, sendSigned } from "./signed-request.ts";

export const masterKey = Buffer.alloc(32, "test key");
const registrars = [
  { id: registrarId, password: registrarPassword },
  { id: "rival", password: "rival-pw-1" },
];
/** Long enough for a busy machine; a test that waits this long has failed. */
const patienceMs = 60_000;

export interface GatewayOptions {
  clock?: Clock;
  /** Starts the worker, which owns the registry's sessions. Default true. */
  worker?: boolean;
  /** Starts an embedded hosting node. Default false. */
  node?: boolean;
  sandbox?: Partial<Settings>;
  registry?: Partial<RegistryProfile>;
  /** More registries, each with its own suffixes. */
  moreRegistries?: MoreRegistry[];
  context?: Partial<Context>;
  server?: Partial<ServerOptions>;
  /** Puts a proxy between the context and PostgreSQL. Default false. */
  proxy?: boolean;
  /** A migrated database of the test's own. */
  databaseUrl?: string;
}

interface AddNodeOptions {
  /** Default: `embedded`. */
  id?: string;
  /** Replacements for its ports, such as relays. */
  ports?: TestNodePorts;
  room?: Partial<NodeRoom>;
  /** Where its agent finds the endpoint. Default: at its own port. */
  agentsPort?: number;
}

interface MoreRegistry {
  id: string;
  suffixes: string[];
  sandbox?: Partial<Settings>;
  profile?: Partial<RegistryProfile>;
}

export interface TestReseller {
  id: number;
  name: string;
  key: KeyWithSecret;
}

export interface TestGateway {
  context: Context;
  databaseUrl: string;
  /** The first registry, which serves .example and .test. */
  registry: SandboxRegistry;
  /** The other registries, by id. */
  moreRegistries: ReadonlyMap<string, SandboxRegistry>;
  node: TestNode | undefined;
  /** Only if the gateway was started with a proxy. */
  proxy: DatabaseProxy;
  /** The folder of the api's journal of nonces. */
  replayDir: string;
  url: string;
  /** Registers the node, and makes it join. */
  addNode(node: TestNode, options?: AddNodeOptions): Promise<void>;
  /** The agents of all these nodes connect again at once. */
  reconnectAgents(): Promise<void>;
  /** The port of its endpoint for the agents of nodes, which starts when it is needed. */
  agentsPort(): Promise<number>;
  /** A new reseller with a complete profile (by default) and a key with all scopes. */
  addReseller(options?: { kind?: "reseller" | "plain"; rateLimit?: number; profile?: boolean }): Promise<TestReseller>;
  addKey(reseller: TestReseller, key?: Partial<NewKey>): Promise<TestReseller>;
  addPack(options?: { offeredTo?: number[]; diskBytesMax?: number }): Promise<string>;
  /** Sends a signed request; see `sendSigned` for the parts that can be altered. */
  send(reseller: TestReseller, method: string, target: string, options?: SignedRequestOptions): Promise<Reply>;
  /** Polls a status resource until its status is final. */
  settled(reseller: TestReseller, location: string): Promise<Record<string, unknown>>;
  restartApi(): Promise<void>;
  stopWorker(): Promise<void>;
  startWorker(): Promise<void>;
}

/** The environment of a program that calls the gateway for a reseller. */
export const clientEnvironment = ({ url }: TestGateway, { key }: TestReseller) => ({
  PATH: process.env.PATH,
  DEEDHOUSE_URL: url,
  DEEDHOUSE_API_KEY: key.id,
  DEEDHOUSE_API_SECRET: key.secret.reveal(),
});

const testProfile = {
  fullName: "Rita Reseller",
  organisation: "Reseller Ltd",
  email: "rita@reseller.example",
  phone: "+32.25550100",
  street: "Main Street 1",
  city: "Brussels",
  postalCode: "1000",
  countryCode: "BE",
};

/** What a process would read from its environment. */
const usualSettings = {
  reservedHosts: ["panel.deedhouse.test"],
  // Longer than in production: a busy machine must not turn an accepted name into an unanswered check.
  checkBudgetMs: 10_000,
  checkFreshMs: 5_000,
  authCodeHours: 336,
  contactMonths: 15,
  messageDays: 730,
  // Receivers of tests listen on loopback.
  webhooks: { ranges: ["127.0.0.0/8"], allowsPlainHttp: true, ca: undefined },
  zones: { nameServers: [], hostmaster: "", host: "127.0.0.1", port: 1 },
  siteDomain: "localhost",
  bareIdentifiers: true,
  // An unused port: a test that needs DNS starts its own name server.
  names: createNameLookups(["127.0.0.1:1"]),
} satisfies Partial<Context>;

const passingStatuses = ["NotProvisioned", "Processing", "Pending", "Provisioning"];

/** @param scope the test context, or `{ after }` of node:test for one gateway per file; everything ends with it */
export async function startTestGateway(scope: Scope, options: GatewayOptions = {}): Promise<TestGateway> {
  const closers: (() => unknown)[] = [];
  // Later parts depend on earlier ones, so close them in reverse.
  scope.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const closed: Scope = { after: (hook) => void closers.push(hook) };
  const opened = options.databaseUrl === undefined ? await testDatabase(closed) : undefined;
  const databaseUrl = opened?.url ?? options.databaseUrl!;
  const folder = await mkdtemp(join(await quickFolder(), "deedhouse-gateway-"));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const openRegistry = async (suffixes: string[], settings: Partial<Settings> = {}) => {
    const opened = await startSandboxRegistry({ suffixes, registrars, tlsDir: sharedTlsFolder, ...settings });
    closers.push(() => opened.close());
    return opened;
  };
  const registry = await openRegistry(["example", "test"], options.sandbox);
  const moreRegistries = new Map<string, SandboxRegistry>();
  const registries = [registryProfile(registry, options.registry)];
  for (const { id, suffixes, sandbox, profile } of options.moreRegistries ?? []) {
    const opened = await openRegistry(suffixes, sandbox);
    moreRegistries.set(id, opened);
    registries.push(registryProfile(opened, { id, suffixes, ...profile }));
  }
  const node = options.node ? await startTestNode() : undefined;
  if (node) closers.push(() => node.close());

  const log = createLog("test", process.env.DEEDHOUSE_TEST_LOG ?? "silent");
  const clock = options.clock ?? systemClock;
  const proxy = options.proxy ? await startDatabaseProxy(databaseUrl) : undefined;
  if (proxy) closers.push(() => proxy.close());
  const url = proxy?.url ?? databaseUrl;
  const own =
    proxy || !opened ? createDatabase({ url, transactionsMax: 5, applicationName: "deedhouse-test", log }) : undefined;
  if (own) closers.push(() => own.close());
  const database = own ?? opened!.database;
  const listener = createListener({ url, clock, log, database: own });
  closers.push(() => listener.close());
  const context: Context = {
    database,
    listener,
    acknowledged: createAcknowledged(clock),
    clock,
    random: systemRandom,
    log,
    sealer: createSealer({ keys: [{ id: "1", key: new Secret(masterKey) }], random: systemRandom }),
    registries,
    passwordQueue: createPasswordQueue({ waitingMax: 32, cost: 4, random: systemRandom }),
    commonPasswords: loadCommonPasswords,
    ...usualSettings,
    ...options.context,
  };
  await recordZoneSettings(context);
  const agents = createTestAgents(context, closers);
  if (node) await agents.addNode(node);
  return runGateway(context, {
    ...options,
    databaseUrl,
    folder,
    registry,
    moreRegistries,
    node,
    agents,
    proxy,
    closers,
  });
}

/** The endpoint for agents starts with the first node: most tests have none. */
function createTestAgents(context: Context, closers: (() => unknown)[]) {
  let endpoint: Promise<AgentEndpoint> | undefined;
  const nodes = new Set<TestNode>();
  const agentsPort = async () => {
    if (!endpoint) {
      endpoint = startAgentEndpoint(context, { host: "127.0.0.1", port: 0 });
      closers.push(async () => (await endpoint)?.close());
    }
    return (await endpoint).port;
  };
  return {
    agentsPort,
    async reconnectAgents() {
      await Promise.all([...nodes].map((node) => node.reconnect()));
    },
    async addNode(node: TestNode, { id, ports, room, agentsPort: port }: AddNodeOptions = {}) {
      const place = nodePlace(node, id, ports);
      const url = `http://127.0.0.1:${port ?? (await agentsPort())}`;
      await registerNode(context, place, { ...nodeRoom, ...room }, false);
      await node.join(await createJoinToken(context, place.id, { url, pin: null }));
      nodes.add(node);
    },
  };
}

interface EventContext extends Omit<GatewayOptions, "registry" | "moreRegistries" | "node" | "proxy"> {
  databaseUrl: string;
  folder: string;
  registry: SandboxRegistry;
  moreRegistries: ReadonlyMap<string, SandboxRegistry>;
  node: TestNode | undefined;
  agents: ReturnType<typeof createTestAgents>;
  proxy: DatabaseProxy | undefined;
  closers: (() => unknown)[];
}

async function runGateway(context: Context, around: EventContext): Promise<TestGateway> {
  const { databaseUrl, registry, moreRegistries, node, closers } = around;
  const api = await startTestApi(context, around);
  let worker: WorkerRole | undefined;
  const start = async () => {
    worker = await startWorker(context, databaseUrl);
    await untilOwned(context);
  };
  closers.push(async () => worker?.close());
  if (around.worker ?? true) await start();
  let resellersMade = 0;

  const gateway: TestGateway = {
    context,
    databaseUrl,
    registry,
    moreRegistries,
    node,
    get proxy() {
      if (!around.proxy) throw new Error("start the gateway with a proxy");
      return around.proxy;
    },
    replayDir: around.folder,
    ...around.agents,
    get url() {
      return api.url();
    },
    async addReseller({ kind = "reseller", rateLimit = 100_000, profile = true } = {}) {
      resellersMade += 1;
      const name = `reseller-${resellersMade}`;
      const id = await createReseller(context, { name, kind, rateLimit, paidOrdersDayMax: 100_000 });
      if (profile) await setProfile(context, id, testProfile);
      return { id, name, key: await createKey(context, id, { label: "test", scopes: "all" }) };
    },
    addKey: async (reseller, key = {}) => ({
      ...reseller,
      key: await createKey(context, reseller.id, { label: "test", scopes: "all", ...key }),
    }),
    addPack: ({ offeredTo, diskBytesMax = 1_000_000 } = {}) =>
      createPack(context, { name: "Test", diskBytesMax, filesMax: 1_000, ftpSessionsMax: 4, offeredTo }),
    send: (reseller, method, target, request = {}) =>
      sendSigned({ url: api.url(), key: reseller.key, clock: context.clock, method, target, ...request }),
    async settled(reseller, location) {
      const deadlineMs = systemClock.monotonicMs() + patienceMs;
      for (;;) {
        const { body } = await gateway.send(reseller, "GET", location, { headers: { prefer: "wait=5" } });
        const status = (body as Record<string, unknown>).status;
        if (!passingStatuses.includes(String(status))) return body as Record<string, unknown>;
        if (systemClock.monotonicMs() > deadlineMs) throw new Error(`${location} is still ${status}`);
      }
    },
    restartApi: api.restart,
    stopWorker: async () => {
      await worker?.close();
      worker = undefined;
    },
    startWorker: start,
  };
  return gateway;
}

async function startTestApi(context: Context, { folder, server: own, closers }: EventContext) {
  const windowSeconds = 300;
  const startGuard = (isFirst: boolean) => {
    const guard = createReplayGuard({ journalDir: folder, clock: context.clock, log: context.log, windowSeconds });
    guard.open(isFirst);
    return guard;
  };
  let replayGuard = startGuard(true);
  const listen = (): Promise<HttpServer> =>
    startServer(context, {
      host: "127.0.0.1",
      port: 0,
      replayGuard,
      windowSeconds,
      sourceFailuresMax: 1_000,
      ...own,
    });
  let server = await listen();
  closers.push(async () => {
    await server.close();
    replayGuard.close();
  });
  return {
    url: () => `http://127.0.0.1:${server.port}`,
    async restart() {
      await server.close();
      replayGuard.close();
      replayGuard = startGuard(false);
      server = await listen();
    },
  };
}

// The owner creates the row once it has the lock; maintenance and pauses are stored there.
const isOwned = statement(
  "test-owner-alive",
  `SELECT ${registryOwnerAlive("$registry_id")} AND EXISTS (SELECT FROM registries WHERE id = $registry_id) AS is_owned`,
  { is_owned: "bool" },
);

/** Until the registry's sessions have an owner, registrations are refused with 503. */
async function untilOwned({ registries, database }: Context): Promise<void> {
  for (const { id } of registries) {
    while (!(await database.query(isOwned, { registry_id: id }))[0]?.is_owned) await sleep(20);
  }
}
