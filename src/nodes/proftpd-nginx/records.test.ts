import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { appendFile, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { QuotaTable } from "#nodes/proftpd-nginx/quota-table.ts";
import { Records } from "#nodes/proftpd-nginx/records.ts";
import { passwordHash, testAccount } from "#nodes/test-account.ts";

const folder = await mkdtemp(join(tmpdir(), "deedhouse-records-"));
after(() => rm(folder, { recursive: true }));

const account = testAccount("first.example", 200_001, { hostNames: ["www.first.example"] });
const other = testAccount("other.example", 200_002);
const uidsOf = (states: readonly { account: { uid: number } }[]) => states.map((state) => state.account.uid);

test("a state that was recorded and not finished is known after a crash", async () => {
  const path = join(folder, "a.sqlite");
  const killed = await Records.open(path);
  for (const each of [account, other]) killed.take({ kind: "account", account: each });
  await killed.flush();
  await killed.finish([account.uid]);
  // A killed process closes nothing.
  const records = await Records.open(path);
  assert.deepEqual(uidsOf(records.unfinished()), [other.uid]);
  assert.equal(records.find("first.example")?.passwordHash?.reveal(), passwordHash.reveal());
  assert.equal(records.findByHostName("www.first.example")?.uid, account.uid);
  for (const file of [path, `${path}-wal`]) assert.equal((await stat(file)).mode & 0o777, 0o600);
  await Promise.all([records.close(), killed.close()]);
});

test("only the last state of an account is kept, and a removed account is never forgotten", async () => {
  const path = join(folder, "b.sqlite");
  let records = await Records.open(path);
  records.take({ kind: "removed", account: { identifier: other.identifier, uid: other.uid } });
  for (let filesMax = 1; filesMax <= 3; filesMax++) {
    records.take({ kind: "account", account: { ...account, filesMax } });
    await records.flush();
  }
  await records.finish([other.uid]);
  await records.close();
  for (let count = 0; count < 2; count++) {
    records = await Records.open(path);
    assert.equal(records.get(account.uid)?.filesMax, 3);
    assert.deepEqual(uidsOf(records.unfinished()), [account.uid]);
    assert.ok(records.isRemoved(other.uid));
    assert.equal(records.highestUid, other.uid);
    await records.close();
  }
});

const hasFileLimit = spawnSync("prlimit", ["--version"]).error === undefined;

test("a full disk damages no record", { skip: !hasFileLimit && "prlimit is not installed" }, async () => {
  const path = join(folder, "e.sqlite");
  const records = await Records.open(path);
  const fileBytesMax = (limit: string) => execFileSync("prlimit", [`--pid=${process.pid}`, `--fsize=${limit}:`]);
  for (const { identifier, uid } of [account, other]) {
    records.take({ kind: "removed", account: { identifier, uid } });
    await records.flush();
    // Space for a part of the page.
    fileBytesMax(String((await stat(`${path}-wal`)).size + 5));
    await assert.rejects(records.finish([uid]), { code: "ERR_SQLITE_ERROR" });
    fileBytesMax("unlimited");
  }
  await records.finish([account.uid]);
  await records.close();
  const again = await Records.open(path);
  assert.deepEqual(uidsOf(again.unfinished()), [other.uid]);
  await again.close();
});

test("an invalid record is refused, and the error does not quote it", async () => {
  const path = join(folder, "c.sqlite");
  const records = await Records.open(path);
  records.take({ kind: "account", account });
  await records.flush();
  await records.close();
  const database = new DatabaseSync(path);
  database.exec("UPDATE states SET account = json_remove(account, '$.uid')");
  database.close();
  await assert.rejects(Records.open(path), refusesWithoutHash);
});

function refusesWithoutHash(error: Error): boolean {
  assert.doesNotMatch(error.message, /\$2b\$/);
  return /restore it from a backup/.test(error.message);
}

test("a node with a journal from before 0.1.0 is refused, and its folder stays as it is", async () => {
  const journal = join(folder, "g.jsonl");
  await appendFile(journal, `{"account":{"passwordHash":"${passwordHash.reveal()}"}}\n`);
  await assert.rejects(Records.open(join(folder, "g.sqlite"), journal), (error: Error) => {
    assert.doesNotMatch(error.message, /\$2b\$/);
    return /from before 0\.1\.0: install the node again/.test(error.message);
  });
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.startsWith("g.")),
    ["g.jsonl"],
  );
});

const hasQuotaTool = spawnSync("ftpquota", ["--version"]).error === undefined;

test("ProFTPD's own tool reads the limits", { skip: !hasQuotaTool && "proftpd-core is not installed" }, async () => {
  const paths = { quotaLimits: join(folder, "limits"), quotaTally: join(folder, "tally") };
  let table = await QuotaTable.open(paths);
  table.setLimit(200_001, 1_000, 10);
  table.setLimit(200_002, 5_000_000_000_000, 2 ** 40);
  table.clearLimit(200_001);
  table.close();
  table = await QuotaTable.open(paths);
  table.setLimit(200_003, 3_000, 30);
  table.setLimit(200_002, 5_000_000_000_000, 20);
  table.close();
  const show = ["--show-records", "--type=limit", `--table-path=${paths.quotaLimits}`, "--units=byte"];
  const shown = execFileSync("ftpquota", show, { encoding: "utf8" });
  assert.deepEqual(shown.match(/Name: .*/g), ["Name: u200003", "Name: u200002"]);
  assert.match(shown, /Uploaded bytes:\s+5000000000000/);
  assert.equal((await stat(paths.quotaLimits)).size, 4 + 2 * 126);
});
