/** The processes of `deedhouse start`, and their addresses. */
import { childEnvironment, outsideEnvironment } from "#config.ts";
import type { NodePlace } from "#hosting/nodes/nodes.ts";
import { sleep } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { reportDefect } from "#lib/report-defect.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#postgres/embedded.ts";
import { type Child, keepAlive } from "#start/child.ts";
import { compileParts } from "#start/compile.ts";
import { type DataDir, readRegistrar, writePrivateFile } from "#start/data-dir.ts";
import type { Ports } from "#start/ports.ts";
import { ownerMark } from "#start/predecessor.ts";
import type { Running } from "#start/report.ts";

/** Lower-case Latin letters with diacritics: the names of a sandbox may have them. */
const latinLetters = ["00DF-00F6", "00F8-00FF", "0101-017F"];

/**
 * The registries of the sandbox: most gateways have registries of both kinds. One process serves both, because each additional
 * process would cost 60 MB.
 */
const sandboxRegistries = [
  {
    id: "sandbox",
    folder: "registry",
    ports: ["registry", "registryControl"],
    suffixes: ["example", "test"],
    /** Alike at the registry and in its profile. */
    models: {},
    idn: { example: latinLetters, test: latinLetters },
  },
  {
    id: "sandbox-thin",
    folder: "thinRegistry",
    ports: ["thinRegistry", "thinRegistryControl"],
    suffixes: ["thin.example"],
    models: { dataModel: "thin", hostModel: "attributes" },
    idn: {},
  },
] as const;

type SandboxRegistry = (typeof sandboxRegistries)[number];

/** Where a registry of the sandbox listens, as its process reports it. */
interface RegistryPlace {
  port: number;
  controlPort: number;
  caFile: string;
}

const siteDomain = "localhost";
/** What names of the sandbox delegate to; role `dns` has both names. */
const nameServers = ["ns1.dns.test", "ns2.dns.test"];
const postgresRetryMs = 1_000;

/** A computed key, because a literal one would look like that of a promise. */
const outcomeField = "then";
/** What the sandbox registry says of a name's life. The name is in the text. */
const sandboxMessages = [" was renewed automatically ", " expired and ", " lapsed: ", " was deleted"].map((match) => ({
  match,
  [outcomeField]: "tell" as const,
}));

/**
 * The timing of the sandbox registry, which is near and fast. After a lost answer the gateway waits twice the transform
 * timeout, which a real registry needs and a person at a sandbox does not.
 */
const sandboxTimes = {
  sessionsMax: 10,
  commandsPerSecond: 10_000,
  transformTimeoutMs: 5_000,
  takeoverSettleMs: 10_000,
  pollIntervalMs: 1_000,
  backoffFirstMs: 1_000,
  backoffMaxMs: 5_000,
  reconcileIntervalMs: 30_000,
  expectedSeconds: 1,
  transferProhibitedDays: 0,
  // It is restarted within moments, even after a long absence.
  timeouts: { loginPauseMsMax: 2_000 },
  circuit: { probeDelayMsMin: 1_000, probeDelayMsMax: 2_000 },
};

/**
 * For processes that mostly wait for others. A small space for young objects and one V8 helper thread save 20 MB of
 * about 90 in each.
 */
const smallHeap = ["--max-semi-space-size=2", "--v8-pool-size=1"];
/**
 * For api and worker: twice Node's space for young objects, which grows only under load. Most objects of a request are
 * dead by the time it is full: 0.94 of the processor time for an order, 0.92 of the worker's (docs/decisions/0011).
 */
const largeHeap = ["--max-semi-space-size=32"];

export interface PartsOptions {
  dir: DataDir;
  /** An existing database, instead of the embedded one. */
  databaseUrl: string | undefined;
  ports: Ports;
  log: Log;
  /** Reports in one sentence what happens to the processes. */
  say: (sentence: string) => void;
  /** Called each time that a process is ready, including the first. */
  onChange: () => void;
}

interface KeepOptions {
  /** By default the name, which is that of a role. */
  args?: () => string[];
  /** Where a role that has metrics shows them. */
  metricsPort?: () => number;
  onReady: (ready: Record<string, unknown>) => void;
}

export class Parts {
  readonly #options: PartsOptions;
  readonly #children = new Map<string, Child>();
  #postgres: EmbeddedPostgres | undefined;
  #postgresStart: Promise<void> | undefined;
  readonly #registryPlaces = new Map<string, RegistryPlace>();
  readonly #stopping = new AbortController();

  constructor(options: PartsOptions) {
    this.#options = options;
  }

  get databaseUrl(): string {
    const url = this.#options.databaseUrl ?? this.#postgres?.url;
    if (url === undefined) throw new Error("PostgreSQL has not been started");
    return url;
  }

