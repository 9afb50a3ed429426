import assert from "node:assert/strict";
import { hostname } from "node:os";
import { test } from "node:test";
import { sleep } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { startLiveness } from "#locks/liveness.ts";
import { testDatabase } from "../../test/harness/database.ts";
import { startDatabaseProxy } from "../../test/harness/database-proxy.ts";

const log = createLog("test", "silent");

test("other processes see what a process works on until it is done", async (t) => {
  const { url, database } = await testDatabase(t);
  const [one, other] = [startLiveness({ database, log }, url), startLiveness({ database, log }, url)];
  t.after(() => Promise.all([one.close(), other.close()]));
  for (const liveness of [one, other]) await liveness.add("both do it");
  await one.add("this work");
  while (!(await other.findElsewhere("this work"))) await sleep(10);
  while (!(await one.findElsewhere("both do it"))) await sleep(10);
  assert.equal(await one.findElsewhere("this work"), undefined, "a process does not find itself");
  one.remove("both do it");
  while (await other.findElsewhere("both do it")) await sleep(10);
  assert.equal(await one.findElsewhere("both do it"), `process ${process.pid} on ${hostname()}`);
});

test("a connection that stops answering is replaced, and no call waits for it forever", async (t) => {
  const { url, database } = await testDatabase(t);
  const proxy = await startDatabaseProxy(url);
  t.after(() => proxy.close());
  const liveness = startLiveness({ database, log }, proxy.url, 50);
  const observer = startLiveness({ database, log }, url);
  t.after(() => Promise.all([liveness.close(), observer.close()]));
  const untilSeen = async (name: string) => {
    while (!(await observer.findElsewhere(name))) await sleep(10);
  };
  await liveness.add("before");
  await untilSeen("before");
  await proxy.holdNextCommitAnswer("SELECT 1");
  await liveness.add("after");
  await untilSeen("after");
  await untilSeen("before");
});
