import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { describe, test } from "node:test";
import { TestFtpClient } from "#nodes/embedded/ftp/test-ftp-client.ts";
import type { EmbeddedNodeLimits } from "#nodes/embedded/limits.ts";
import { testAccount } from "#nodes/test-account.ts";
import { startTestNode, type TestNode, type TestNodeOptions } from "#nodes/test-embedded-node.ts";

async function withNode(
  limits: Partial<EmbeddedNodeLimits>,
  run: (node: TestNode, port: number) => Promise<void>,
  options: TestNodeOptions = {},
): Promise<void> {
  const node = await startTestNode({ ...options, limits });
  try {
    await run(node, node.ports.ftpPort);
  } finally {
    await node.close();
  }
}

describe("FTP limits", () => {
  test("a silent connection is closed when its time to log in is over", async () => {
    await withNode({ loginMs: 50 }, async (_node, port) => {
      const { client } = await TestFtpClient.connect(port);
      assert.equal((await client.reply()).code, 421);
      assert.equal((await client.reply()).code, 0);
    });
  });

  test("a session that does nothing is closed", async () => {
    await withNode({ idleMs: 500 }, async (node, port) => {
      await node.driver.ensureAccount(testAccount("a.example", 1));
      const client = await TestFtpClient.logIn(port, "a.example");
      assert.equal((await client.reply()).code, 421);
      assert.equal((await client.reply()).code, 0);
    });
  });

  test("sessions of all addresses together have a limit", async () => {
    await withNode({ sessionsMax: 1 }, async (_node, port) => {
      const first = await TestFtpClient.connect(port);
      const second = await TestFtpClient.connect(port, "127.0.0.2");
      assert.deepEqual([first.greeting.code, second.greeting.code], [220, 421]);
      first.client.close();
      second.client.close();
    });
  });

  test("an account has as many sessions as it was given, and can still be probed", async () => {
    await withNode({}, async (node, port) => {
      const account = testAccount("a.example", 1, { sessionsMax: 1 });
      await node.driver.ensureAccount(account);
      const client = await TestFtpClient.logIn(port, "a.example");
      await assert.rejects(TestFtpClient.logIn(port, "a.example"));
      await node.driver.probe(account);
      client.close();
    });
  });

  test("data ports come from the range that was set; with none free the answer is 425", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port: free } = other.address() as AddressInfo;
    await once(other.close(), "close");
    await withNode(
      {},
      async (node, port) => {
        await node.driver.ensureAccount(testAccount("a.example", 1));
        const first = await TestFtpClient.logIn(port, "a.example");
        const second = await TestFtpClient.logIn(port, "a.example");
        assert.equal(await first.passivePort(), free);
        assert.equal((await second.send("EPSV")).code, 425);
        assert.equal(await first.passivePort(), free);
        first.close();
        second.close();
      },
      { passivePorts: { from: free, to: free } },
    );
  });

  test("a client that sends commands and reads no reply is cut", async () => {
    await withNode({ linesWaitingMax: 1_000_000 }, async (_node, port) => {
      const socket = connect(port, "127.0.0.1").pause();
      const commands = "FEAT\r\n".repeat(60);
      const send = () => socket.write(commands, (error) => error || setImmediate(send));
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.on("error", () => {});
      send();
      await closed;
    });
  });

  test("a transfer without a data connection ends by itself", async () => {
    await withNode({ dataConnectMs: 50 }, async (node, port) => {
      await node.driver.ensureAccount(testAccount("a.example", 1));
      const client = await TestFtpClient.logIn(port, "a.example");
      assert.equal((await client.send("STOR /www/a.txt")).code, 425);
      await client.passivePort();
      assert.equal((await client.send("STOR /www/a.txt")).code, 150);
      assert.equal((await client.reply()).code, 425);
      assert.equal((await client.send("NOOP")).code, 200);
      client.close();
    });
  });

  test("a data connection on which nothing moves is cut, and nothing is stored", async () => {
    await withNode({ dataStallMs: 50 }, async (node, port) => {
      await node.driver.ensureAccount(testAccount("a.example", 1));
      const client = await TestFtpClient.logIn(port, "a.example");
      const data = await client.openData();
      assert.equal((await client.send("STOR /www/a.txt")).code, 150);
      data.write("half");
      assert.equal((await client.reply()).code, 426);
      assert.equal((await client.send("SIZE /www/a.txt")).code, 550);
      client.close();
    });
  });
});
