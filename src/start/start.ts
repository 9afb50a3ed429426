/**
 * `deedhouse start`: the whole service on one machine, in the foreground, on loopback. It starts PostgreSQL, the sandbox
 * registry, the hosting node, the api and the worker, starts again what dies, and stops them in order.
 */
import { rmSync } from "node:fs";
import { loadConfig } from "#config.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#db/embedded.ts";
import { migrate } from "#db/migrate.ts";
import { sleep } from "#lib/clock.ts";
import { createLog, type Log } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import { type Child, keepAlive } from "#start/child.ts";
import { type DataDir, lockDataDir, openDataDir, readRegistrar, writePrivateFile } from "#start/data-dir.ts";
import { type Ports, portsFrom, type StartOptions } from "#start/options.ts";
import { greeting, type Running, readyDocument } from "#start/report.ts";
import { type Seeded, seedSandbox } from "#start/seed.ts";

const suffixes = ["example", "test"];
const siteDomain = "localhost";
const postgresRetryMs = 1_000;

/**
 * What the sandbox registry is told to be like: near and quick. After a lost answer the gateway waits twice the
 * transform timeout, which a real registry needs and a person at a sandbox does not.
 */
const sandboxTimes = {
  sessionsMax: 10,
  commandsPerSecond: 1_000,
  transformTimeoutMs: 5_000,
  pollIntervalMs: 1_000,
  backoffFirstMs: 1_000,
  backoffMaxMs: 10_000,
  reconcileIntervalMs: 30_000,
};

/** Runs until SIGINT or SIGTERM. @throws Error with one sentence that says what to do */
export async function start(options: StartOptions): Promise<void> {
  const stop = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.resolve());
  const dir = openDataDir(options.dataDir, systemRandom);
  using _lock = lockDataDir(dir);
  const log = createLog("start", "silent");
  const parts = new Parts(dir, portsFrom(options.portBase), log);
  try {
    const running = await Promise.race([startAll(options, parts), stop.promise]);
    if (running) {
      parts.onChange = () => report(options, dir, parts, running.seeded);
      report(options, dir, parts, running.seeded);
      say(greeting(running.seeded, parts.running(running.seeded), dir.root));
      await stop.promise;
    }
    say("Stopping.");
  } finally {
    if (options.readyFile !== undefined) rmSync(options.readyFile, { force: true });
    rmSync(dir.instanceFile, { force: true });
    await parts.stop();
  }
  say("Stopped.");
}

async function startAll(options: StartOptions, parts: Parts): Promise<{ seeded: Seeded }> {
  await Promise.all([parts.startPostgres(), parts.startOutside()]);
  await migrate(parts.databaseUrl);
  const config = loadConfig(parts.environment());
  const seeded = await seedSandbox(config, parts.log, options.rateLimit);
  await parts.startInside();
  return { seeded };
}

