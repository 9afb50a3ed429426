/** Workers as processes of their own, to be killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RegistryEntry, RegistryProfile } from "#registry/registries.ts";
import type { Settings } from "../../sandbox/registry/settings.ts";
import type { Scope } from "../harness/database.ts";
import { masterKey, startTestGateway, type TestGateway } from "../harness/gateway.ts";

const ownEntry = fileURLToPath(new URL("../../bin/deedhouse.ts", import.meta.url));

export interface WorkerProcess {
  pid: number | undefined;
  /** SIGSTOP: it does nothing more, but still exists. */
  freeze(): void;
  /** SIGCONT: it resumes where it was stopped. */
  thaw(): void;
  /** SIGKILL: it ends at once. Resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM: it finishes its work. Resolves when it is gone. */
  stop(): Promise<void>;
}

export interface Workers {
  gateway: TestGateway;
  /** Starts one more; resolves when it owns the registry or waits for it. */
  start(own?: OwnWorker): Promise<WorkerProcess>;
}

/** One worker's own settings, such as its links to the database and the registry, which can be cut. */
export interface OwnWorker {
  databaseUrl?: string;
  profile?: Partial<RegistryEntry>;
  /** More of its settings. */
  environment?: Record<string, string>;
  /** Another release's entry point. */
  entry?: string;
}

export interface WorkersOptions {
  node?: boolean;
  sandbox?: Partial<Settings>;
  /** Changes to the workers' registry profile. */
  profile?: Partial<RegistryEntry>;
  /** How the registry stores contacts and hosts, for workers and api. */
  models?: Pick<RegistryEntry, "dataModel" | "hostModel">;
  /** Further arguments of the workers' Node. */
  nodeArguments?: string[];
  /** A migrated database of the test's own. */
  databaseUrl?: string;
}

/** A gateway whose workers are processes; all of them are gone after the test. */
export async function startWithWorkers(t: Scope, options: WorkersOptions = {}) {
  const { node = false, sandbox: settings = {}, models = {}, nodeArguments = [], databaseUrl } = options;
  const sandbox = { ...settings, ...models } as Partial<Settings>;
  const profile = { ...options.profile, ...models };
  const processes = new Set<WorkerProcess>();
  // Before everything that they use: a worker that is still starting would miss its files, and report that.
  t.after(() => Promise.all([...processes].map((worker) => worker.kill())));
  const { lockNewNames = false } = profile;
  const registry = { transformTimeoutMs: 500, pollIntervalMs: 50, lockNewNames, ...models } as Partial<RegistryProfile>;
  const gateway = await startTestGateway(t, { worker: false, node, sandbox, registry, databaseUrl });
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-workers-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const workers: Workers = {
    gateway,
    async start({ databaseUrl = gateway.databaseUrl, ...own } = {}) {
      const environment = await writeConfiguration(gateway, folder, { ...profile, ...own.profile });
      const settings = { ...environment, ...own.environment, DATABASE_URL: databaseUrl };
      return startProcess(processes, settings, [...nodeArguments, own.entry ?? ownEntry]);
    },
  };
  return workers;
}

/** The settings of the gateway's registry that its workers share. */
const keptSettings = [
  "id",
  "host",
  "servername",
  "registrarId",
  "suffixes",
  "sessionsMax",
  "commandsPerSecond",
  "transformTimeoutMs",
  "queryTimeoutMs",
  "pollIntervalMs",
  "reconcileIntervalMs",
  "backoffFirstMs",
  "backoffMaxMs",
  "takeoverSettleMs",
  "lockNewNames",
] as const satisfies (keyof RegistryEntry)[];

async function writeConfiguration(
  gateway: TestGateway,
  folder: string,
  own: Partial<RegistryEntry>,
): Promise<Record<string, string>> {
  const [registry] = gateway.context.registries;
  if (!registry) throw new Error("the gateway has no registry");
  const profile = {
    ...Object.fromEntries(keptSettings.map((name) => [name, registry[name]])),
    port: registry.port,
    password: registry.password.reveal(),
    caFile: gateway.registry.caFile,
    ...own,
  };
  const file = join(folder, `registries-${profile.port}.json`);
  await writeFile(file, JSON.stringify([profile]), { mode: 0o600 });
  return {
    DEEDHOUSE_DEPLOYMENT: "sandbox",
    DEEDHOUSE_LOG_LEVEL: process.env.DEEDHOUSE_TEST_LOG ?? "silent",
    DEEDHOUSE_MASTER_KEY: `1:${masterKey.toString("hex")}`,
    DEEDHOUSE_REPLAY_DIR: folder,
    DEEDHOUSE_REGISTRIES_FILE: file,
  };
}

async function startProcess(
  processes: Set<WorkerProcess>,
  environment: Record<string, string>,
  nodeArguments: string[],
): Promise<WorkerProcess> {
  const child = spawn(process.execPath, [...nodeArguments, "worker"], {
    env: { ...process.env, ...environment },
    // The channel closes with this process, so the worker does not outlive the test.
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const end = async (signal: "SIGKILL" | "SIGTERM") => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
  };
  const worker: WorkerProcess = {
    pid: child.pid,
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
    kill: () => end("SIGKILL"),
    stop: () => end("SIGTERM"),
  };
  processes.add(worker);
  await Promise.race([once(child, "message"), once(child, "exit")]);
  if (child.exitCode !== null) throw new Error("the worker could not be started; it says why on stderr");
  return worker;
}
