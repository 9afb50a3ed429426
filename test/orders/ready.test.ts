import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "#lib/clock.ts";
import { holdAt } from "./hold.ts";
import { place } from "./judge.ts";
import { startWithWorkers } from "./worker-process.ts";

test("a worker is ready once it listens to questions about names, so the first order is not refused", async (t) => {
  const { gateway, start } = await startWithWorkers(t);
  const hold = await holdAt(t, gateway.databaseUrl, { table: "registries", on: "INSERT", when: "true" });
  let isReady = false;
  const started = start().then(() => {
    isReady = true;
  });
  await hold.reached();
  for (let looks = 0; looks < 100 && !isReady; looks++) await sleep(10);
  assert.equal(isReady, false, "it said so while its sessions were not open yet");
  await hold.release();
  await started;
  await place(gateway, await gateway.addReseller(), "first.example");
});
