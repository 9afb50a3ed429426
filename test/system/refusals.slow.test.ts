import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { chown, mkdir } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { sleep } from "#lib/clock.ts";
import {
  type Ended,
  eventually,
  launchTool,
  processesOf,
  type RunningSystem,
  type RunOptions,
  runTool,
  startSystem,
  systemFolder,
} from "../harness/running-system.ts";

/** The user "nobody". */
const unprivilegedId = 65534;
const isRoot = process.getuid?.() === 0;

const folder = await systemFolder({ after });
const data = join(folder, "data");
let system: RunningSystem;

before(async () => {
  system = await startSystem(folder);
});

const startOn = (dataDir: string, args: string[] = [], options?: RunOptions) =>
  runTool(["start", "--data", dataDir, "--port-base", "0", ...args], options);

/** One sentence for people, and the exit code 1. */
function assertRefused({ code, stderr }: Ended, sentence: RegExp): void {
  assert.match(stderr, sentence);
  assert.match(stderr, /^deedhouse: [^\n]+\n$/);
  assert.equal(code, 1);
}

test("refuses a folder that another start uses, and leaves that one alone", async () => {
  assertRefused(await startOn(data), /another deedhouse already runs on .*--data DIR/);
  assert.equal((await system.send("GET", "/domains")).status, 200);
});

test("starts no sandbox where the environment says production, and creates nothing", async () => {
  const fresh = join(folder, "production");
  const refused = await startOn(fresh, [], { env: { DEEDHOUSE_DEPLOYMENT: "production" } });
  assertRefused(refused, /DEEDHOUSE_DEPLOYMENT is "production".*sandbox/);
  assert.equal(existsSync(fresh), false);
});

test("refuses ports that are in use, by name, before it starts anything", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  const fresh = join(folder, "ports");
  const refused = await startOn(fresh, ["--port-base", String(port - 21)]);
  taken.close();
  assertRefused(refused, new RegExp(`${port} for FTP \\(another program uses it\\).*--port-base`));
  assert.deepEqual(readdirSync(join(fresh, "postgres")), []);
  assert.deepEqual(processesOf(fresh), []);
});

test("refuses a folder that it cannot write, and a ready file that it cannot write", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  assertRefused(await startOn(join(file, "data")), /data folder .* cannot be written \(ENOTDIR\).*--data DIR/);
  const nowhere = join(folder, "nowhere", "ready.json");
  const refused = await startOn(join(folder, "unready"), ["--ready-file", nowhere]);
  assertRefused(refused, /ready file .* cannot be written \(ENOENT\).*--ready-file PATH/);
});

test("ends without a process when it is stopped during startup", async () => {
  const half = await systemFolder({ after });
  for (const delayMs of [300, 900, 1_500]) {
    const { child, ended } = launchTool(["start", "--data", join(half, "data"), "--port-base", "0"]);
    await eventually("it starts something", () => processesOf(half).length > 1);
    await sleep(delayMs);
    child.kill("SIGINT");
    const { code, stderr } = await ended;
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    assert.deepEqual(processesOf(half), []);
  }
});

test("runs as an ordinary user without a home", { skip: !isRoot && "needs root to become another user" }, async () => {
  const owned = await systemFolder({ after });
  await chown(owned, unprivilegedId, unprivilegedId);
  const nobody = await startSystem(owned, [], { uid: unprivilegedId, env: { PATH: process.env.PATH } });
  for (const pid of Object.values(nobody.ready().pids)) assert.equal(statSync(`/proc/${pid}`).uid, unprivilegedId);
  assert.equal((await nobody.send("GET", "/servicepacks")).status, 200);
  assert.equal((await nobody.kill("SIGINT")).code, 0);
  assert.deepEqual(processesOf(owned), []);
  assert.equal(statSync(nobody.readyFile, { throwIfNoEntry: false }), undefined);
});

test("refuses another user's folder", { skip: !isRoot && "needs root to become another user" }, async () => {
  const foreign = join(folder, "foreign");
  await mkdir(foreign, { mode: 0o700 });
  const refused = await startOn(join(foreign, "data"), [], { uid: unprivilegedId });
  assertRefused(refused, /data folder .* cannot be written \(EACCES\).*--data DIR/);
});

// From here on the system is stopped, and its folder is damaged in one way after the other.

test("refuses a folder whose master key is missing or damaged", async () => {
  await system.kill("SIGINT");
  const keyFile = join(data, "keys/master.key");
  rmSync(keyFile);
  assertRefused(await startOn(data), /master\.key is missing.*put it back/);
  writeFileSync(keyFile, "1:garbage\n");
  assertRefused(await startOn(data), /master\.key/);
  assert.deepEqual(processesOf(data), []);
  writeFileSync(keyFile, `1:${"0123456789abcdef".repeat(4)}\n`);
  assertRefused(await startOn(data), /master\.key/);
  assert.deepEqual(processesOf(data), []);
});

test("refuses a damaged database folder", async () => {
  const damaged = join(folder, "damaged");
  mkdirSync(join(damaged, "postgres/cluster"), { recursive: true });
  mkdirSync(join(damaged, "keys"));
  writeFileSync(join(damaged, "keys/master.key"), `1:${"0123456789abcdef".repeat(4)}\n`);
  writeFileSync(join(damaged, "postgres/cluster/PG_VERSION"), "garbage\n");
  assertRefused(await startOn(damaged), /postgres\/cluster belongs to PostgreSQL garbage/);
  writeFileSync(join(damaged, "postgres/cluster/PG_VERSION"), "18\n");
  assertRefused(await startOn(damaged), /password of the embedded database cannot be read/);
  assert.deepEqual(processesOf(damaged), []);
});

test("refuses damaged keys of the registry", async () => {
  const damaged = join(folder, "damaged-registrars");
  mkdirSync(join(damaged, "keys"), { recursive: true });
  writeFileSync(join(damaged, "keys/registrars.json"), "{");
  assertRefused(await startOn(damaged), /registrars\.json/);
  assert.deepEqual(processesOf(damaged), []);
});
