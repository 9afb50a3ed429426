import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { password, quickHash, startTestNode, type TestNode, testAccount } from "../test-node.ts";
import { TestFtpClient } from "./test-ftp-client.ts";

describe("FTP abuse", () => {
  let node: TestNode;
  let port: number;
  let uid = 300_000;
  before(async () => {
    node = await startTestNode({ limits: { addressGuessesMax: 1_000 } });
    port = node.ports.ftpPort;
  });
  after(() => node.close());

  const make = async (changes: Parameters<typeof testAccount>[2] = {}) => {
    uid += 1;
    const account = testAccount(`site-${uid}.example`, uid, changes);
    await node.driver.ensureAccount(account);
    const docroot = join(node.dataDir, "homes", String(uid), "www");
    return { ...account, docroot, client: await TestFtpClient.logIn(port, account.identifier) };
  };

  test("a user name with quotes, SQL or format signs is a wrong guess", async () => {
    for (const user of ["' OR 1=1 --", '"; drop table accounts', "%{0}%s%n", "../200001", "_once-x", ""]) {
      const { client } = await TestFtpClient.connect(port);
      assert.equal((await client.send(`USER ${user}`)).code, 331);
      assert.equal((await client.send(`PASS ${password}`)).code, 530);
      client.close();
    }
  });

  test("no path leads out of the account", async () => {
    const { client } = await make();
    assert.equal((await client.send("CWD ../../..")).code, 250);
    assert.match((await client.send("PWD")).text, /^"\/" /);
    for (const path of ["/etc/passwd", "../../etc/passwd", "..\\..\\etc\\passwd", "/www/../../../etc/passwd", "."]) {
      const { reply, content } = await client.receive(`RETR ${path}`);
      assert.deepEqual({ code: reply.code, content }, { code: 550, content: "" }, path);
    }
    assert.equal((await client.store("../../x.txt", "x")).code, 550);
    assert.equal((await client.send(`CWD ${"a/".repeat(1_000)}`)).code, 550);
    client.close();
  });

  test("a symlink is not followed by any command, wherever it is in the path", async () => {
    const neighbour = await make();
    await neighbour.client.store("/www/secret.txt", "secret");
    const { client, docroot } = await make();
    await symlink(neighbour.docroot, join(docroot, "folder"));
    await symlink(join(neighbour.docroot, "secret.txt"), join(docroot, "file.txt"));
    await symlink("/etc/passwd", join(docroot, "passwd"));
    for (const path of ["/www/folder/secret.txt", "/www/file.txt", "/www/passwd"]) {
      for (const command of ["RETR", "SIZE", "MDTM", "MLST", "DELE", "RNFR", "LIST"]) {
        assert.equal((await client.send(`${command} ${path}`)).code, 550, `${command} ${path}`);
      }
      assert.equal((await client.store(path, "overwritten")).code, 550);
    }
    assert.equal((await client.send("CWD /www/folder")).code, 550);
    assert.equal((await client.send("MKD /www/folder/new")).code, 550);
    assert.equal((await client.receive("MLSD /www")).content, "");
    assert.equal(await readFile(join(neighbour.docroot, "secret.txt"), "utf8"), "secret");
    client.close();
    neighbour.client.close();
  });

  test("the server connects to nobody and takes no part of a file, no mode, owner or time", async () => {
    const { client } = await make();
    await client.store("/www/a.txt", "a");
    const refused = ["PORT 127,0,0,1,0,22", "EPRT |1|192.0.2.1|80|", "APPE /www/a.txt", "REST 1000000000"];
    refused.push("SITE CHMOD 4777 /www/a.txt", "SITE CHGRP root /www/a.txt", "SITE EXEC id");
    refused.push("MFF UNIX.mode=4777; /www/a.txt", "MFMT 20200101000000 /www/a.txt", "STOU", "ACCT x", "XYZZY");
    for (const command of refused) assert.equal((await client.send(command)).code, 502, command);
    client.close();
  });

  test("a session has one passive port, however often it asks", async () => {
    const { client } = await make();
    // The node runs in this process. Asking the old ports would not do: another program may have got one of them.
    const portsOpen = () => process.getActiveResourcesInfo().filter((resource) => resource === "TCPServerWrap").length;
    const before = portsOpen();
    for (let count = 0; count < 120; count += 1) await client.passivePort();
    assert.equal((await client.send("NOOP")).code, 200);
    assert.equal(portsOpen(), before + 1);
    client.close();
  });

  test("a third party on someone's passive port is dropped, and the owner still gets through", async () => {
    const { client } = await make();
    await client.store("/www/a.txt", "mine");
    const passive = await client.passivePort();
    const thief = connect({ host: "127.0.0.1", port: passive, localAddress: "127.0.0.2" });
    await once(thief.resume(), "close");
    assert.equal(thief.bytesRead, 0);
    const owner = connect({ host: "127.0.0.1", port: passive });
    assert.equal((await client.send("RETR /www/a.txt")).code, 150);
    let content = "";
    for await (const chunk of owner.setEncoding("utf8")) content += chunk;
    assert.equal(content, "mine");
    client.close();
  });

  test("a connection has three guesses", async () => {
    const { identifier } = await make();
    const { client } = await TestFtpClient.connect(port);
    for (let guess = 0; guess < 3; guess += 1) {
      await client.send(`USER ${identifier}`);
      assert.equal((await client.send("PASS wrong")).code, 530);
    }
    assert.equal((await client.reply()).code, 421);
    assert.equal((await client.reply()).code, 0);
  });

  test("a password longer than bcrypt reads is wrong, even when its start is right", async () => {
    const start = "x".repeat(72);
    const { identifier } = await make();
    await node.driver.setPassword({ identifier, uid }, quickHash(start));
    await assert.rejects(TestFtpClient.logIn(port, identifier, `${start}y`));
    (await TestFtpClient.logIn(port, identifier, start)).close();
  });

  test("a line longer than 4 KiB cuts the connection", async () => {
    const { client } = await TestFtpClient.connect(port);
    client.write("USER ".padEnd(5_000, "x"));
    assert.equal((await client.reply()).code, 500);
    assert.equal((await client.reply()).code, 0);
  });

  test("more than 64 commands ahead cut the connection", async () => {
    const { client } = await TestFtpClient.connect(port);
    client.write("NOOP\r\n".repeat(65));
    assert.equal((await client.reply()).code, 421);
    assert.equal((await client.reply()).code, 0);
  });

  test("a line that is no UTF-8, or has a NUL, is refused", async () => {
    const { client } = await make();
    client.write(Buffer.from("MKD /www/\xe9\r\n", "latin1"));
    assert.equal((await client.reply()).code, 501);
    assert.equal((await client.send("MKD /www/a\0b")).code, 501);
    assert.equal((await client.send("MKD /www/a\u0007b")).code, 550);
    client.close();
  });

  test("commands behind AUTH TLS are discarded", async () => {
    const { identifier } = await make();
    const { client } = await TestFtpClient.connect(port);
    client.write(`AUTH TLS\r\nUSER ${identifier}\r\nPASS ${password}\r\n`);
    assert.equal((await client.reply()).code, 234);
    await client.startTls();
    assert.equal((await client.send("PWD")).code, 530);
    assert.equal((await client.send(`PASS ${password}`)).code, 503);
    client.close();
  });

  test("an upload over quota is refused and the old file is intact", async () => {
    const { client, docroot, identifier } = await make({ diskBytesMax: 1_000 });
    assert.equal((await client.store("/www/a.txt", "old".repeat(100))).code, 226);
    assert.equal((await client.store("/www/a.txt", "x".repeat(1_001))).code, 552);
    assert.equal((await client.store("/www/b.txt", "x".repeat(101))).code, 226);
    assert.equal((await client.store("/www/c.txt", "x".repeat(600))).code, 552);
    assert.equal(await readFile(join(docroot, "a.txt"), "utf8"), "old".repeat(100));
    assert.deepEqual((await readdir(docroot)).sort(), ["a.txt", "b.txt"]);
    assert.equal((await client.store("/www/a.txt", "x".repeat(899))).code, 226);
    assert.deepEqual(await node.driver.usage(identifier), { bytes: 1_000, files: 2 });
    assert.deepEqual(await readdir(join(node.dataDir, "uploads")), []);
    client.close();
  });

  test("four uploads at the same time cannot share the same free space", async () => {
    const { client, identifier } = await make({ diskBytesMax: 1_000_000 });
    const clients = [client, ...(await Promise.all([1, 2, 3].map(() => TestFtpClient.logIn(port, identifier))))];
    const content = Buffer.alloc(400_000);
    const replies = await Promise.all(clients.map((one, at) => one.store(`/www/${at}.bin`, content)));
    const stored = replies.filter(({ code }) => code === 226).length;
    assert.ok(stored <= 2 && replies.every(({ code }) => code === 226 || code === 552));
    assert.deepEqual(await node.driver.usage(identifier), { bytes: stored * 400_000, files: stored });
    for (const one of clients) one.close();
  });

  test("files and folders together end at the account's limit", async () => {
    const { client, identifier } = await make({ filesMax: 3 });
    assert.equal((await client.store("/www/1.txt", "")).code, 226);
    assert.equal((await client.send("MKD /www/2")).code, 257);
    assert.equal((await client.store("/www/2/3.txt", "")).code, 226);
    assert.equal((await client.store("/www/4.txt", "")).code, 552);
    assert.equal((await client.send("MKD /www/4")).code, 552);
    assert.equal((await client.store("/www/1.txt", "replaced")).code, 226);
    assert.equal((await client.send("DELE /www/1.txt")).code, 250);
    assert.deepEqual(await node.driver.usage(identifier), { bytes: 0, files: 2 });
    assert.equal((await client.send("MKD /www/4")).code, 257);
    client.close();
  });

  test("a session that is open is cut when the account is suspended, removed or given another password", async () => {
    const changes = [
      (key: { identifier: string; uid: number }) => node.driver.suspend(key),
      (key: { identifier: string; uid: number }) => node.driver.remove(key),
      (key: { identifier: string; uid: number }) => node.driver.setPassword(key, quickHash("another")),
    ];
    for (const change of changes) {
      const { client, docroot, identifier, uid } = await make();
      const data = await client.openData();
      await client.send("STOR /www/half.txt");
      data.write("half");
      await change({ identifier, uid });
      assert.equal((await client.reply()).code, 0);
      assert.deepEqual(await readdir(docroot).catch(() => []), []);
    }
  });

  test("the home and its www cannot be changed, and nothing can be put beside www", async () => {
    const { client } = await make();
    for (const command of ["DELE /www", "RMD /www", "RNFR /www", "RMD /", "MKD /new", "RNFR /", "MKD /www"]) {
      assert.equal((await client.send(command)).code, 550, command);
    }
    assert.equal((await client.store("/index.html", "x")).code, 550);
    await client.store("/www/a.txt", "a");
    await client.send("RNFR /www/a.txt");
    assert.equal((await client.send("RNTO /suspended")).code, 550);
    client.close();
  });

  test("folders cannot be moved deeper than a path can name", async () => {
    const { client } = await make();
    const name = (letter: string) => letter.repeat(250);
    const outer = ["a", "b"].map(name);
    const inner = ["c", "d", "e", "f"].map(name);
    for (const names of [outer, inner]) {
      for (const end of names.keys()) await client.send(`MKD /www/${names.slice(0, end + 1).join("/")}`);
    }
    assert.equal((await client.send(`RNFR /www/${inner[0]}`)).code, 350);
    assert.equal((await client.send(`RNTO /www/${outer.join("/")}/c`)).code, 550);
    assert.equal((await client.send(`RNFR /www/${inner[0]}`)).code, 350);
    assert.equal((await client.send(`RNTO /www/${outer[0]}/c`)).code, 250);
    client.close();
  });

  test("a folder is no file, a full folder cannot be removed, and a missing one cannot be entered", async () => {
    const { client, docroot } = await make();
    await mkdir(join(docroot, "folder"));
    await writeFile(join(docroot, "folder", "a.txt"), "a");
    assert.equal((await client.send("DELE /www/folder")).code, 550);
    assert.equal((await client.send("RMD /www/folder")).code, 550);
    assert.equal((await client.store("/www/folder", "x")).code, 550);
    await rm(docroot, { recursive: true });
    assert.equal((await client.send("CWD /www")).code, 550);
    client.close();
  });

  test("no password or hash is in the log", () => {
    assert.ok(!node.logged().includes(password));
    assert.ok(!node.logged().includes("$2b$"));
  });
});
