import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { sleep } from "#lib/clock.ts";
import { TestFtpClient } from "#nodes/embedded/ftp/test-ftp-client.ts";
import { testAccount } from "#nodes/test-account.ts";
import { createAccount, forkNode } from "#nodes/test-embedded-node.ts";

const pollMs = 20;
const sessions = 200;
/** Forty addresses, each with few enough sessions to have its share of the last places too. */
const addressOf = (at: number) => `127.0.0.${2 + (at % 40)}`;

describe("the process of an embedded node", () => {
  let dataDir: string;
  let child: ChildProcess;
  let ftpPort: number;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "deedhouse-node-"));
    const sizes = { diskBytesMax: 10_000_000_000, filesMax: 10_000, sessionsMax: sessions };
    await createAccount(dataDir, testAccount("a.example", 1, sizes));
    child = forkNode(dataDir);
    const [ready] = await Promise.race([once(child, "message"), once(child, "exit")]);
    assert.equal(ready?.type, "ready", "the node did not start");
    ftpPort = ready.ftpPort;
  });
  after(async () => {
    const exited = once(child, "exit");
    child.kill();
    await exited;
    await rm(dataDir, { recursive: true });
  });

  const memoryMb = async () => {
    const status = await readFile(`/proc/${child.pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_000;
  };
  const handles = async () => (await readdir(`/proc/${child.pid}/fd`)).length;
  const untilHandlesAre = async (count: number) => {
    while ((await handles()) > count) await sleep(pollMs);
  };

  test("1,000 sessions leave no handle behind", async () => {
    const one = async (at: number) => {
      const client = await TestFtpClient.logIn(ftpPort, "a.example", undefined, addressOf(at));
      // All ways to go: politely, with a port open, in the middle of an upload, in the middle of a handshake.
      if (at % 4 === 0) await client.send("QUIT");
      if (at % 4 === 1) await client.passivePort();
      if (at % 4 === 2) {
        const data = await client.openData(addressOf(at));
        await client.send("STOR /www/half.txt");
        data.write("half");
        data.destroy();
      }
      client.close();
      if (at % 4 === 3) {
        const { client: other } = await TestFtpClient.connect(ftpPort, addressOf(at));
        await other.send("AUTH TLS");
        other.close();
      }
    };
    await one(0);
    const before = await handles();
    for (let start = 0; start < 1_000; start += 20) {
      await Promise.all(Array.from({ length: 20 }, (_, at) => one(start + at)));
    }
    await untilHandlesAre(before);
    // A file of an upload that was broken off is closed first, and then removed.
    while ((await readdir(join(dataDir, "uploads"))).length > 0) await sleep(pollMs);
  });

  test("200 connections that send all they may before the login take less than 40 MB", async () => {
    const [handlesBefore, before] = [await handles(), await memoryMb()];
    const sockets = Array.from({ length: sessions }, (_, at) => {
      const socket = connect({ host: "127.0.0.1", port: ftpPort, localAddress: addressOf(at) }).on("error", () => {});
      socket.resume().write(`USER nobody\r\nPASS x\r\n${`${"x".repeat(4_000)}\r\n`.repeat(4)}${"x".repeat(4_000)}`);
      return socket;
    });
    while ((await handles()) < handlesBefore + sessions) await sleep(pollMs);
    const grown = (await memoryMb()) - before;
    for (const socket of sockets) socket.destroy();
    await untilHandlesAre(handlesBefore);
    assert.ok(grown < 40, `${grown} MB`);
  });

  test("200 uploads at once take less than 200 MB", async () => {
    const handlesBefore = await handles();
    const clients = await Promise.all(
      Array.from({ length: sessions }, (_, at) => TestFtpClient.logIn(ftpPort, "a.example", undefined, addressOf(at))),
    );
    const before = await memoryMb();
    let most = 0;
    const piece = Buffer.alloc(1_000_000);
    const uploads = clients.map(async (client, at) => {
      const data = await client.openData(addressOf(at));
      assert.equal((await client.send(`STOR /www/${at}.bin`)).code, 150);
      data.end(piece);
      assert.equal((await client.reply()).code, 226);
      most = Math.max(most, (await memoryMb()) - before);
    });
    await Promise.all(uploads);
    for (const client of clients) client.close();
    await untilHandlesAre(handlesBefore);
    assert.ok(most < 200, `${most} MB`);
  });
});