  /** Before the first of our processes starts. */
  compile(): Promise<void> {
    return compileParts(outsideEnvironment(this.#commonSettings()), this.#stopping.signal);
  }

  startPostgres(): Promise<void> {
    if (this.#options.databaseUrl !== undefined) return Promise.resolve();
    this.#postgresStart = this.#launchPostgres();
    return this.#postgresStart;
  }

  async #launchPostgres(): Promise<void> {
    const { dir, ports, log } = this.#options;
    const postgres = await startEmbeddedPostgres({ dataDir: dir.postgres, port: ports.postgres, log });
    this.#postgres = postgres;
    ports.postgres = postgres.port;
    postgres.exited.then(() => this.#restartPostgres()).catch(reportDefect);
  }

  async #restartPostgres(): Promise<void> {
    if (!this.#stopping.signal.aborted) this.#options.say("postgres ended and is restarted");
    for (let failures = 0; !this.#stopping.signal.aborted; failures++) {
      try {
        await this.startPostgres();
        this.#options.onChange();
        return;
      } catch (error) {
        // A full disk may keep it from starting for hours.
        if (failures === 0) this.#options.say(`postgres cannot be restarted yet: ${(error as Error).message}`);
        await sleep(postgresRetryMs);
      }
    }
  }

  async startRegistry(): Promise<void> {
    const { dir, ports } = this.#options;
    await this.#keep("registry", {
      args: () => this.#registryArguments(),
      onReady: (ready) => {
        const { others = [], ...first } = ready as unknown as RegistryPlace & { others?: RegistryPlace[] };
        for (const [index, place] of [first, ...others].entries()) {
          const registry = sandboxRegistries[index]!;
          const [port, controlPort] = registry.ports;
          ports[port] = place.port;
          ports[controlPort] = place.controlPort;
          this.#registryPlaces.set(registry.id, place);
        }
      },
    });
    const profiles = sandboxRegistries.map((registry) => this.#registryProfile(registry));
    writePrivateFile(dir.registriesFile, JSON.stringify(profiles, null, 2));
  }

  async startApi(): Promise<void> {
    const { ports } = this.#options;
    await this.#keep("api", {
      metricsPort: () => ports.apiStatus,
      onReady: (ready) => {
        ports.api = ready.port as number;
        ports.agents = ready.nodesPort as number;
        ports.apiStatus = ready.statusPort as number;
      },
    });
  }