function report(options: StartOptions, dir: DataDir, parts: Parts, seeded: Seeded): void {
  const running = parts.running(seeded);
  const document = readyDocument(running);
  if (options.readyFile !== undefined) writePrivateFile(options.readyFile, `${JSON.stringify(document, null, 2)}\n`);
  const instance = {
    url: running.url,
    database_url: running.databaseUrl,
    registry_control: running.registry.controlPort,
  };
  writePrivateFile(dir.instanceFile, `${JSON.stringify(instance, null, 2)}\n`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** The processes, and where each is reached. */
class Parts {
  readonly log: Log;
  onChange: () => void = () => {};
  readonly #dir: DataDir;
  readonly #ports: Ports;
  readonly #children = new Map<string, Child>();
  #postgres: EmbeddedPostgres | undefined;
  #isStopping = false;

  constructor(dir: DataDir, ports: Ports, log: Log) {
    this.#dir = dir;
    this.#ports = ports;
    this.log = log;
  }

  get databaseUrl(): string {
    if (!this.#postgres) throw new Error("PostgreSQL is not started");
    return this.#postgres.url;
  }

  async startPostgres(): Promise<void> {
    const port = this.#ports.postgres;
    this.#postgres = await startEmbeddedPostgres({ dataDir: this.#dir.postgres, port, log: this.log });
    this.#ports.postgres = this.#postgres.port;
    void this.#postgres.exited.then(() => this.#restartPostgres());
  }

  async #restartPostgres(): Promise<void> {
    while (!this.#isStopping) {
      say("postgres ended and is started again");
      try {
        await this.startPostgres();
        this.onChange();
        return;
      } catch (error) {
        say(`postgres could not be started: ${(error as Error).message}`);
        await sleep(postgresRetryMs);
      }
    }
  }

  /** The registry and the hosting node: what the gateway reaches only over their protocols. */
  async startOutside(): Promise<void> {
    const dir = this.#dir;
    await Promise.all([
      this.#keep(
        "registry",
        () => this.#registryArguments(),
        (ready) => {
          this.#ports.registry = ready.port as number;
          this.#ports.registryControl = ready.controlPort as number;
          this.#registryCaFile = ready.caFile as string;
        },
      ),
      this.#keep(
        "node",
        () => ["node"],
        (ready) => {
          this.#ports.ftp = ready.ftpPort as number;
          this.#ports.web = ready.webPort as number;
          this.#ports.nodeControl = ready.controlPort as number;
        },
      ),
    ]);
    writePrivateFile(dir.registriesFile, JSON.stringify([this.#registryProfile()], null, 2));
    writePrivateFile(dir.nodesFile, JSON.stringify([this.#nodeProfile()], null, 2));
  }

  async startInside(): Promise<void> {
    await Promise.all([
      this.#keep(
        "api",
        () => ["api"],
        (ready) => {
          this.#ports.api = ready.port as number;
        },
      ),
      this.#keep(
        "worker",
        () => ["worker"],
        () => {},
      ),
    ]);
  }

  #registryCaFile = "";

  async #keep(name: string, args: () => string[], onReady: (ready: Record<string, unknown>) => void): Promise<void> {
    const child = keepAlive({
      name,
      args,
      environment: () => this.environment(),
      logFile: `${this.#dir.logs}/${name}.log`,
      onReady: (ready) => {
        onReady(ready);
        this.onChange();
      },
      onDeath: say,
    });
    this.#children.set(name, child);
    await child.started;
  }

  /** What our processes are told; each reads what it needs. */
  environment(): Record<string, string> {
    const dir = this.#dir;
    const ports = this.#ports;
    return {
      NODE_COMPILE_CACHE: dir.compileCache,
      DEEDHOUSE_DEPLOYMENT: "sandbox",
      DATABASE_URL: this.#postgres?.url ?? "",
      DEEDHOUSE_MASTER_KEY_FILE: dir.masterKeyFile,
      DEEDHOUSE_API_PORT: String(ports.api),
      DEEDHOUSE_REPLAY_DIR: dir.replay,
      DEEDHOUSE_REGISTRIES_FILE: dir.registriesFile,
      DEEDHOUSE_NODES_FILE: dir.nodesFile,
      DEEDHOUSE_SITE_DOMAIN: siteDomain,
      DEEDHOUSE_NODE_DATA_DIR: dir.node,
      DEEDHOUSE_NODE_FTP_PORT: String(ports.ftp),
      DEEDHOUSE_NODE_WEB_PORT: String(ports.web),
      DEEDHOUSE_NODE_CONTROL_PORT: String(ports.nodeControl),
      DEEDHOUSE_NODE_PASSIVE_FROM: String(ports.passive?.from ?? 0),
      DEEDHOUSE_NODE_PASSIVE_TO: String(ports.passive?.to ?? 0),
      DEEDHOUSE_NODE_CONTROL_TOKEN_FILE: dir.nodeTokenFile,
    };
  }

  #registryArguments(): string[] {
    const { registry, registryControl } = this.#ports;
    return [
      "sandbox-registry",
      ...["--data", this.#dir.registry, "--registrars-file", this.#dir.registrarsFile],
      ...["--port", String(registry), "--control-port", String(registryControl)],
      ...suffixes.flatMap((suffix) => ["--suffix", suffix]),
    ];
  }

  #registryProfile() {
    const { id, password } = readRegistrar(this.#dir);
    const place = {
      host: "127.0.0.1",
      servername: "localhost",
      port: this.#ports.registry,
      caFile: this.#registryCaFile,
    };
    return { id: "sandbox", ...place, registrarId: id, password, suffixes, ...sandboxTimes };
  }

  #nodeProfile() {
    const { ftp, web, nodeControl } = this.#ports;
    return {
      id: "embedded",
      controlUrl: `http://127.0.0.1:${nodeControl}`,
      controlTokenFile: this.#dir.nodeTokenFile,
      ftp: { host: "127.0.0.1", port: ftp },
      web: { host: "127.0.0.1", port: web },
    };
  }

  running({ key }: Seeded): Running {
    const ports = this.#ports;
    const { id, password } = readRegistrar(this.#dir);
    const pids = Object.fromEntries([...this.#children].map(([name, child]) => [name, child.pid]));
    return {
      url: `http://127.0.0.1:${ports.api}`,
      key,
      databaseUrl: this.databaseUrl,
      ftp: { host: "127.0.0.1", port: ports.ftp },
      web: { host: "127.0.0.1", port: ports.web },
      registry: {
        host: "127.0.0.1",
        port: ports.registry,
        controlPort: ports.registryControl,
        caFile: this.#registryCaFile,
        registrarId: id,
        password,
        suffixes,
      },
      pids: { ...pids, postgres: this.#postgres?.pid },
    };
  }

  /** First those that accept work, then what they work with, the database last. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const stop = (names: string[]) => Promise.all(names.map((name) => this.#children.get(name)?.stop()));
    await stop(["api", "worker"]);
    await stop(["node", "registry"]);
    await this.#postgres?.stop();
  }
}
