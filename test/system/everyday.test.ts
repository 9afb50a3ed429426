import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  type Ended,
  eventually,
  processesOf,
  type RunningSystem,
  startSystem,
  systemFolder,
} from "../harness/running-system.ts";
import { readPage, upload } from "../harness/site.ts";
import { dumpDatabase } from "../harness/sql.ts";

const name = "shop.example";
const password = "Correct-Horse-77-battery";
const page = "<h1>open all day</h1>";
const memoryMbMax = 560;
const packId = "14490";
/** Much fewer than the parts import. */
const modulesMin = 200;

const folder = await systemFolder({ after });
let system: RunningSystem;
const moreNames = ["münchen.example", "shop.thin.example"];
let registered: Ended;
let created: Ended;
let more: Ended[];

before(async () => {
  system = await startSystem(folder);
  // Together, because each first asks to be looked at again in ten seconds.
  const register = (wanted: string) => system.tool(["domains", "register", wanted, "--wait", "--json"]);
  [registered, created, ...more] = await Promise.all([
    register(name),
    system.tool(["hosting", "create", name, "--pack", packId, "--password-stdin", "--wait"], { input: password }),
    ...moreNames.map(register),
  ]);
});

test("prints all addresses, the key and its secret, and three commands to paste", () => {
  const { url, ftp, web, registry, api_key: key, api_secret: secret, pids } = system.ready();
  const told = system.stdout();
  for (const text of [url, `${url}/docs/`, `:${ftp.port}`, `:${web.port}`, `:${registry.port}`, key, secret]) {
    assert.ok(told.includes(text), text);
  }
  assert.match(told, new RegExp(`export DEEDHOUSE_URL=${url} DEEDHOUSE_API_KEY=${key} DEEDHOUSE_API_SECRET=${secret}`));
  assert.match(told, /npx deedhouse domains register hello\.example --wait/);
  assert.match(told, new RegExp(`npx deedhouse hosting create hello\\.example --pack ${packId}`));
  assert.deepEqual(Object.keys(pids).sort(), ["api", "dns", "node", "postgres", "registry", "worker"]);
});

test("api, worker and node say that they are ready where their metrics are", async () => {
  const { metrics_url, metrics_urls } = system.ready();
  assert.equal(metrics_url, metrics_urls.api);
  assert.deepEqual(Object.keys(metrics_urls), ["api", "worker", "node"]);
  for (const [role, url] of Object.entries(metrics_urls)) {
    const ready = await fetch(new URL("/readyz", url));
    assert.deepEqual([role, ready.status, await ready.json()], [role, 200, { status: "ready" }]);
  }
});

test("writes a ready file that only its owner can read", () => {
  assert.equal(statSync(system.readyFile).mode & 0o777, 0o600);
});

test("registers a name through the command-line tool", async () => {
  assert.equal(registered.code, 0, registered.stderr);
  const order = JSON.parse(registered.stdout);
  assert.equal(order.status, "Finished");
  assert.equal(order.domain.domain_name, name);
});

test("sells internationalized names, and names of a second registry, which is thin", () => {
  const orders = more.map(({ code, stdout, stderr }) => {
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  });
  assert.deepEqual(
    orders.map(({ status }) => status),
    ["Finished", "Finished"],
  );
  const { registry, registries } = system.ready();
  assert.deepEqual(Object.keys(registries), ["sandbox", "sandbox-thin"]);
  assert.deepEqual(registry, registries.sandbox);
});

test("the control port of each registry shows the names that it holds", async () => {
  const held = async (control: number | undefined) => {
    const answer = await fetch(`http://127.0.0.1:${control}/domains`);
    const { domains } = (await answer.json()) as { domains: { name: string; registrant?: string }[] };
    return domains.map((domain) => `${domain.name} ${domain.registrant === undefined ? "thin" : "thick"}`).toSorted();
  };
  const { sandbox, "sandbox-thin": thin } = system.ready().registries;
  assert.deepEqual(await held(sandbox?.control_port), [
    "dns.test thin",
    `${name} thick`,
    "xn--mnchen-3ya.example thick",
  ]);
  assert.deepEqual(await held(thin?.control_port), ["shop.thin.example thin"]);
});

test("takes an upload with the chosen password and shows it on the web", async () => {
  assert.equal(created.code, 0, created.stderr);
  const { ftp, web } = system.ready();
  await upload(ftp, name, password, "/www/index.html", page);
  for (const host of [name, `${name}.localhost`])
    assert.deepEqual(await readPage(web, host, "/"), { status: 200, body: page });
  await assert.rejects(upload(ftp, name, `${password}!`, "/www/index.html", "not mine"), /530/);
});

test("stores neither the password nor its hash in a table, a job or a log", async () => {
  const dump = await dumpDatabase(system.ready().database_url);
  assert.ok(dump.includes(name));
  const spellings = secretsOf(folder).flatMap((secret) => [
    `${secret}`,
    secret.toString("hex"),
    secret.toString("base64"),
  ]);
  for (const spelling of spellings) assert.ok(!dump.includes(spelling), spelling);
  const outside = [...secretsOf(folder), Buffer.from("$2b$10$")];
  assert.deepEqual(searchFiles(join(folder, "data/logs"), outside), []);
  assert.deepEqual(searchFiles(join(folder, "data/postgres/postgres.log"), outside), []);
  assert.equal(system.stdout().includes(password), false);
  // Nowhere in plain text: not in PostgreSQL's files, its log of changes, the journal of nonces, or the node's files.
  assert.deepEqual(searchFiles(join(folder, "data"), [Buffer.from(password)]), []);
});

