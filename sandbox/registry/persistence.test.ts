import assert from "node:assert/strict";
import { appendFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { systemNow } from "./clock.ts";
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

test("has on disk what it has answered, before anything is closed", async (context) => {
  const dataDir = await folderFor(context);
  const registry = await startSandboxRegistry({ ...options, dataDir });
  context.after(() => registry.close());
  const client = await RawClient.login(registry);
  await client.ask(contactCreateFrame("reg-1"));
  await client.ask(createFrame("a.test", { clTRID: "order-1" }));
  const lines = (await readFile(join(dataDir, "registry.jsonl"), "utf8")).trimEnd().split("\n");
  const last = JSON.parse(lines.at(-1) ?? "") as { changes: { table: string }[] };
  assert.deepEqual(last.changes.filter(({ table }) => table === "domains").length, 1);
  assert.match(
    JSON.stringify(last.changes),
    /"clTRID":"order-1".*"executed":true/,
    "its journal entry in the same line",
  );
  client.close();
});

test("keeps names, messages to come, journal and certificate over a restart, and repeats no svTRID", async (context) => {
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

test("starts over a torn last line, and refuses one damaged in the middle", async (context) => {
  const dataDir = await folderFor(context);
  const file = join(dataDir, "registry.jsonl");
  const first = await startSandboxRegistry({ ...options, dataDir });
  await first.seed(["a.test"]);
  await first.close();
  await appendFile(file, '{"sequence":9,"changes":[{"table":"domains","pu');
  const second = await startSandboxRegistry({ ...options, dataDir });
  assert.ok(second.store.domains.find("a.test"));
  await second.close();

  await writeFile(file, `broken\n${await readFile(file, "utf8")}`);
  await assert.rejects(startSandboxRegistry({ ...options, dataDir }), /line 1 is damaged/);
});

test("lets no second process use its folder, and the next one once it is gone", async (context) => {
  const dataDir = await folderFor(context);
  const first = await startSandboxRegistry({ ...options, dataDir });
  await assert.rejects(
    startSandboxRegistry({ ...options, dataDir }),
    /^Error: Another sandbox registry is at work in /,
  );
  await first.seed(["a.test"]);
  await first.close();
  const second = await startSandboxRegistry({ ...options, dataDir });
  assert.ok(second.store.domains.find("a.test"));
  await second.close();
});

test("says which file it cannot make, and what to do", async (context) => {
  const dataDir = await folderFor(context);
  // As in a folder that cannot be written to, for whoever may write to all.
  await mkdir(join(dataDir, "lock.sqlite"));
  await assert.rejects(startSandboxRegistry({ ...options, dataDir }), /lock\.sqlite cannot be used .*make its folder/);
});

test("keeps texts whole over a restart that other programs would cut into lines", async (context) => {
  const dataDir = await folderFor(context);
  const first = await startSandboxRegistry({ ...options, dataDir });
  await first.seed([{ name: "a.test", authInfo: "\u2028\u2029\u0085\r\n\ufeff" }]);
  await first.close();
  const second = await startSandboxRegistry({ ...options, dataDir });
  assert.equal(second.store.domains.find("a.test")?.authInfo, "\u2028\u2029\u0085\r\n\ufeff");
  await second.close();
});

test("keeps the key and the store from other users", async (context) => {
  const dataDir = await folderFor(context);
  await (await startSandboxRegistry({ ...options, dataDir })).close();
  for (const file of ["registry.jsonl", "tls/server-key.pem"]) {
    assert.equal((await stat(join(dataDir, file))).mode & 0o777, 0o600, file);
  }
});
