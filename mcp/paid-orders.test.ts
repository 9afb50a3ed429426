import assert from "node:assert/strict";
import { appendFileSync, chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { instantClock } from "../client/testing/instant-clock.ts";
import { createPaidOrders, PaidOrderError } from "./paid-orders.ts";

const apiKey = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";
const otherKey = "ffffffffffffffffffffffffffffffff";
const dayMs = 86_400_000;

function startCounting(t: TestContext) {
  const above = mkdtempSync(join(tmpdir(), "deedhouse-mcp-paid-"));
  t.after(() => rmSync(above, { recursive: true }));
  const folder = join(above, "settings");
  const clock = instantClock();
  const open = (perDayMax: number, key = apiKey) => createPaidOrders({ folder, apiKey: key, perDayMax, clock });
  const onlyFile = () => join(folder, readdirSync(folder)[0]!);
  return { folder, clock, open, onlyFile };
}

test("a day's paid orders are counted across restarts, in a file that only its owner can read", async (t) => {
  const { folder, open, onlyFile } = startCounting(t);
  await open(2).count("registerDomain");
  assert.deepEqual(await open(2).check(), { placed: 1, max: 2 });
  await open(2).count("renewDomain");
  await assert.rejects(open(2).count("renewDomain"), /at 2027-01-16T00:00:00\.000Z.*--paid-orders-per-day N/);
  await assert.rejects(open(2).check(), PaidOrderError);
  assert.deepEqual(await open(3).check(), { placed: 2, max: 3 });
  assert.equal(statSync(onlyFile()).mode & 0o777, 0o600);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
});

test("the count begins again with the next UTC day, and the file of the day before is removed", async (t) => {
  const { folder, clock, open } = startCounting(t);
  const paidOrders = open(1);
  await paidOrders.count("registerDomain");
  await assert.rejects(paidOrders.check(), PaidOrderError);
  await clock.sleep(dayMs);
  await paidOrders.count("registerDomain");
  assert.deepEqual(readdirSync(folder), ["mcp-paid-orders-2027-01-16.log"]);
});

test("each key is counted alone, and 0 allows none", async (t) => {
  const { open } = startCounting(t);
  await open(1).count("registerDomain");
  await open(1, otherKey).count("registerDomain");
  await assert.rejects(open(1).check(), PaidOrderError);
  await assert.rejects(open(0, otherKey).check(), /may place no paid orders.*--paid-orders-per-day N/);
});

test("an order that the service refused is taken back", async (t) => {
  const { open } = startCounting(t);
  const takeBack = await open(1).count("registerDomain");
  await takeBack();
  assert.deepEqual(await open(1).check(), { placed: 0, max: 1 });
});

test("servers that count in the same moment never place more than the limit", async (t) => {
  const { open } = startCounting(t);
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => open(5).count("registerDomain")));
  const placed = results.filter(({ status }) => status === "fulfilled").length;
  assert.ok(placed <= 5, `${placed} were placed`);
});

test("a line that a crash has cut counts as an order, and does not swallow the next one", async (t) => {
  const { open, onlyFile } = startCounting(t);
  await open(9).count("registerDomain");
  appendFileSync(onlyFile(), "\n+ 2027-01-15T08:00");
  assert.deepEqual(await open(9).check(), { placed: 2, max: 9 });
  await open(9).count("registerDomain");
  assert.deepEqual(await open(9).check(), { placed: 3, max: 9 });
});

test("nothing is placed when the file cannot be trusted or written", async (t) => {
  const { folder, open, onlyFile } = startCounting(t);
  await open(9).count("registerDomain");
  chmodSync(onlyFile(), 0o644);
  await assert.rejects(open(9).count("registerDomain"), /other users .* may read it.*Nothing was sent/);
  chmodSync(onlyFile(), 0o600);
  const before = readFileSync(onlyFile(), "utf8");
  const notFolder = createPaidOrders({ folder: onlyFile(), apiKey, perDayMax: 9, clock: instantClock() });
  await assert.rejects(notFolder.count("registerDomain"), /cannot be counted.*Nothing was sent/);
  assert.equal(readFileSync(onlyFile(), "utf8"), before);
  assert.equal(readdirSync(folder).length, 1);
});
