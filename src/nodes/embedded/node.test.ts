import assert from "node:assert/strict";
import { mkdir, readdir, readFile, stat, unlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { TestFtpClient } from "#nodes/embedded/ftp/test-ftp-client.ts";
import { testAccount } from "#nodes/test-account.ts";
import { startTestNode, type TestNode, type TestNodeOptions } from "#nodes/test-embedded-node.ts";
import { getPage } from "#nodes/test-page.ts";

async function withNode(run: (node: TestNode) => Promise<void>, options?: TestNodeOptions): Promise<void> {
  const node = await startTestNode(options);
  try {
    await run(node);
  } finally {
    await node.close();
  }
}

const account = testAccount("a.example", 1);

describe("the embedded node", () => {
  test("knows its accounts and counts their files again after a restart", async () => {
    await withNode(async (node) => {
      await node.driver.ensureAccount({ ...account, filesMax: 9, suspended: true });
      await node.driver.ensureAccount(testAccount("b.example", 2));
      const client = await TestFtpClient.logIn(node.ports.ftpPort, "b.example");
      await client.send("MKD /www/folder");
      await client.store("/www/folder/a.txt", "12345");
      const before = await node.driver.list();
      await writeFile(join(node.dataDir, "homes/2/www/by-hand.txt"), "123");
      await node.restart();
      const [first, second] = await node.driver.list();
      assert.deepEqual(first, before[0]);
      assert.deepEqual(second, { ...before[1], usage: { bytes: 8, files: 3 } });
    });
  });

  test("keeps its records and folders to itself", async () => {
    await withNode(async (node) => {
      await node.driver.ensureAccount(account);
      const modes = ["accounts/1.json", "ftp-tls.pem", "homes", "uploads", "trash"].map(
        async (name) => (await stat(join(node.dataDir, name))).mode & 0o077,
      );
      assert.deepEqual(await Promise.all(modes), [0, 0, 0, 0, 0]);
    });
  });

  test("ends the same when it was killed between any two steps of making an account", async () => {
    await withNode(async (node) => {
      const record = join(node.dataDir, "accounts/1.json");
      await node.driver.ensureAccount(account);
      const whole = await readFile(record, "utf8");
      const leftovers = [
        () => unlink(record),
        async () => {
          await unlink(record);
          await writeFile(`${record}.tmp`, whole.slice(0, 20));
        },
        () => writeFile(join(node.dataDir, "uploads/half"), "half"),
      ];
      for (const leave of leftovers) {
        await leave();
        await node.restart();
        await node.driver.ensureAccount(account);
        await node.driver.probe(account);
        assert.deepEqual(await readdir(join(node.dataDir, "accounts")), ["1.json"]);
        assert.deepEqual(await readdir(join(node.dataDir, "homes")), ["1"]);
        assert.deepEqual(await readdir(join(node.dataDir, "uploads")), []);
      }
    });
  });

  test("ends the same when it was killed in the middle of removing an account", async () => {
    await withNode(async (node) => {
      await node.driver.ensureAccount(account);
      await writeFile(join(node.dataDir, "homes/1/www/a.txt"), "kept in the trash");
      await unlink(join(node.dataDir, "accounts/1.json"));
      await node.restart();
      await node.driver.remove(account);
      assert.deepEqual(await readdir(join(node.dataDir, "homes")), []);
      assert.equal(await readFile(join(node.dataDir, "trash/1/www/a.txt"), "utf8"), "kept in the trash");
    });
  });

  test("does not start with a record that it cannot read, and does not show it", async () => {
    const node = await startTestNode();
    await node.driver.ensureAccount(account);
    const record = join(node.dataDir, "accounts/1.json");
    const whole = await readFile(record, "utf8");
    await writeFile(record, whole.replace('"uid":1', '"uid":"one"'));
    await assert.rejects(node.restart(), (error: Error) => {
      return /1\.json is not an account record/.test(error.message) && !error.message.includes("$2b$");
    });
    await writeFile(record, whole);
    await node.restart();
    await node.close();
  });

  test("deletes what has been in the trash for longer than 30 days", async () => {
    await withNode(async (node) => {
      for (const uid of [1, 2]) await mkdir(join(node.dataDir, "trash", String(uid), "www"), { recursive: true });
      const longAgo = new Date(1_000_000_000_000);
      await utimes(join(node.dataDir, "trash/1"), longAgo, longAgo);
      // The first restart purges, the second waits until that is done.
      await node.restart();
      await node.restart();
      assert.deepEqual(await readdir(join(node.dataDir, "trash")), ["2"]);
    });
  });

  test("a page is there as soon as its upload is acknowledged, and the whole page", async () => {
    await withNode(async (node) => {
      await node.driver.ensureAccount(account);
      const client = await TestFtpClient.logIn(node.ports.ftpPort, "a.example");
      for (let round = 0; round < 20; round += 1) {
        const content = `${round} `.repeat(5_000);
        await client.store("/www/index.html", content);
        const { body } = await getPage(node.ports.webPort, "/", { host: "a.example.localhost" });
        assert.equal(body, content);
      }
    });
  });

  test("gives an account as many host names as a pack can have", async () => {
    await withNode(async (node) => {
      const hostNames = Array.from({ length: 1_000 }, (_, index) => `www-${index}.${"a".repeat(60)}.example`);
      await node.driver.ensureAccount({ ...account, hostNames });
      assert.equal((await node.driver.find(account.identifier))?.hostNames.length, 1_000);
    });
  });

  test("refuses an identifier under the domain of its own sites", async () => {
    await withNode(async (node) => {
      for (const identifier of ["localhost", "b.localhost"]) {
        await assert.rejects(node.driver.ensureAccount(testAccount(identifier, 2)), { reason: "invalid" });
      }
    });
  });

  test("keeps its certificate over a restart", async () => {
    await withNode(async (node) => {
      const before = await readFile(join(node.dataDir, "ftp-tls.pem"), "utf8");
      await node.restart();
      assert.equal(await readFile(join(node.dataDir, "ftp-tls.pem"), "utf8"), before);
    });
  });
});
