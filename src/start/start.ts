/**
 * `deedhouse start`: the whole service on one server, in the foreground, on loopback. It starts PostgreSQL, the sandbox
 * registry, the hosting node, the api, the worker and role `dns`, restarts what dies, and stops them in order.
 */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { childEnvironment, loadConfig, loadStartConfig, operatorEnvironment } from "#config.ts";
import { migrate } from "#db/migrate.ts";
import { joinLocalNode } from "#hosting/channel/join-local.ts";
import { createLog, type Log } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import { type DataDir, lockDataDir, openDataDir, writePrivateFile } from "#start/data-dir.ts";
import { startLogRotation } from "#start/log-rotation.ts";
import type { StartOptions } from "#start/options.ts";
import { Parts } from "#start/parts.ts";
import { portsFrom, refuseTakenPorts } from "#start/ports.ts";
import { waitForPredecessor } from "#start/predecessor.ts";
import { greeting, readyDocument } from "#start/report.ts";
import { openSandbox, type Seeded, saveNode, seedSandbox } from "#start/seed.ts";

const otherRegistries =
  "\nThe registries of DEEDHOUSE_REGISTRIES_FILE are not served here, only the sandbox: docs/operating.md says how to run api and worker.";

/** Runs until SIGINT, SIGTERM or SIGHUP. @throws Error with one sentence that says what to do */
export async function start(options: StartOptions): Promise<void> {
  const stop = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop.resolve());
  // A closed terminal or pipe must not leave processes behind.
  process.stdout.on("error", () => {});
  const { databaseUrl, deployment } = operatorEnvironment();
  refuseProduction(deployment);
  const { logBytesMax, nodesPort } = loadStartConfig();
  const dir = openDataDir(options.dataDir, systemRandom);
  using _lock = lockDataDir(dir);
  checkReadyFile(options.readyFile);
  await waitForPredecessor(dir.root);
  using _rotation = startLogRotation([dir.logs, dir.postgres], logBytesMax);
  const ports = portsFrom(options.portBase);
  if (nodesPort !== undefined) ports.agents = nodesPort;
  const isPostgresKept = existsSync(join(dir.postgres, "cluster", "postmaster.pid"));
  await refuseTakenPorts(ports, databaseUrl !== undefined || isPostgresKept);
  const log = createLog("start", "silent");
  let seeded: Seeded | undefined;
  const parts = new Parts({
    dir,
    databaseUrl,
    ports,
    log,
    say,
    onChange: () => seeded && report(options, dir, parts, seeded),
  });
  try {
    seeded = await Promise.race([startAll(options, parts, log), stop.promise.then(() => undefined)]);
    if (seeded) {
      report(options, dir, parts, seeded);
      say(greeting(seeded, { ...parts.running(), key: seeded.key }, dir.root));
      if (operatorEnvironment().registriesFile !== undefined) say(otherRegistries);
      await stop.promise;
    }
    say("Stopping.");
  } finally {
    seeded = undefined;
    removeReport(options, dir);
    await parts.stop();
  }
  say("Stopped.");
}

/** All processes that it starts run as a sandbox, so it refuses to run where the environment says otherwise. */
function refuseProduction(deployment: string | undefined): void {
  if (deployment === undefined || deployment === "sandbox") return;
  throw new Error(
    `DEEDHOUSE_DEPLOYMENT is "${deployment}", and start runs a sandbox, whose names are registered nowhere: unset it, or start the processes api and worker separately`,
  );
}

async function startAll(options: StartOptions, parts: Parts, log: Log): Promise<Seeded> {
  // A database that is refused keeps the rest of its folder as it is.
  await Promise.all([parts.startPostgres().then(() => migrate(parts.databaseUrl)), parts.compile()]);
  await parts.startRegistry();
  const config = loadConfig(childEnvironment(parts.environment()));
  const { host, tls } = config.agentEndpoint!;
  await using sandbox = openSandbox(config, log);
  const seeded = await seedSandbox(sandbox, options.rateLimit);
  await saveNode(sandbox, parts.node(), false);
  await parts.startApi();
  await joinLocalNode(sandbox, { ...parts.agent(), host, tls });
  await Promise.all([parts.startNode(), parts.startDns().then(() => parts.startWorker())]);
  await saveNode(sandbox, parts.node(), true);
  return seeded;
}

/** An old file would claim that everything is ready; and a file that cannot be written should be reported now. */
function checkReadyFile(path: string | undefined): void {
  if (path === undefined) return;
  try {
    writePrivateFile(path, "");
    rmSync(path);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    throw new Error(`the ready file ${path} cannot be written (${reason}): name another one with --ready-file PATH`);
  }
}

/** Runs again after each restart, so a full disk must not end everything. */
function report(options: StartOptions, dir: DataDir, parts: Parts, { key }: Seeded): void {
  const running = { ...parts.running(), key };
  const document = readyDocument(running);
  const instance = { url: running.url, database_url: running.databaseUrl };
  try {
    writePrivateFile(dir.instanceFile, `${JSON.stringify(instance, null, 2)}\n`);
    if (options.readyFile !== undefined) writePrivateFile(options.readyFile, `${JSON.stringify(document, null, 2)}\n`);
  } catch (error) {
    say(`the addresses could not be written: ${(error as Error).message}`);
  }
}

function removeReport(options: StartOptions, dir: DataDir): void {
  if (options.readyFile !== undefined) rmSync(options.readyFile, { force: true });
  rmSync(dir.instanceFile, { force: true });
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
