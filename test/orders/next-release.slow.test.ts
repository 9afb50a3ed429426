/** Processes of the release before and of this one, on the schema of the next: killed, and judged by the registry's journal. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { migrate } from "#db/migrate.ts";
import type { Scope } from "../harness/database.ts";
import { repository } from "../harness/running-system.ts";
import { runSql } from "../harness/sql.ts";
import { assertEnds, creates, type PlacedOrder, place, until } from "./judge.ts";
import { startWithWorkers } from "./worker-process.ts";

const rounds = 4;
const ordersARound = 8;
const releaseBefore = "0.0.9";
const lastTag = () =>
  execFileSync("git", ["-C", repository, "tag", "--list", "v*", "--sort=-version:refname"], { encoding: "utf8" }).split(
    "\n",
    1,
  )[0]!;

/** The release before: its tag; until there is one, this commit under another version. @returns its entry point */
async function checkOutBefore(scope: Scope): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-before-"));
  scope.after(() => rm(folder, { recursive: true, force: true }));
  const archive = execFileSync("git", ["-C", repository, "archive", lastTag() || "HEAD"], { maxBuffer: 1024 ** 3 });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  await symlink(join(repository, "node_modules"), join(folder, "node_modules"));
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as object;
  await writeFile(join(folder, "package.json"), JSON.stringify({ ...manifest, version: releaseBefore }));
  return join(folder, "bin/deedhouse.ts");
}

/** This release's files, and one expand more. @returns the folder */
async function nextSchema(scope: Scope): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-next-"));
  scope.after(() => rm(folder, { recursive: true, force: true }));
  await cp(join(repository, "db"), folder, { recursive: true });
  const expand =
    "-- expand\nALTER TABLE orders ADD COLUMN next_note text;\nALTER TABLE domains ADD COLUMN next_count int NOT NULL DEFAULT 0;\n";
  await writeFile(join(folder, "migrations", "9001-next.sql"), expand);
  return folder;
}

test("workers of two releases take over from each other on the next schema, under kills, and repeat and lose nothing", async (t) => {
  const { gateway, start } = await startWithWorkers(t);
  const url = gateway.databaseUrl;
  const before = await checkOutBefore(t);
  const reseller = await gateway.addReseller();
  const owned = () =>
    until("one owns it", async () => {
      return (await runSql(url, "SELECT FROM registry_leases WHERE expires_at > now()")).length === 1;
    });
  const orders: PlacedOrder[] = [];
  let [owner, migrated] = [await start({ entry: before }), undefined as Promise<unknown> | undefined];
  for (let round = 0; round < rounds; round++) {
    await owned();
    const successor = await start(round % 2 === 0 ? {} : { entry: before });
    const names = Array.from({ length: ordersARound }, (_, index) => {
      return `${index % 3 === 0 ? "slow-150-" : ""}next-${round}-${index}.example`;
    });
    const placed = names.map((name) => place(gateway, reseller, name));
    // The schema changes under the load of the first round.
    migrated ??= nextSchema(t).then((folder) => migrate(url, { folder }));
    orders.push(...(await Promise.all(placed)));
    await until("some creates were executed", () => names.some((name) => creates(gateway, name).length > 0));
    await owner.kill();
    owner = successor;
  }
  await migrated;
  await owned();
  await Promise.all(orders.map((order) => assertEnds(gateway, reseller, order, "Finished")));
  const releases = await runSql<{ release: string }>(url, "SELECT DISTINCT release FROM processes ORDER BY release");
  assert.equal(releases.length, 2, "both releases have worked");
  const newest = await runSql<{ name: string }>(url, "SELECT name FROM migrations ORDER BY number DESC LIMIT 1");
  assert.deepEqual(newest, [{ name: "9001-next.sql" }]);
});
