/** What Debian's own tools say of the package and its units. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { buildDeb } from "../../tools/package/deb.ts";
import { repository } from "../../tools/package/stage.ts";

const run = promisify(execFile);
const isMissing = (program: string) => spawnSync(program, ["--version"]).error !== undefined;
const skip = isMissing("strip") && "binutils is not installed";
const exposureMax = 20;

const folder = await mkdtemp(join(tmpdir(), "deedhouse-deb-checks-"));
after(() => rm(folder, { recursive: true }));
let deb: string;
let second: string;
before(async () => {
  if (skip) return;
  [deb, second] = (await Promise.all([buildDeb(join(folder, "1")), buildDeb(join(folder, "2"))])) as [string, string];
});

test("two builds of the package have the same bytes", { skip }, async () => {
  assert.ok((await readFile(deb)).equals(await readFile(second)));
});

test("lintian finds no error", { skip: skip || (isMissing("lintian") && "lintian is not installed") }, async () => {
  const { stdout } = await run("lintian", ["--allow-root", "--fail-on", "none", deb]);
  assert.match(stdout, /^W: /m, "it has read the package");
  assert.deepEqual(
    stdout.split("\n").filter((line) => line.startsWith("E: ")),
    [],
  );
});

test("systemd takes the units, and finds api and worker as closed as they can be", {
  skip: skip || (isMissing("systemd-analyze") && "systemd is not installed"),
}, async () => {
  const tree = join(folder, "tree");
  await run("dpkg-deb", ["--extract", deb, tree]);
  const units = join(tree, "lib/systemd/system");
  const names = ["deedhouse-api.service", "deedhouse-worker.service"];
  for (const name of [...names, "deedhouse-agent.service"]) {
    const { stderr } = await run("systemd-analyze", ["verify", `--root=${tree}`, join(units, name)]).catch((e) => e);
    // Of the units that it names, the tree has only ours.
    const own = stderr.split("\n").filter((line: string) => line.includes("deedhouse") && !line.includes("not found"));
    assert.deepEqual(own, [], name);
  }
  for (const name of names) {
    await run("systemd-analyze", ["security", "--offline=yes", `--threshold=${exposureMax}`, join(units, name)]);
  }
});

test("api and worker have the same protection", async () => {
  const [api, worker] = await Promise.all(
    ["api", "worker"].map((role) => readFile(join(repository, `ops/systemd/deedhouse-${role}.service`), "utf8")),
  );
  assert.equal(api!.replaceAll("api", "worker"), worker);
});
