import assert from "node:assert/strict";
import { once } from "node:events";
import { truncate, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { type Clock, sleep, systemClock } from "#lib/clock.ts";
import type { Traffic } from "#nodes/driver.ts";
import { testAccount } from "#nodes/test-account.ts";
import { startTestNode, type TestNode, type TestNodeOptions } from "#nodes/test-embedded-node.ts";
import { getPage } from "#nodes/test-page.ts";

const largeBytes = 30_000_000;
const pollMs = 10;

/** A node with two sites, the first with a large page, that keeps its counts often. */
async function withSites(run: (node: TestNode) => Promise<void>, options: TestNodeOptions = {}): Promise<void> {
  const node = await startTestNode({ limits: { trafficFlushMs: 20 }, ...options });
  for (const uid of [1, 2]) {
    const identifier = `site-${uid}.example`;
    await node.driver.ensureAccount(testAccount(identifier, uid, { hostNames: [identifier] }));
  }
  const page = join(node.dataDir, "homes/1/www/large.bin");
  await writeFile(page, "");
  await truncate(page, largeBytes);
  await run(node).finally(() => node.close());
}
const get = (node: TestNode, uid: number, path: string) =>
  getPage(node.ports.webPort, path, { host: `site-${uid}.example` });
const trafficOf = async (node: TestNode, uid: number): Promise<Traffic> => {
  const { accounts } = await node.driver.usageChanges({ after: 0, waitMs: 0 });
  return accounts.find((account) => account.uid === uid)?.traffic ?? assert.fail("the traffic is not told");
};

test("traffic is what the site sent, including headers, per account", async () => {
  await withSites(async (node) => {
    assert.equal((await trafficOf(node, 1)).bytes, 0);
    await get(node, 1, "/large.bin");
    const { bytes } = await trafficOf(node, 1);
    assert.ok(bytes > largeBytes && bytes < largeBytes + 1_000, String(bytes));
    assert.equal((await trafficOf(node, 2)).bytes, 0);
    await get(node, 2, "/missing");
    const small = (await trafficOf(node, 2)).bytes;
    assert.ok(small > 100 && small < 1_000, String(small));
    await get(node, 2, "/missing");
    assert.equal((await trafficOf(node, 2)).bytes, 2 * small);
  });
});

test("traffic reaches who waits for changes", async () => {
  await withSites(async (node) => {
    const { version } = await node.driver.usageChanges({ after: 0, waitMs: 0 });
    const waiting = node.driver.usageChanges({ after: version, waitMs: 5_000 });
    await get(node, 2, "/");
    const { accounts } = await waiting;
    assert.deepEqual(
      accounts.map(({ uid }) => uid),
      [2],
    );
    assert.ok((accounts[0]?.traffic?.bytes ?? 0) > 0);
  });
});

test("a download counts while it runs, and only as far as it went", async () => {
  await withSites(async (node) => {
    const socket = connect(node.ports.webPort, "127.0.0.1");
    socket.write("GET /large.bin HTTP/1.1\r\nHost: site-1.example\r\n\r\n");
    await once(socket, "data");
    socket.pause();
    while ((await trafficOf(node, 1)).bytes === 0) await sleep(pollMs);
    socket.destroy();
    const { bytes } = await trafficOf(node, 1);
    assert.ok(bytes < largeBytes, String(bytes));
  });
});

test("traffic is known again after a restart, and gone with the account", async () => {
  await withSites(async (node) => {
    await get(node, 1, "/large.bin");
    const before = await trafficOf(node, 1);
    await node.restart();
    assert.deepEqual(await trafficOf(node, 1), before);
    await get(node, 1, "/missing");
    assert.ok((await trafficOf(node, 1)).bytes > before.bytes);
    await node.driver.remove({ identifier: "site-1.example", uid: 1 });
    await node.restart();
    await node.driver.ensureAccount(testAccount("site-1.example", 3, { hostNames: ["site-1.example"] }));
    assert.equal((await trafficOf(node, 3)).bytes, 0);
  });
});

test("a new month counts from 0, and a clock set back does not bring the old one back", async () => {
  let now = new Date("2026-11-30T23:59:59Z");
  const clock: Clock = { now: () => now, monotonicMs: systemClock.monotonicMs };
  await withSites(
    async (node) => {
      await get(node, 1, "/large.bin");
      assert.equal((await trafficOf(node, 1)).month, "2026-11");
      now = new Date("2026-12-01T00:00:00Z");
      assert.deepEqual(await trafficOf(node, 1), { month: "2026-12", bytes: 0 });
      await get(node, 1, "/missing");
      now = new Date("2026-11-30T23:59:59Z");
      const { month, bytes } = await trafficOf(node, 1);
      assert.ok(month === "2026-12" && bytes > 0 && bytes < 1_000);
      await node.restart();
      assert.deepEqual(await trafficOf(node, 1), { month, bytes });
    },
    { clock },
  );
});

test("a node does not start with a count that it cannot read", async () => {
  await withSites(async (node) => {
    const file = join(node.dataDir, "traffic.json");
    await get(node, 1, "/");
    // Stopping writes the file; what stands there when it starts again is ours.
    await assert.rejects(
      node.restart(() => writeFile(file, "{")),
      /traffic\.json is not a traffic file/,
    );
    await node.restart(() => writeFile(file, '{"month":"2026-11","bytes":{"1":5}}'));
  });
});
