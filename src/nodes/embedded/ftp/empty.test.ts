import assert from "node:assert/strict";
import { Readable, Writable } from "node:stream";
import { test } from "node:test";
import { password, testAccount } from "#nodes/test-account.ts";
import { startTestNode } from "#nodes/test-embedded-node.ts";
import { logInFtp } from "#nodes/test-ftp-login.ts";

test("an empty file and an empty folder come over TLS every time", async (t) => {
  const node = await startTestNode();
  t.after(() => node.close());
  await node.driver.ensureAccount(testAccount("a.example", 1));
  const ftp = { host: "127.0.0.1", port: node.ports.ftpPort };
  const client = await logInFtp(ftp, "a.example", password, { rejectUnauthorized: false });
  t.after(() => client.close());
  assert.deepEqual(await client.list("/www"), []);
  await client.uploadFrom(Readable.from([]), "/www/empty.txt");
  for (let times = 0; times < 20; times += 1) {
    const sink = new Writable({ write: () => assert.fail("it has content") });
    assert.equal((await client.downloadTo(sink, "/www/empty.txt")).code, 226);
  }
});
