/** The image of ops/Dockerfile, built by buildah on an empty Debian 12, which comes from Debian's mirror and no registry. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { systemClock } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import { buildDeb } from "../../tools/package/deb.ts";
import { repository } from "../../tools/package/stage.ts";
import { freePorts } from "../harness/free-ports.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { sendSigned } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";
import { startOwnServer } from "../harness/standby.ts";
import { startRole } from "./service-process.ts";

const mirror = process.env.DEEDHOUSE_TEST_DEBIAN_MIRROR ?? "http://deb.debian.org/debian";
const isMissing = (program: string) => spawnSync(program, ["--version"]).error !== undefined;
const skip =
  (process.getuid?.() !== 0 && "needs root") ||
  (["buildah", "debootstrap"].find(isMissing) ?? (isMissing("strip") && "binutils"));
const reason = skip && (skip === "needs root" ? skip : `${skip} is not installed`);
const outputBytesMax = 16_777_216;
const imageUser = 7400;

const folder = await mkdtemp(join(tmpdir(), "deedhouse-image-"));
after(() => rm(folder, { recursive: true }));
const store = ["--root", join(folder, "store"), "--runroot", join(folder, "run"), "--storage-driver", "vfs"];

async function buildah(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)("buildah", [...store, ...args], { maxBuffer: outputBytesMax });
  return stdout.trim();
}

before(async () => {
  if (reason) return;
  const tree = join(folder, "tree");
  await promisify(execFile)("debootstrap", ["--variant=minbase", "bookworm", tree, mirror], {
    maxBuffer: outputBytesMax,
  });
  const empty = await buildah("from", "scratch");
  await buildah("add", "--quiet", empty, tree, "/");
  await buildah("commit", "--quiet", empty, "base");
  await buildDeb(join(folder, "context"));
  const options = ["--isolation", "chroot", "--format", "docker", "--build-arg", "BASE=localhost/base"];
  const file = join(repository, "ops/Dockerfile");
  await buildah("build", ...options, "--tag", "deedhouse", "--file", file, join(folder, "context"));
});

/** The words that run the program of the image in a container, with a network and settings. */
async function containerWith(settings: Record<string, string>): Promise<string[]> {
  const container = await buildah("from", "localhost/deedhouse");
  const environment = Object.entries(settings).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  return ["buildah", ...store, "run", "--isolation", "chroot", ...environment, container, "--", "/usr/bin/deedhouse"];
}

test("api and worker of the image run without rights, on a real database, and show a reseller its name", {
  skip: reason,
}, async (t) => {
  const { url } = await startOwnServer(t, { fsync: "on" });
  const [port = 0] = await freePorts(1);
  const [program, ...words] = await containerWith({
    DATABASE_URL: url,
    DEEDHOUSE_MASTER_KEY: `1:${randomBytes(32).toString("hex")}`,
    DEEDHOUSE_REGISTRIES_FILE: "/var/lib/deedhouse/registries.json",
    DEEDHOUSE_SITE_DOMAIN: "sites.reseller.example",
    DEEDHOUSE_API_PORT: String(port),
  });
  const container = words.at(-3)!;
  await writeFile(join(folder, "registries.json"), "[]", { mode: 0o600 });
  const owner = ["--chown", `${imageUser}:${imageUser}`];
  await buildah("add", ...owner, container, join(folder, "registries.json"), "/var/lib/deedhouse/registries.json");
  const run = async (...args: string[]) =>
    (await promisify(execFile)(program!, [...words, ...args], { maxBuffer: outputBytesMax })).stdout;

  await run("migrate");
  await run("account", "create", "first");
  const made = JSON.parse(await run("key", "create", "--account", "first", "--json"));
  const worker = await startRole([program!, ...words, "worker"], "the worker is working", t);
  const api = await startRole([program!, ...words, "api"], "the API is listening", t);
  const key = { id: made.api_key as string, secret: new Secret(made.api_secret as string) };
  const [reseller] = await runSql<{ id: number }>(url, "SELECT id::int FROM resellers");
  await insertDomains(url, reseller!, ["held.example"]);
  const target = "/domains/held.example";
  const reply = await sendSigned({ url: `http://127.0.0.1:${port}`, key, clock: systemClock, method: "GET", target });
  assert.equal(reply.status, 200, reply.text);
  assert.equal((reply.body as { domain_name: string }).domain_name, "held.example");
  const user = await promisify(execFile)(program!, [...words.slice(0, -1), "id", "-u"]);
  assert.equal(user.stdout.trim(), String(imageUser));
  await api.stop();
  await worker.stop();
});
