/** FileZilla's behaviour over a raw TLS socket: its order of commands, its timing, one TLS session for all connections. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { TestFtpClient } from "#nodes/embedded/ftp/test-ftp-client.ts";
import { password, testAccount, usageOf } from "#nodes/test-account.ts";
import { startTestNode, type TestNode } from "#nodes/test-embedded-node.ts";

describe("FileZilla's command sequence", () => {
  let node: TestNode;
  let client: TestFtpClient;
  before(async () => {
    node = await startTestNode();
    await node.driver.ensureAccount(testAccount("a.example", 1));
    client = (await TestFtpClient.connect(node.ports.ftpPort)).client;
  });
  after(async () => {
    client.close();
    await node.close();
  });

  /** Sends the commands one after another, and compares the reply codes. */
  const expectCodes = async (expected: [string, number][]) => {
    for (const [command, code] of expected) assert.equal((await client.send(command)).code, code, command);
  };
  const openPassive = async () => {
    const { text } = await client.send("PASV");
    const [high, low] = text
      .match(/(\d+),(\d+)\)/)!
      .slice(1)
      .map(Number) as [number, number];
    return client.connectData(high * 256 + low);
  };
  const resumed = async (data: Socket) => {
    const secure = await client.secureData(data);
    assert.ok(secure.isSessionReused(), "the data connection did not resume the control connection's TLS session");
    return secure;
  };
  const list = async () => {
    const data = await openPassive();
    assert.equal((await client.send("MLSD")).code, 150);
    const secure = await resumed(data);
    let listing = "";
    for await (const chunk of secure.setEncoding("utf8")) listing += chunk;
    assert.equal((await client.reply()).code, 226);
    return listing;
  };
  const store = async (name: string, content: string) => {
    const data = await openPassive();
    assert.equal((await client.send(`STOR ${name}`)).code, 150);
    const secure = await resumed(data);
    secure.end(content);
    assert.equal((await client.reply()).code, 226);
  };

  test("logs in over TLS and sees what the server can do", async () => {
    await expectCodes([["AUTH TLS", 234]]);
    await client.startTls();
    await expectCodes([
      ["USER a.example", 331],
      [`PASS ${password}`, 230],
      ["SYST", 215],
      ["FEAT", 211],
      ["CLNT FileZilla", 502],
      ["OPTS UTF8 ON", 200],
      ["OPTS MLST type;size;modify;perm;", 200],
      ["PBSZ 0", 200],
      ["PROT P", 200],
      ["OPTS MLST type;size;modify;", 200],
    ]);
    assert.match((await client.send("PWD")).text, /^"\/" /);
  });

  test("lists, enters and uploads, all data connections with one TLS session", async () => {
    await expectCodes([["TYPE I", 200]]);
    assert.match(await list(), /^type=dir;modify=\d{14}; www\r\n$/);
    await expectCodes([
      ["CWD /www", 250],
      ["PWD", 257],
      ["MKD new folder", 257],
      ["CWD new folder", 250],
      ["TYPE A", 200],
    ]);
    await store("page.html", "<p>one</p>");
    // FileZilla sets times only if FEAT lists MFMT. If a client sends MFMT anyway, the upload is kept.
    await expectCodes([
      ["MFMT 20200101000000 page.html", 502],
      ["TYPE I", 200],
      ["SIZE page.html", 213],
      ["MDTM page.html", 213],
    ]);
    assert.match(await list(), /^type=file;size=10;modify=\d{14}; page\.html\r\n$/);
  });

  test("resumes nothing, so it uploads again from the start", async () => {
    await expectCodes([
      ["REST 5", 502],
      ["REST 0", 502],
      ["APPE page.html", 502],
    ]);
    await store("page.html", "<p>two</p>");
  });

  test("renames, deletes, keeps alive and leaves", async () => {
    await expectCodes([
      ["RNFR page.html", 350],
      ["RNTO index.html", 250],
      ["SITE CHMOD 755 index.html", 502],
      ["NOOP", 200],
      ["TYPE A", 200],
      ["PWD", 257],
      ["DELE index.html", 250],
      ["CDUP", 250],
      ["RMD new folder", 250],
      ["RMD new folder", 550],
      ["EPSV", 229],
      ["QUIT", 221],
    ]);
    assert.deepEqual(await usageOf(node.driver, "a.example"), { bytes: 0, files: 0 });
  });

  test("after PROT P a data connection without TLS is refused, and stores nothing", async () => {
    const { client: other } = await TestFtpClient.connect(node.ports.ftpPort);
    await other.send("AUTH TLS");
    await other.startTls();
    for (const command of ["USER a.example", `PASS ${password}`, "PBSZ 0", "PROT P"]) await other.send(command);
    const data = await other.openData();
    assert.equal((await other.send("STOR /www/clear.txt")).code, 150);
    data.end("in clear");
    await once(data.resume(), "close");
    assert.equal((await other.reply()).code, 426);
    assert.equal((await other.send("SIZE /www/clear.txt")).code, 550);
    other.close();
  });
});