test(`fits into ${memoryMbMax} MB`, (context) => {
  const parts = processesOf(folder).flatMap(memoryOf);
  for (const { pid, mb, command } of parts) context.diagnostic(`${mb.toFixed(0).padStart(4)} MB  ${pid}  ${command}`);
  const total = parts.reduce((sum, { mb }) => sum + mb, 0);
  context.diagnostic(`${total.toFixed(0)} MB in all`);
  assert.ok(total <= memoryMbMax, `${total} MB`);
});

test("compiles its modules before its parts start", () => {
  // A process writes what it has compiled at its end, and all parts are running.
  assert.ok(readdirSync(join(folder, "data/compile-cache"), { recursive: true }).length > modulesMin);
});

const hasCurl = spawnSync("curl", ["--version"]).error === undefined;

test("prints what a program can be tested with, and each of these lines works", {
  skip: hasCurl ? false : "curl is not installed",
}, async () => {
  const { url, registry } = system.ready();
  const [, tools = ""] = system.stdout().split("Test your integration (");
  assert.ok(tools.startsWith(`${url}/docs/testing):`), tools);
  const commands = tools.match(/^ {2}(?:curl|npx).*$/gm) ?? [];
  assert.equal(commands.length, 5);
  const taken = await system.tool(["domains", "register", "taken-1.example"]);
  assert.match(taken.stderr, /domain_availability_taken|taken/);
  const nowOf = async () =>
    ((await (await fetch(`http://127.0.0.1:${registry.control_port}/clock`)).json()) as { now: string }).now;
  const before = await nowOf();
  for (const command of commands.filter((line) => line.includes("curl"))) {
    const { status, stdout, stderr } = spawnSync("bash", ["-c", command], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    assert.doesNotMatch(stdout, /"error"/, command);
  }
  assert.ok(Date.parse(await nowOf()) - Date.parse(before) >= 30 * 86_400_000);
});

test("a Ctrl-C reaches one process, which stops all the others and removes the ready file", async () => {
  // A terminal signals the whole process group. The parts are not in it, so that they are stopped in order.
  const inGroup = Object.values(system.ready().pids).filter((pid) => groupOf(pid!) === groupOf(system.pid));
  assert.deepEqual(inGroup, []);
  const { code, stdout, stderr } = await system.kill("SIGINT");
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  assert.match(stdout, /Stopped\.\n$/);
  assert.deepEqual(processesOf(folder), []);
  assert.equal(statSync(system.readyFile, { throwIfNoEntry: false }), undefined);
});

test("everything is there after the next start, except the secret on the screen", async () => {
  const first = system;
  system = await startSystem(folder);
  const { data } = await system.client.domains.get(name);
  assert.equal(data.domain_name, name);
  assert.equal((await system.client.hosting.get(name)).data.status, "Ready");
  const { ftp, web, api_secret: secret } = system.ready();
  assert.deepEqual(await readPage(web, name, "/"), { status: 200, body: page });
  await upload(ftp, name, password, "/www/second.html", page);
  assert.equal(first.stdout().includes(secret), true);
  assert.equal(system.stdout().includes(secret), false);
  assert.match(system.stdout(), /another key: npx deedhouse key create --account sandbox/);
});

test("also stops when its terminal or its reader is gone", async () => {
  const { code } = await system.kill("SIGHUP");
  assert.equal(code, 0);
  await eventually("all processes end", () => processesOf(folder).length === 0);
});
/** The password and the hash that the node keeps of it, in the ways in which a column can hold them. */
function secretsOf(folder: string): Buffer[] {
  const kept = readdirSync(join(folder, "data/node"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
  const hashes = kept.flatMap((text) => text.match(/\$2b\$10\$[./A-Za-z0-9]{53}/g) ?? []);
  assert.ok(hashes.length > 0, "the node keeps a hash");
  return [password, ...hashes].map((text) => Buffer.from(text));
}

/** The files at or below the path that contain any of the needles. */
function searchFiles(path: string, needles: Buffer[]): string[] {
  const files = statSync(path).isDirectory()
    ? readdirSync(path, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
    : [path];
  assert.ok(files.length > 0, path);
  return files.filter((file) => {
    const content = readFileSync(file);
    return needles.some((needle) => content.includes(needle));
  });
}

/** Memory of a process, what it shares with others divided among them (proc_pid_smaps(5)); nothing of one that has just ended. */
function memoryOf(pid: number): { pid: number; mb: number; command: string }[] {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, 3).join(" ").slice(-60);
    const kilobytes = /^Pss:\s+([0-9]+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1];
    return [{ pid, mb: Number(kilobytes) / 1024, command }];
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw error;
  }
}

/** The process group (proc_pid_stat(5), field 5). */
function groupOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[2]);
}
