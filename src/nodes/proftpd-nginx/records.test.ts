import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { appendFile, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { QuotaTable } from "#nodes/proftpd-nginx/quota-table.ts";
import { Records } from "#nodes/proftpd-nginx/records.ts";
import { passwordHash, testAccount } from "#nodes/test-account.ts";

const folder = await mkdtemp(join(tmpdir(), "deedhouse-records-"));
after(() => rm(folder, { recursive: true }));

const account = testAccount("first.example", 200_001, { hostNames: ["www.first.example"] });
const other = testAccount("other.example", 200_002);
/** As they stand there after many changes. */
const overtakenLines = '{"done":[]}\n'.repeat(2_000);

test("what was begun and not finished is known after a crash, also when a line was only half written", async () => {
  const path = join(folder, "a.jsonl");
  let records = await Records.open(path);
  for (const each of [account, other]) records.take({ kind: "account", account: each });
  await records.flush();
  await records.finish([account.uid]);
  await records.close();
  await appendFile(path, '{"account":{"identifier":"half.exa');
  records = await Records.open(path);
  assert.deepEqual(
    records.unfinished().map((state) => state.account.uid),
    [other.uid],
  );
  assert.equal(records.find("first.example")?.passwordHash?.reveal(), passwordHash.reveal());
  assert.equal(records.findByHostName("www.first.example")?.uid, account.uid);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  await records.close();
});

test("records that were overtaken are forgotten, removed accounts never", async () => {
  const path = join(folder, "b.jsonl");
  let records = await Records.open(path);
  records.take({ kind: "removed", account: { identifier: other.identifier, uid: other.uid } });
  for (let filesMax = 1; filesMax <= 3; filesMax++) {
    records.take({ kind: "account", account: { ...account, filesMax } });
    await records.flush();
  }
  await records.finish([other.uid]);
  await records.close();
  await appendFile(path, overtakenLines);
  for (let count = 0; count < 2; count++) {
    records = await Records.open(path);
    assert.equal(records.get(account.uid)?.filesMax, 3);
    assert.deepEqual(
      records.unfinished().map((state) => state.account.uid),
      [account.uid],
    );
    assert.ok(records.isRemoved(other.uid));
    await records.close();
  }
  assert.ok((await readFile(path, "utf8")).split("\n").length < 10);
});

test("the file of a node that runs for long stays as short as its accounts are few", async () => {
  const path = join(folder, "d.jsonl");
  await appendFile(path, overtakenLines.slice(0, overtakenLines.length / 2));
  const records = await Records.open(path);
  for (let filesMax = 1; filesMax <= 10; filesMax++) {
    records.take({ kind: "account", account: { ...account, filesMax } });
    await records.flush();
    await records.finish([account.uid]);
  }
  await records.close();
  assert.ok((await readFile(path, "utf8")).split("\n").length < 30);
  const again = await Records.open(path);
  assert.equal(again.get(account.uid)?.filesMax, 10);
  assert.deepEqual(again.unfinished(), []);
  await again.close();
});

const hasFileLimit = spawnSync("prlimit", ["--version"]).error === undefined;

test("a disk that is full spoils no record", { skip: !hasFileLimit && "prlimit is not installed" }, async () => {
  const path = join(folder, "e.jsonl");
  const records = await Records.open(path);
  const fileBytesMax = (limit: string) => execFileSync("prlimit", [`--pid=${process.pid}`, `--fsize=${limit}:`]);
  for (const { identifier, uid } of [account, other]) {
    records.take({ kind: "removed", account: { identifier, uid } });
    await records.flush();
    // Room for a part of the line.
    fileBytesMax(String((await stat(path)).size + 5));
    await assert.rejects(records.finish([uid]), { code: "EFBIG" });
    fileBytesMax("unlimited");
  }
  await records.finish([account.uid]);
  await records.close();
  const again = await Records.open(path);
  assert.deepEqual(
    again.unfinished().map((state) => state.account.uid),
    [other.uid],
  );
  await again.close();
});

test("a file that is no list of records is refused, without telling what is in it", async () => {
  const path = join(folder, "c.jsonl");
  await appendFile(path, `{"account":{"passwordHash":"${passwordHash.reveal()}"}}\n`);
  await assert.rejects(Records.open(path), (error: Error) => {
    assert.doesNotMatch(error.message, /\$2b\$/);
    return /restore it from a backup/.test(error.message);
  });
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
