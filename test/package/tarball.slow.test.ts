/** The tarball as an operator installs it, from npm's registry, on a machine whose own Node is an older one. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { sleep, systemClock } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import manifest from "../../package.json" with { type: "json" };
import { buildTarball } from "../../tools/package/npm.ts";
import { type ReadyDocument, systemFolder } from "../harness/running-system.ts";
import { sendSigned } from "../harness/signed-request.ts";
import { readPage, upload } from "../harness/site.ts";

const run = promisify(execFile);
const readyMs = 120_000;
/** The machine's own programs come first, also its Node. */
const env = { ...process.env, PATH: `/usr/bin:/bin:${process.env.PATH}` };
const outputBytesMax = 16_777_216;

let folder: string;
let tarball: string;
let command: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "deedhouse-tarball-"));
  tarball = await buildTarball(join(folder, "build"));
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefix", join(folder, "prefix")];
  await run("npm", ["install", "--global", ...flags, tarball], { env, cwd: "/", maxBuffer: outputBytesMax });
  command = join(folder, "prefix/bin/deedhouse");
});
after(() => rm(folder, { recursive: true, force: true }));

test("the command runs on the Node that came along, without development packages", async () => {
  assert.equal((await run(command, ["--version"], { env })).stdout, `${manifest.version}\n`);
  assert.match((await run(command, ["--help"], { env })).stdout, /^Usage: deedhouse /);
  const packages = join(folder, "prefix/lib/node_modules/deedhouse/node_modules");
  for (const name of Object.keys(manifest.devDependencies)) assert.ok(!existsSync(join(packages, name)), name);
});

test("a second build has the same bytes", async () => {
  const second = await buildTarball(join(folder, "again"));
  assert.ok(readFileSync(second).equals(readFileSync(tarball)));
});

test("`deedhouse mcp` has its packages", async () => {
  const { stderr, code } = await run(command, ["mcp"], { env, cwd: folder }).catch((error) => error);
  assert.equal(code, 2);
  assert.match(stderr, /--url or DEEDHOUSE_URL/, "it has come to its first question");
});

test("it starts PostgreSQL and everything else, registers a name, answers a signed request and takes an upload", async (t) => {
  // Its teardown ends what still runs there.
  const data = await systemFolder({ after: (work) => t.after(work) });
  const readyFile = join(data, "ready.json");
  const options = ["--data", join(data, "data"), "--port-base", "0", "--ready-file", readyFile];
  const child = spawn(command, ["start", ...options], { env, cwd: data, stdio: ["ignore", "pipe", "pipe"] });
  let banner = "";
  child.stdout.on("data", (bytes: Buffer) => {
    banner += bytes;
  });
  let said = "";
  child.stderr.on("data", (bytes: Buffer) => {
    said += bytes;
  });
  const deadlineMs = systemClock.monotonicMs() + readyMs;
  while (!existsSync(readyFile)) {
    assert.equal(child.exitCode, null, said);
    assert.ok(systemClock.monotonicMs() < deadlineMs, `not ready: ${said}`);
    await sleep(100);
  }
  const ready = JSON.parse(readFileSync(readyFile, "utf8")) as ReadyDocument;
  const key = { id: ready.api_key, secret: new Secret(ready.api_secret) };
  const account = { DEEDHOUSE_URL: ready.url, DEEDHOUSE_API_KEY: key.id, DEEDHOUSE_API_SECRET: ready.api_secret };
  await run(command, ["domains", "register", "packed.example", "--wait"], { env: { ...env, ...account } });
  const call = { url: ready.url, key, clock: systemClock, method: "GET", target: "/domains/packed.example" };
  const reply = await sendSigned(call);
  assert.equal(reply.status, 200, reply.text);
  const create = ["hosting", "create", "packed.example", "--pack", "14490", "--generate-password", "--wait"];
  const created = await run(command, create, { env: { ...env, ...account } });
  const [, password] = /shown only once: (\S+)/.exec(created.stdout + created.stderr) ?? [];
  await upload(ready.ftp, "packed.example", password!, "/www/index.html", "from the package");
  assert.deepEqual(await readPage(ready.web, "packed.example", "/"), { status: 200, body: "from the package" });
  assert.match(banner, /^ {2}deedhouse domains register /m, "npx might fetch another package");
  child.kill("SIGTERM");
  const [code] = await once(child, "exit");
  assert.equal(code, 0, said);
});
