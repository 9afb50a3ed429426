import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir, readFile, stat } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { DesiredAccount } from "#nodes/driver.ts";
import { TestFtpClient } from "#nodes/embedded/ftp/test-ftp-client.ts";
import { useFtpStage } from "#nodes/embedded/ftp/test-stage.ts";
import { password, quickHash, usageOf } from "#nodes/test-account.ts";

describe("FTP abuse of transfers", () => {
  const stage = useFtpStage({ limits: { pathBytesMax: 80 } });
  const uploads = () => readdir(join(stage.node.dataDir, "uploads"));

  test("abuse 11: the server connects to nobody", async () => {
    const victim = createServer(() => assert.fail("the server connected")).listen(0, "127.0.0.1");
    await once(victim, "listening");
    const address = victim.address() as { port: number };
    const { client } = await stage.make();
    const { port } = address;
    for (const command of [
      ...["PORT 127,0,0,1,0,22", `PORT 127,0,0,1,${port >> 8},${port & 255}`, "PORT 192,0,2,1,0,80"],
      ...[`EPRT |1|127.0.0.1|${port}|`, "EPRT |1|192.0.2.1|80|", "EPRT |2|::1|80|", "LPRT 4,4,127,0,0,1,2,0,22"],
    ]) {
      assert.equal((await client.send(command)).code, 502, command);
    }
    assert.equal((await client.send("LIST /www")).code, 425);
    client.close();
    await once(victim.close(), "close");
  });

  test("abuse 12: 120 EPSV to exhaust passive ports leave a session with one", async () => {
    const { client } = await stage.make();
    // The node runs in this process. Asking the old ports would not do: another program may have got one of them.
    const portsOpen = () => process.getActiveResourcesInfo().filter((resource) => resource === "TCPServerWrap").length;
    const before = portsOpen();
    for (let count = 0; count < 120; count += 1) await client.passivePort();
    assert.equal((await client.send("NOOP")).code, 200);
    assert.equal(portsOpen(), before + 1);
    client.write("EPSV\r\nPASV\r\n".repeat(15));
    for (let count = 0; count < 30; count += 1) await client.reply();
    assert.equal((await client.send("NOOP")).code, 200);
    assert.equal(portsOpen(), before + 1);
    client.close();
  });

  test("abuse 13: a third party on someone's passive port is dropped, and the owner still gets through", async () => {
    const { client } = await stage.make();
    await client.store("/www/a.txt", "mine");
    const passive = await client.passivePort();
    const thief = connect({ host: "127.0.0.1", port: passive, localAddress: "127.0.0.2" });
    thief.on("error", () => {});
    thief.end("planted");
    await new Promise((resolve) => thief.resume().once("close", resolve));
    assert.equal(thief.bytesRead, 0);
    const owner = connect({ host: "127.0.0.1", port: passive });
    assert.equal((await client.send("RETR /www/a.txt")).code, 150);
    let content = "";
    for await (const chunk of owner.setEncoding("utf8")) content += chunk;
    assert.equal(content, "mine");
    assert.equal((await client.reply()).code, 226);
    client.close();
  });

  test("abuse 13: what a third party sends to a passive port is never stored", async () => {
    const { client, docroot } = await stage.make();
    const passive = await client.passivePort();
    assert.equal((await client.send("STOR /www/a.txt")).code, 150);
    const thief = connect({ host: "127.0.0.1", port: passive, localAddress: "127.0.0.2" });
    thief.on("error", () => {});
    thief.end("planted");
    await new Promise((resolve) => thief.resume().once("close", resolve));
    connect({ host: "127.0.0.1", port: passive }).end("mine");
    assert.equal((await client.reply()).code, 226);
    assert.equal(await readFile(join(docroot, "a.txt"), "utf8"), "mine");
    client.close();
  });

  test("abuse 17: an upload over quota is refused with 552, and the old file is intact", async () => {
    const { client, docroot, identifier } = await stage.make({ diskBytesMax: 1_000 });
    assert.equal((await client.store("/www/a.txt", "old".repeat(100))).code, 226);
    assert.equal((await client.store("/www/a.txt", "x".repeat(1_001))).code, 552);
    assert.equal((await client.store("/www/b.txt", "x".repeat(101))).code, 226);
    assert.equal((await client.store("/www/c.txt", "x".repeat(600))).code, 552);
    assert.equal(await readFile(join(docroot, "a.txt"), "utf8"), "old".repeat(100));
    assert.deepEqual((await readdir(docroot)).sort(), ["a.txt", "b.txt"]);
    assert.equal((await client.store("/www/a.txt", "x".repeat(899))).code, 226);
    assert.deepEqual(await usageOf(stage.node.driver, identifier), { bytes: 1_000, files: 2 });
    assert.deepEqual(await uploads(), []);
    client.close();
  });

  test("abuse 17: four uploads at the same time cannot share the same free space", async () => {
    const { client, identifier } = await stage.make({ diskBytesMax: 1_000_000 });
    const clients = [client, ...(await Promise.all([1, 2, 3].map(() => TestFtpClient.logIn(stage.port, identifier))))];
    const content = Buffer.alloc(400_000);
    const replies = await Promise.all(clients.map((one, at) => one.store(`/www/${at}.bin`, content)));
    const stored = replies.filter(({ code }) => code === 226).length;
    assert.ok(stored <= 2 && replies.every(({ code }) => code === 226 || code === 552));
    assert.deepEqual(await usageOf(stage.node.driver, identifier), { bytes: stored * 400_000, files: stored });
    for (const one of clients) one.close();
  });

  test("abuse 17: four uploads over one existing file leave one of them, or the old one, and its true size", async () => {
    const { client, docroot, identifier } = await stage.make({ diskBytesMax: 1_000_000 });
    await client.store("/www/a.bin", Buffer.alloc(600_000, "o"));
    const clients = [client, ...(await Promise.all([1, 2, 3].map(() => TestFtpClient.logIn(stage.port, identifier))))];
    const sockets = await Promise.all(clients.map((one) => one.openData()));
    for (const one of clients) assert.equal((await one.send("STOR /www/a.bin")).code, 150);
    for (const [at, data] of sockets.entries()) data.end(Buffer.alloc(700_000, String(at)));
    const codes = await Promise.all(clients.map(async (one) => (await one.reply()).code));
    assert.ok(codes.every((code) => code === 226 || code === 552));
    const content = await readFile(join(docroot, "a.bin"), "utf8");
    const winners = codes.flatMap((code, at) => (code === 226 ? [String(at).repeat(700_000)] : []));
    assert.ok([...winners, ...(winners.length === 0 ? ["o".repeat(600_000)] : [])].includes(content));
    assert.deepEqual(await usageOf(stage.node.driver, identifier), { bytes: content.length, files: 1 });
    assert.deepEqual(await uploads(), []);
    for (const one of clients) one.close();
  });

  test("abuse 17: an upload that ends after the limit was lowered is refused, and the old file is intact", async () => {
    const { client, docroot, ...account } = await stage.make({ diskBytesMax: 1_000 });
    await client.store("/www/a.txt", "old");
    const data = await client.openData();
    assert.equal((await client.send("STOR /www/a.txt")).code, 150);
    data.write("x".repeat(500));
    await stage.node.driver.ensureAccount({ ...account, diskBytesMax: 100 });
    data.end();
    assert.equal((await client.reply()).code, 552);
    assert.equal(await readFile(join(docroot, "a.txt"), "utf8"), "old");
    client.close();
  });

  test("abuse 18: no file is written in part or from a place within it", async () => {
    const { client, docroot } = await stage.make();
    await client.store("/www/a.txt", "old");
    const commands = ["APPE /www/a.txt", "REST 0", "REST 1", "REST 1000000000000", "REST -1", "STOU", "ALLO -5"];
    const codes = [];
    for (const command of commands) codes.push((await client.send(command)).code);
    assert.deepEqual(codes, [502, 502, 502, 502, 502, 502, 202]);
    assert.equal((await client.store("/www/a.txt", "new")).code, 226);
    const stored = await stat(join(docroot, "a.txt"));
    assert.deepEqual([stored.size, await readFile(join(docroot, "a.txt"), "utf8")], [3, "new"]);
    client.close();
  });

  test("abuse 19: a million empty files or folders end at the account's limit with 552", async () => {
    const { client, identifier } = await stage.make({ filesMax: 30 });
    for (let made = 0; made < 15; made += 1) {
      assert.equal((await client.store(`/www/${made}`, "")).code, 226);
      assert.equal((await client.send(`MKD /www/folder-${made}`)).code, 257);
    }
    for (let more = 15; more < 20; more += 1) {
      assert.equal((await client.store(`/www/${more}`, "")).code, 552);
      assert.equal((await client.send(`MKD /www/folder-${more}`)).code, 552);
    }
    assert.equal((await client.store("/www/0", "replaced")).code, 226);
    await client.send("RNFR /www/0");
    assert.equal((await client.send("RNTO /www/renamed")).code, 250);
    assert.equal((await client.store("/www/0", "")).code, 552);
    await client.send("RNFR /www/renamed");
    assert.equal((await client.send("RNTO /www/1")).code, 250);
    assert.deepEqual(await usageOf(stage.node.driver, identifier), { bytes: 8, files: 29 });
    assert.equal((await client.send("MKD /www/one-more")).code, 257);
    assert.equal((await client.send("MKD /www/too-many")).code, 552);
    client.close();
  });

  test("abuse 19: empty uploads at the same time cannot share the last place", async () => {
    const { client, identifier } = await stage.make({ filesMax: 2 });
    const clients = [client, ...(await Promise.all([1, 2, 3].map(() => TestFtpClient.logIn(stage.port, identifier))))];
    const replies = await Promise.all(clients.map((one, at) => one.store(`/www/${at}`, "")));
    assert.deepEqual(replies.map(({ code }) => code).sort(), [226, 226, 552, 552]);
    assert.deepEqual(await usageOf(stage.node.driver, identifier), { bytes: 0, files: 2 });
    for (const one of clients) one.close();
  });

  test("abuse 19: folders nest no deeper than a path can name, and can all be removed", async () => {
    const { client, docroot, identifier } = await stage.make({ filesMax: 10_000 });
    await client.send("CWD /www");
    const codes: number[] = [];
    while (codes.at(-1) !== 550) {
      codes.push((await client.send("MKD d")).code);
      if (codes.at(-1) === 257) await client.send("CWD d");
      assert.ok(codes.length < 1_000, "nothing stops it");
    }
    const { files } = await usageOf(stage.node.driver, identifier);
    assert.equal(files, codes.length - 1);
    for (let left = files; left > 0; left -= 1) {
      await client.send("CDUP");
      assert.equal((await client.send("RMD d")).code, 250);
    }
    assert.deepEqual(await readdir(docroot), []);
    client.close();
  });

  test("abuse 21: a session is cut in the middle of an upload by suspension, removal or another password", async () => {
    const { driver } = stage.node;
    const changes: ((account: DesiredAccount) => Promise<void>)[] = [
      (account) => driver.ensureAccount({ ...account, suspended: true }),
      (account) => driver.remove(account),
      (account) => driver.ensureAccount({ ...account, passwordHash: quickHash("another") }),
    ];
    for (const change of changes) {
      const { client, docroot, ...account } = await stage.make();
      const data = await client.openData();
      await client.send("STOR /www/half.txt");
      data.write("half");
      await change(account);
      assert.equal((await client.reply()).code, 0);
      assert.deepEqual(await readdir(docroot).catch(() => []), []);
      await assert.rejects(TestFtpClient.logIn(stage.port, account.identifier), /530/);
    }
  });

  test("abuse 22: after a removal the identifier starts afresh, and the old login is none of it", async () => {
    const { client, identifier, uid } = await stage.make();
    await client.store("/www/old.txt", "old");
    await stage.node.driver.remove({ identifier, uid });
    assert.equal((await client.reply()).code, 0);
    const next = await stage.make({ identifier });
    assert.notEqual(next.uid, uid);
    await stage.node.driver.ensureAccount({ ...next, passwordHash: quickHash("of another reseller") });
    await assert.rejects(TestFtpClient.logIn(stage.port, identifier, password), /530/);
    const owner = await TestFtpClient.logIn(stage.port, identifier, "of another reseller");
    assert.equal((await owner.receive("NLST /www")).content, "");
    assert.equal((await owner.send("SIZE /www/old.txt")).code, 550);
    owner.close();
  });
});