  async startWorker(): Promise<void> {
    const { ports } = this.#options;
    await this.#keep("worker", {
      metricsPort: () => ports.workerStatus,
      onReady: (ready) => {
        ports.workerStatus = ready.statusPort as number;
      },
    });
  }

  /** Before the worker, which asks it. */
  async startDns(): Promise<void> {
    const { ports } = this.#options;
    await this.#keep("dns", {
      onReady: (ready) => {
        ports.dns = ready.dnsPort as number;
      },
    });
  }

  /** The hosting node, which must have joined the gateway. */
  async startNode(): Promise<void> {
    const { ports } = this.#options;
    await this.#keep("node", {
      metricsPort: () => ports.nodeStatus,
      onReady: (ready) => {
        ports.ftp = ready.ftpPort as number;
        ports.web = ready.webPort as number;
        ports.nodeStatus = ready.statusPort as number;
      },
    });
  }

  async #keep(name: string, { args = () => [name], metricsPort, onReady }: KeepOptions): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const { dir, say, onChange } = this.#options;
    const isInside = name === "api" || name === "worker" || name === "dns";
    const child = keepAlive({
      name,
      args,
      environment: () => {
        const metrics = metricsPort && { DEEDHOUSE_METRICS_PORT: String(metricsPort()) };
        return isInside
          ? childEnvironment({ ...this.environment(), ...metrics })
          : outsideEnvironment({ ...this.#outsideSettings(), ...metrics });
      },
      nodeFlags: isInside && name !== "dns" ? largeHeap : smallHeap,
      logFile: `${dir.logs}/${name}.log`,
      onReady: (ready) => {
        onReady(ready);
        onChange();
      },
      onDeath: say,
    });
    this.#children.set(name, child);
    await child.started;
  }

  /** The environment of api and worker; each reads the settings that it needs. */
  environment(): Record<string, string> {
    const { dir, ports } = this.#options;
    return {
      ...this.#commonSettings(),
      DATABASE_URL: this.#options.databaseUrl ?? this.#postgres?.localUrl ?? "",
      DEEDHOUSE_MASTER_KEY_FILE: dir.masterKeyFile,
      DEEDHOUSE_API_PORT: String(ports.api),
      // No load balancer stands before it, and its user waits at a terminal.
      DEEDHOUSE_DRAIN_MS: "0",
      DEEDHOUSE_NODES_PORT: String(ports.agents),
      DEEDHOUSE_NAME_SERVERS: nameServers.join(","),
      DEEDHOUSE_ZONES_HOST: "127.0.0.1",
      DEEDHOUSE_ZONES_PORT: String(ports.dns),
      DEEDHOUSE_REPLAY_DIR: dir.replay,
      DEEDHOUSE_DISK_FOLDERS: [dir.root, dir.postgres, dir.node].join(":"),
      DEEDHOUSE_REGISTRIES_FILE: dir.registriesFile,
    };
  }

  /** The environment of the registry and the hosting node: they stand for other servers and must not reach the database. */
  #outsideSettings(): Record<string, string> {
    const { dir, ports } = this.#options;
    return {
      ...this.#commonSettings(),
      DEEDHOUSE_NODE_DATA_DIR: dir.node,
      DEEDHOUSE_NODE_FTP_PORT: String(ports.ftp),
      DEEDHOUSE_NODE_WEB_PORT: String(ports.web),
      DEEDHOUSE_NODE_PASSIVE_FROM: String(ports.passive?.from ?? 0),
      DEEDHOUSE_NODE_PASSIVE_TO: String(ports.passive?.to ?? 0),
    };
  }

  #commonSettings(): Record<string, string> {
    const { dir } = this.#options;
    return {
      ...ownerMark(dir.root),
      NODE_COMPILE_CACHE: dir.compileCache,
      DEEDHOUSE_DEPLOYMENT: "sandbox",
      DEEDHOUSE_SITE_DOMAIN: siteDomain,
      DEEDHOUSE_METRICS_HOST: "127.0.0.1",
    };
  }

  #registryArguments(): string[] {
    const [first, ...others] = sandboxRegistries.map((registry) => this.#argumentsOf(registry));
    return ["sandbox-registry", ...first!, ...others.flatMap((args) => ["--and", ...args])];
  }

  #argumentsOf({ folder, ports: [port, controlPort], suffixes, models }: SandboxRegistry): string[] {
    const { dir, ports } = this.#options;
    return [
      "--data",
      dir[folder],
      "--registrars-file",
      dir.registrarsFile,
      "--port",
      String(ports[port]),
      "--control-port",
      String(ports[controlPort]),
      ...suffixes.flatMap((suffix) => ["--suffix", suffix]),
      ...nameServers
        .filter((host) => suffixes.some((suffix) => host.split(".").at(-1) === suffix))
        .flatMap((host) => ["--name-server", host]),
      ...Object.entries(models).flatMap(([name, value]) => ["--setting", `${name}=${value}`]),
    ];
  }

  #registryProfile({ id, suffixes, models, idn }: SandboxRegistry) {
    const { id: registrarId, password } = readRegistrar(this.#options.dir);
    const { port, caFile } = this.#registryPlaces.get(id)!;
    const place = { host: "127.0.0.1", servername: "localhost", port, caFile };
    const other = { glueAddresses: "any", messages: sandboxMessages, ...sandboxTimes };
    return { id, ...place, registrarId, password, suffixes, ...models, idn, ...other };
  }

  /** The hosting node. Where it may take any free port, the port is known once it is ready; until then, it is one of no use. */
  node(): NodePlace {
    const { ports } = this.#options;
    return {
      id: "embedded",
      kind: "embedded",
      ftp: { host: "127.0.0.1", port: ports.ftp || 1 },
      web: { host: "127.0.0.1", port: ports.web || 1, isHttps: false },
      settings: {},
    };
  }

  /** What its agent needs to join the gateway, once the api is ready. */
  agent() {
    const { dir, ports } = this.#options;
    return { nodeId: this.node().id, agentFile: dir.agentFile, port: ports.agents };
  }

  /** The addresses of everything that runs, without the key. */
  running(): Omit<Running, "key"> {
    const { dir, ports } = this.#options;
    const { id: registrarId, password } = readRegistrar(dir);
    const registries = sandboxRegistries.map(({ id, suffixes }) => {
      const { port, controlPort, caFile } = this.#registryPlaces.get(id)!;
      return { id, host: "127.0.0.1", port, controlPort, caFile, registrarId, password, suffixes };
    });
    const pids = Object.fromEntries([...this.#children].map(([name, child]) => [name, child.pid]));
    return {
      url: `http://127.0.0.1:${ports.api}`,
      databaseUrl: this.databaseUrl,
      ftp: { host: "127.0.0.1", port: ports.ftp },
      web: { host: "127.0.0.1", port: ports.web },
      dns: { host: "127.0.0.1", port: ports.dns },
      registries,
      metrics: { api: ports.apiStatus, worker: ports.workerStatus, node: ports.nodeStatus },
      pids: { ...pids, ...(this.#postgres && { postgres: this.#postgres.pid }) },
    };
  }

  /**
   * Stops the processes that accept work first, then those that they use, the database last. It also works during a
   * start.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const stop = (names: string[]) => Promise.all(names.map((name) => this.#children.get(name)?.stop()));
    await stop(["api", "worker"]);
    await stop(["node", "registry", "dns"]);
    await this.#postgresStart?.catch(() => {});
    await this.#postgres?.stop();
  }
}
