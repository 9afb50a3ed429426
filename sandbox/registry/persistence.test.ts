import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { systemNow } from "./clock.ts";
import type { JournalEntry } from "./journal.ts";
import type { Domain } from "./objects.ts";
import { startSandboxRegistry } from "./server.ts";
import { contactCreateFrame, createFrame, infoFrame, pollFrame } from "./test/frames.ts";
import { RawClient, textOf } from "./test/raw-client.ts";
import { registrars } from "./test/setup.ts";

async function folderFor(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sandbox-registry-test-"));
  context.after(() => rm(folder, { recursive: true }));
  return folder;
}

const options = { suffixes: ["test"], registrars, pendingDelayMs: 60_000 };

/** The rows that another reader of the file finds while the registry runs: only committed ones. */
function committedRows(dataDir: string, table: string): unknown[] {
  using database = new DatabaseSync(join(dataDir, "registry.sqlite"), { readOnly: true });
  return database
    .prepare(`SELECT row FROM ${table}`)
    .all()
    .map(({ row }) => JSON.parse(row as string));
}

test("a folder from before 0.1.0 is refused, and stays as it is", async (context) => {
  const dataDir = await folderFor(context);
  await writeFile(join(dataDir, "registry.jsonl"), '{"sequence":1,"changes":[]}\n');
  await assert.rejects(
    startSandboxRegistry({ ...options, dataDir }),
    /registry\.jsonl is from before 0\.1\.0: start with another/,
  );
  assert.equal(await readFile(join(dataDir, "registry.jsonl"), "utf8"), '{"sequence":1,"changes":[]}\n');
  assert.ok(!(await readdir(dataDir)).includes("registry.sqlite"));
});

test("has on disk what it has answered, before anything is closed", async (context) => {
  const dataDir = await folderFor(context);
  const registry = await startSandboxRegistry({ ...options, dataDir });
  context.after(() => registry.close());
  const client = await RawClient.login(registry);
  await client.ask(contactCreateFrame("reg-1"));
  await client.ask(createFrame("a.test", { clTRID: "order-1" }));
  const names = committedRows(dataDir, "domains") as Domain[];
  assert.deepEqual(
    names.map(({ name }) => name),
    ["a.test"],
  );
  const frames = committedRows(dataDir, "frames") as JournalEntry[];
  assert.ok(
    frames.some(({ clTRID, executed }) => clTRID === "order-1" && executed),
    "its journal entry too",
  );
  client.close();
});

test("keeps names, pending messages, journal and certificate across a restart, and repeats no svTRID", async (context) => {
  const dataDir = await folderFor(context);
  const first = await startSandboxRegistry({ ...options, dataDir });
  const client = await RawClient.login(first);
  await client.ask(contactCreateFrame("reg-1"));
  await client.ask(createFrame("a.test"));
  const pending = await client.ask(createFrame("pending-approve-a.test"));
  const certificate = await readFile(first.caFile, "utf8");
  await first.close();

  const later = () => new Date(systemNow().getTime() + 120_000);
  const second = await startSandboxRegistry({ ...options, dataDir, now: later });
  context.after(() => second.close());
  assert.equal(await readFile(second.caFile, "utf8"), certificate);
  const again = await RawClient.login(second);
  const info = await again.ask(infoFrame("a.test"));
  assert.equal(textOf(info, "clID"), "gate-one");
  assert.ok(Number(info.svTRID.slice(4)) > Number(pending.svTRID.slice(4)));
  let poll = await again.ask(pollFrame);
  while (poll.code === 1300) poll = await again.ask(pollFrame);
  assert.ok(poll.xml.includes(pending.svTRID));
  assert.equal(
    second.store.journal.entries({ name: "a.test", command: "domain:create" }).filter((e) => e.executed).length,
    1,
  );
  again.close();
});

test("refuses a folder that another process uses, until that process has ended", async (context) => {
  const dataDir = await folderFor(context);
  const first = await startSandboxRegistry({ ...options, dataDir });
  await assert.rejects(startSandboxRegistry({ ...options, dataDir }), /^Error: Another sandbox registry uses /);
  await first.seed(["a.test"]);
  await first.close();
  const second = await startSandboxRegistry({ ...options, dataDir });
  assert.ok(second.store.domains.find("a.test"));
  await second.close();
});

test("names the file that it cannot create, and what to do", async (context) => {
  const dataDir = await folderFor(context);
  // Fails like a folder without write permission, also for root.
  await mkdir(join(dataDir, "lock.sqlite"));
  await assert.rejects(startSandboxRegistry({ ...options, dataDir }), /lock\.sqlite cannot be used .*make its folder/);
});

test("keeps the characters of every text across a restart", async (context) => {
  const dataDir = await folderFor(context);
  const first = await startSandboxRegistry({ ...options, dataDir });
  await first.seed([{ name: "a.test", authInfo: "\u2028\u2029\u0085\r\n\ufeff" }]);
  await first.close();
  const second = await startSandboxRegistry({ ...options, dataDir });
  assert.equal(second.store.domains.find("a.test")?.authInfo, "\u2028\u2029\u0085\r\n\ufeff");
  await second.close();
});

test("hides the key and the store from other users", async (context) => {
  const dataDir = await folderFor(context);
  const registry = await startSandboxRegistry({ ...options, dataDir });
  context.after(() => registry.close());
  for (const file of ["registry.sqlite", "registry.sqlite-wal", "tls/server-key.pem"]) {
    assert.equal((await stat(join(dataDir, file))).mode & 0o777, 0o600, file);
  }
});

test("keeps only the newest frames, in the file too", async (context) => {
  const dataDir = await folderFor(context);
  const small = { ...options, dataDir, journalFramesMax: 10 };
  const first = await startSandboxRegistry(small);
  const client = await RawClient.login(first);
  for (let count = 0; count < 30; count++) await client.ask(infoFrame("a.test"));
  const kept = first.store.journal.entries();
  client.close();
  await first.close();
  assert.ok(committedRows(dataDir, "frames").length < 20);
  const second = await startSandboxRegistry(small);
  context.after(() => second.close());
  assert.deepEqual(second.store.journal.entries(), JSON.parse(JSON.stringify(kept)));
});

test("repeats no svTRID after a kill, although nothing was changed", async (context) => {
  const dataDir = await folderFor(context);
  const entry = join(import.meta.dirname, "test/run-main.ts");
  const svTRIDs: string[] = [];
  for (let count = 0; count < 3; count++) {
    const args = ["--suffix", "test", "--registrar", "gate-one:secret-1", "--data", dataDir];
    const child = fork(entry, args, { stdio: "inherit" });
    context.after(() => child.kill("SIGKILL"));
    const [ready] = (await once(child, "message")) as [{ port: number; caFile: string }];
    const client = await RawClient.login(ready);
    svTRIDs.push((await client.ask(infoFrame("a.test"))).svTRID);
    child.kill("SIGKILL");
    await once(child, "exit");
    client.close();
  }
  assert.equal(new Set(svTRIDs).size, svTRIDs.length, svTRIDs.join(" "));
});
