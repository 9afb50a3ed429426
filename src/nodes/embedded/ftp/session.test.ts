import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { TestFtpClient } from "#nodes/embedded/ftp/test-ftp-client.ts";
import { testAccount, usageOf } from "#nodes/test-account.ts";
import { startTestNode, type TestNode } from "#nodes/test-embedded-node.ts";

describe("an FTP session", () => {
  let node: TestNode;
  let client: TestFtpClient;
  before(async () => {
    node = await startTestNode();
    await node.driver.ensureAccount(testAccount("a.example", 1));
    client = await TestFtpClient.logIn(node.ports.ftpPort, "A.example");
  });
  after(async () => {
    client.close();
    await node.close();
  });

  test("needs a login for everything about files", async () => {
    const { client: stranger } = await TestFtpClient.connect(node.ports.ftpPort);
    for (const command of ["PWD", "LIST", "EPSV", "PASV", "RETR a", "STOR a", "STAT", "TYPE I"]) {
      assert.equal((await stranger.send(command)).code, 530, command);
    }
    assert.equal((await stranger.send("PASS x")).code, 503);
    stranger.close();
  });

  test("sends a file back as it was stored", async () => {
    const content = "line\r\nline\n\u0000\u00e9".repeat(20_000);
    assert.equal((await client.store("/www/big.bin", content)).code, 226);
    const received = await client.receive("RETR /www/big.bin");
    assert.equal(received.reply.code, 226);
    assert.equal(received.content, content);
    assert.equal((await client.send("SIZE /www/big.bin")).text, String(Buffer.byteLength(content)));
    assert.equal((await client.send("DELE /www/big.bin")).code, 250);
  });

  test("walks through folders and quotes their names", async () => {
    assert.equal((await client.send('MKD /www/say "hi"')).text, '"/www/say ""hi""" created.');
    assert.equal((await client.send('CWD www/say "hi"')).code, 250);
    assert.match((await client.send("PWD")).text, /^"\/www\/say ""hi""" /);
    assert.equal((await client.send("CDUP")).code, 250);
    assert.equal((await client.send('RMD say "hi"')).code, 250);
    assert.equal((await client.send("CWD /")).code, 250);
    assert.equal((await client.send("RMD")).code, 501);
  });

  test("lists files and folders in every format", async () => {
    await client.send("MKD /www/list");
    await client.send("MKD /www/list/folder");
    await client.store("/www/list/gr\u00fc\u00df.txt", "12345");
    const long = await client.receive("LIST -la /www/list");
    assert.match(long.content, /^drwxr-xr-x 1 ftp ftp +\d+ [A-Z][a-z]{2} [ \d]\d \d\d:\d\d folder\r$/m);
    assert.match(long.content, /^-rw-r--r-- 1 ftp ftp +5 .* gr\u00fc\u00df\.txt\r$/m);
    const names = (await client.receive("NLST /www/list")).content.split("\r\n").sort();
    assert.deepEqual(names, ["", "folder", "gr\u00fc\u00df.txt"]);
    const facts = (await client.receive("MLSD /www/list")).content;
    assert.match(facts, /^type=dir;modify=\d{14}; folder\r$/m);
    assert.match(facts, /^type=file;size=5;modify=\d{14}; gr\u00fc\u00df\.txt\r$/m);
    assert.match((await client.send("MDTM /www/list/gr\u00fc\u00df.txt")).text, /^\d{14}$/);
    assert.equal((await client.send("MLSD /www/list/gr\u00fc\u00df.txt")).code, 501);
    assert.match((await client.receive("LIST /")).content, / www\r\n$/);
  });

  test("renames a file over a file, and counts what was replaced", async () => {
    await client.store("/www/new.txt", "new");
    await client.store("/www/old.txt", "old one");
    const before = await usageOf(node.driver, "a.example");
    await client.send("RNFR /www/new.txt");
    assert.equal((await client.send("RNTO /www/old.txt")).code, 250);
    assert.equal((await client.receive("RETR /www/old.txt")).content, "new");
    const { bytes, files } = await usageOf(node.driver, "a.example");
    assert.deepEqual({ bytes, files }, { bytes: before.bytes - 7, files: before.files - 1 });
    await client.send("MKD /www/target");
    await client.send("RNFR /www/old.txt");
    assert.equal((await client.send("RNTO /www/target")).code, 550);
    assert.equal((await client.send("RNTO /www/x")).code, 503);
  });

  test("stops a transfer on ABOR, also with the telnet signals before it", async () => {
    const data = await client.openData();
    assert.equal((await client.send("STOR /www/half.txt")).code, 150);
    data.write("half");
    client.write(Buffer.from("\xff\xf4\xff\xf2ABOR\r\n", "latin1"));
    assert.equal((await client.reply()).code, 426);
    assert.equal((await client.reply()).code, 226);
    assert.equal((await client.send("SIZE /www/half.txt")).code, 550);
  });

  test("answers commands that were sent ahead in their order", async () => {
    client.write("NOOP\r\nPWD\r\nSYST\r\n");
    assert.deepEqual(
      [await client.reply(), await client.reply(), await client.reply()].map(({ code }) => code),
      [200, 257, 215],
    );
  });

  test("accepts only settings that change nothing", async () => {
    for (const command of ["TYPE I", "TYPE A", "STRU F", "MODE S", "OPTS UTF8 ON", "NOOP"]) {
      assert.equal((await client.send(command)).code, 200, command);
    }
    for (const command of ["TYPE E", "STRU R", "MODE Z"]) assert.equal((await client.send(command)).code, 504, command);
    assert.equal((await client.send("PROT P")).code, 503);
  });

  test("gives an IPv4 address to PASV and says goodbye to QUIT", async () => {
    assert.match((await client.send("PASV")).text, /\(127,0,0,1,\d+,\d+\)/);
    assert.equal((await client.send("QUIT")).code, 221);
    assert.equal((await client.reply()).code, 0);
  });
});
