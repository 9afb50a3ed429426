/**
 * `npm run test:deploy`: from an empty Debian 12 system to a signed request that the package serves, with the commands of
 * docs/deploy.md and Debian's PostgreSQL; then its upgrade, its stop and its purge. It takes some minutes, needs root, debootstrap,
 * binutils, Debian's mirror and the ports 5432 and 7400, and leaves nothing.
 */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import manifest from "../../package.json" with { type: "json" };
import { buildDeb } from "../../tools/package/deb.ts";
import { shellBlocks } from "../pages/shell-blocks.ts";
import { type Booted, boot } from "./boot.ts";
import { makeTree, whyNoTree } from "./tree.ts";

const run = promisify(execFile);
const services = ["deedhouse-api", "deedhouse-worker"];
const exposureMax = 2;
const installedVersion = manifest.version;
/** As on the page. */
const upgradedVersion = "0.2.0";
const ports = [5432, 7400];

const closers: (() => unknown)[] = [];
const scope = { after: (hook: () => unknown) => void closers.push(hook) };
after(async () => {
  for (const close of closers.toReversed()) await close();
});

const pageCommands = shellBlocks().filter(({ page }) => page === "docs/deploy.md");
/** The commands from one that begins so to another, word for word. */
function commandsOfPage(first: string, last: string): string[] {
  const commands = pageCommands.flatMap((block) => block.commands);
  const [from, to] = [first, last].map((begin) => commands.findIndex((command) => command.startsWith(begin)));
  assert.ok(from! >= 0 && to! >= from!, `docs/deploy.md has no commands from ${first} to ${last}`);
  return commands.slice(from, to! + 1);
}

/** The machine's network is also its own. */
async function assertFree(port: number): Promise<void> {
  const answers = await new Promise<boolean>((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
  assert.ok(!answers, `another program uses port ${port}: stop it`);
}

/** The package, and the same one as a later version. @returns their folder */
async function makePackages(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-debs-"));
  scope.after(() => rm(folder, { recursive: true }));
  const deb = await buildDeb(folder);
  const later = join(folder, "later");
  await run("dpkg-deb", ["--raw-extract", deb, later]);
  for (const path of ["DEBIAN/control", "usr/lib/deedhouse/package.json"]) {
    const text = await readFile(join(later, path), "utf8");
    await writeFile(join(later, path), text.replace(/(Version: |"version": ")[^"\n]+/, `$1${upgradedVersion}`));
  }
  const name = deb.replace(/_[^_]+_/, `_${upgradedVersion}_`);
  await run("dpkg-deb", ["--root-owner-group", "-Zxz", "-z1", "--build", later, name]);
  await rm(later, { recursive: true });
  return folder;
}

/** A root's shell in the system, which keeps what was exported and defined. */
function operatorAt(machine: Booted, folder: string) {
  const kept: string[] = [];
  return async (command: string): Promise<string> => {
    const script = ["exec 2>&1", `cd ${folder}`, "export DEBIAN_FRONTEND=noninteractive", ...kept, command].join("\n");
    if (/^export |^\w+\(\)/.test(command)) kept.push(command);
    return machine.run("bash", "-ec", script).catch(async (error: Error & { stdout?: string }) => {
      const journal = await machine.run("journalctl", "--no-pager", "--lines=60");
      throw new Error(`${command}: ${error.stdout}\n${journal}`, { cause: error });
    });
  };
}
type Operator = ReturnType<typeof operatorAt>;

/** Runs commands of the page. Where it says <key> and <secret>, it means those that a command before has printed. */
async function follow(operate: Operator, commands: readonly string[]): Promise<void> {
  let key: Record<string, string> = {};
  for (const command of commands) {
    const filled = command.replace("<key>", key.api_key ?? "").replace("<secret>", key.api_secret ?? "");
    const output = await operate(filled);
    if (!command.includes(" key create ")) continue;
    key = Object.fromEntries(
      [...output.matchAll(/^(api_key|api_secret) +(\S+)$/gm)].map(([, name, value]) => [name, value]),
    );
    assert.equal(Object.keys(key).length, 2, output);
  }
}

const running = async (operate: Operator) =>
  (JSON.parse(await operate("as_service deedhouse release --json 2>/dev/null")) as { role: string; release: string }[])
    .map(({ role, release }) => `${role} ${release}`)
    .toSorted();

const why =
  whyNoTree ||
  (process.arch !== "x64" && "the page's commands are for amd64") ||
  (spawnSync("strip", ["--version"]).error !== undefined && "binutils is not installed");

test("docs/deploy.md leads from an empty Debian 12 system to a served, signed request; upgrade, stop and purge keep what they must", {
  skip: why,
}, async (t) => {
  for (const port of ports) await assertFree(port);
  const [folder, tree] = await Promise.all([makePackages(), makeTree(scope)]);
  const machine = await boot(tree, folder);
  scope.after(() => machine.halt());
  const operate = operatorAt(machine, folder);
  await operate("apt-get update");

  const beganAtMs = performance.now();
  await follow(operate, commandsOfPage("apt-get install -y postgresql", "deedhouse whoami"));
  t.diagnostic(
    `from the page's first command to the served request: ${Math.round((performance.now() - beganAtMs) / 1000)} s`,
  );
  assert.match(await operate("deedhouse whoami"), /first/);
  assert.deepEqual(await running(operate), [`api ${installedVersion}`, `worker ${installedVersion}`]);
  for (const service of services) {
    const said = await operate(`systemd-analyze security --no-pager ${service}`);
    const exposure = Number(/Overall exposure level for .*: ([\d.]+)/.exec(said)?.[1]);
    t.diagnostic(`${service}: exposure ${exposure}`);
    assert.ok(exposure <= exposureMax, said);
  }

  const files = "cat /etc/deedhouse/master.key /etc/deedhouse/deedhouse.env";
  const configured = await operate(files);
  const upgrade = `apt-get install -y ./deedhouse_${upgradedVersion}`;
  await follow(operate, commandsOfPage(upgrade, upgrade));
  assert.deepEqual(await running(operate), [`api ${upgradedVersion}`, `worker ${upgradedVersion}`]);
  assert.match(await operate("as_service deedhouse migrate"), /the schema is up to date/);
  assert.match(await operate("deedhouse whoami"), /first/);
  assert.equal(await operate(files), configured);

  await operate("systemctl stop deedhouse.target");
  for (const service of services) {
    const ended = await operate(`systemctl show --property=ActiveState,Result,ExecMainStatus ${service}`);
    assert.deepEqual(ended.trim().split("\n").toSorted(), [
      "ActiveState=inactive",
      "ExecMainStatus=0",
      "Result=success",
    ]);
  }
  assert.match(await operate("apt-get purge -y deedhouse"), /kept \/etc\/deedhouse\/master\.key, .*every database/);
  assert.equal(await operate("ls /etc/deedhouse"), "master.key\n");
  assert.match(await operate("getent passwd deedhouse"), /^deedhouse:/);
  assert.match(await operate("runuser -u postgres -- psql -Atc 'SELECT count(*) FROM api_keys' deedhouse"), /^1$/m);
  assert.doesNotMatch(await operate("systemctl list-unit-files --no-pager"), /deedhouse/);
});
