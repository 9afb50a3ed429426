import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { type Clock, systemClock } from "#lib/clock.ts";
import { type Reply, TestFtpClient } from "#nodes/embedded/ftp/test-ftp-client.ts";
import { useFtpStage } from "#nodes/embedded/ftp/test-stage.ts";
import { password, quickHash, testAccount } from "#nodes/test-account.ts";
import { startTestNode } from "#nodes/test-embedded-node.ts";

describe("FTP abuse before the login", () => {
  const stage = useFtpStage();
  const connectNew = async () => (await TestFtpClient.connect(stage.port)).client;

  test("abuse 8: a user name with quotes, SQL or format signs is a wrong guess", async () => {
    const users = ["' OR 1=1 --", '"; drop table accounts', "%{0}%s%n", "../300001", "_once-x", "", "*", "__proto__"];
    for (const user of [...users, "constructor", "x".repeat(4_000)]) {
      const client = await connectNew();
      assert.equal((await client.send(`USER ${user}`)).code, 331);
      assert.equal((await client.send(`PASS ${password}`)).code, 530, user);
      client.close();
    }
  });

  test("abuse 14: a connection has three guesses", async () => {
    const { identifier, client: owner } = await stage.make();
    const client = await connectNew();
    for (let guess = 0; guess < 3; guess += 1) {
      await client.send(`USER ${identifier}`);
      assert.equal((await client.send("PASS wrong")).code, 530);
    }
    assert.equal((await client.reply()).code, 421);
    assert.equal((await client.reply()).code, 0);
    owner.close();
  });

  test("abuse 14: each wrong guess of a connection is answered later than the one before", async () => {
    // Also of an account that is not there. The first guess of a newcomer overtakes the third of a guesser.
    const node = await startTestNode({ limits: { guessDelayMs: 400 } });
    const clients = await Promise.all([1, 2].map(() => TestFtpClient.connect(node.ports.ftpPort)));
    const [guesser, newcomer] = clients.map(({ client }) => client) as [TestFtpClient, TestFtpClient];
    for (let guess = 0; guess < 2; guess += 1) {
      await guesser.send("USER nobody.example");
      await guesser.send("PASS wrong");
    }
    await Promise.all([guesser.send("USER nobody.example"), newcomer.send("USER nobody.example")]);
    const order: string[] = [];
    await Promise.all([
      guesser.send("PASS wrong").then(() => order.push("third")),
      newcomer.send("PASS wrong").then(() => order.push("first")),
    ]);
    assert.deepEqual(order, ["first", "third"]);
    await node.close();
  });

  test("abuse 14: an address that guesses wrong too often is banned for a while, over all its connections", async () => {
    let nowMs = 0;
    const clock: Clock = { now: systemClock.now, monotonicMs: () => nowMs };
    const addressBanMs = 60_000;
    const node = await startTestNode({ limits: { addressGuessesMax: 4, addressBanMs }, clock });
    const { ftpPort } = node.ports;
    const account = testAccount("a.example", 1);
    await node.driver.ensureAccount(account);
    for (let guess = 0; guess < 4; guess += 1) {
      await assert.rejects(TestFtpClient.logIn(ftpPort, "a.example", "wrong"), /530/);
    }
    await assert.rejects(TestFtpClient.logIn(ftpPort, "a.example"), /421/);
    const elsewhere = await TestFtpClient.connect(ftpPort, "127.0.0.2");
    await elsewhere.client.send("USER a.example");
    assert.equal((await elsewhere.client.send(`PASS ${password}`)).code, 230);
    elsewhere.client.close();
    await node.driver.probe(account);
    nowMs = addressBanMs;
    (await TestFtpClient.logIn(ftpPort, "a.example")).close();
    await node.close();
  });

  test("abuse 14: guesses of connections that leave before the answer are counted, and keep nobody waiting", async () => {
    const node = await startTestNode({ limits: { addressGuessesMax: 4 } });
    // Another account each time: one that is known from before would get in.
    const isBanned = async (uid: number) => {
      await node.driver.ensureAccount(testAccount(`${uid}.example`, uid));
      return TestFtpClient.logIn(node.ports.ftpPort, `${uid}.example`).then(
        (client) => client.close(),
        (error) => /421/.test(error.message),
      );
    };
    for (let attempts = 1; !(await isBanned(attempts)); attempts += 1) {
      assert.ok(attempts < 100, "guessing is free");
      const { client } = await TestFtpClient.connect(node.ports.ftpPort);
      client.write("USER nobody.example\r\nPASS wrong\r\n");
      assert.equal((await client.reply()).code, 331);
      client.close();
    }
    await node.close();
  });

  test("abuse 14: a password longer than bcrypt reads is wrong, even when its start is right", async () => {
    const start = "x".repeat(72);
    const { client, ...account } = await stage.make();
    const { identifier } = account;
    client.close();
    await stage.node.driver.ensureAccount({ ...account, passwordHash: quickHash(start) });
    await assert.rejects(TestFtpClient.logIn(stage.port, identifier, `${start}y`));
    (await TestFtpClient.logIn(stage.port, identifier, start)).close();
  });

  test("abuse 15: a line of 100 MB cuts the connection after its first 4 KiB", async () => {
    const socket = connect(stage.port, "127.0.0.1");
    let answer = "";
    socket.setEncoding("utf8").on("data", (text: string) => {
      answer += text;
    });
    // The node closes while we are still sending, which resets the connection.
    socket.on("error", () => {});
    const closed = new Promise((resolve) => socket.once("close", resolve));
    const piece = Buffer.alloc(1_000_000, "x");
    socket.write("USER ");
    for (let sent = 0; sent < 100 && !socket.destroyed; sent += 1) {
      if (!socket.write(piece)) await Promise.race([once(socket, "drain").catch(() => {}), closed]);
    }
    await closed;
    assert.ok(socket.bytesWritten < 100_000_000, "everything was read");
    // What the reset left of the answer may be the greeting alone.
    assert.match(answer, /^220 [^\r]*\r\n(500 Line too long\.\r\n)?$/);
  });

  test("abuse 15: a line just over 4 KiB is answered 500, also when it comes in pieces", async () => {
    for (const pieces of [1, 100]) {
      const client = await connectNew();
      const line = `USER ${"x".repeat(4_096)}\r\n`;
      const length = Math.ceil(line.length / pieces);
      for (let start = 0; start < line.length; start += length) client.write(line.slice(start, start + length));
      assert.equal((await client.reply()).code, 500);
      assert.equal((await client.reply()).code, 0);
    }
  });

  const connectMany = (port: number, count: number) =>
    Promise.all(Array.from({ length: count }, () => TestFtpClient.connect(port)));

  test("abuse 15: of sixty silent connections of one address ten are turned away", async () => {
    const node = await startTestNode();
    const all = await connectMany(node.ports.ftpPort, 60);
    assert.deepEqual(
      [220, 421].map((code) => all.filter(({ greeting }) => greeting.code === code).length),
      [50, 10],
    );
    assert.equal((await TestFtpClient.connect(node.ports.ftpPort, "127.0.0.2")).greeting.code, 220);
    await node.close();
  });

  test("abuse 15: silent connections are closed in time, and make room", async () => {
    const node = await startTestNode({ limits: { loginMs: 300 } });
    const all = await connectMany(node.ports.ftpPort, 50);
    assert.ok(all.every(({ greeting }) => greeting.code === 220));
    const farewells = await Promise.all(all.map(({ client }) => client.reply()));
    assert.ok(farewells.every(({ code }) => code === 421));
    // Their places are free once their connections have closed, a moment after the farewell.
    let greeting: Reply;
    do greeting = (await TestFtpClient.connect(node.ports.ftpPort)).greeting;
    while (greeting.code !== 220);
    await node.close();
  });

  test("abuse 15: commands that keep a connection busy before the login do not keep it open", async () => {
    const node = await startTestNode({ limits: { loginMs: 200 } });
    const { client } = await TestFtpClient.connect(node.ports.ftpPort);
    let last: Reply;
    do last = await client.send("NOOP");
    while (last.code === 200);
    assert.ok(last.code === 421 || last.code === 0);
    await node.close();
  });

  test("abuse 15: more commands ahead than are held cut the connection", async () => {
    for (const ahead of ["NOOP\r\n".repeat(65), `${"x".repeat(4_000)}\r\n`.repeat(5)]) {
      const client = await connectNew();
      client.write(ahead);
      assert.equal((await client.reply()).code, 421);
      assert.equal((await client.reply()).code, 0);
    }
  });

  test("abuse 16: commands in the packet of AUTH TLS are discarded", async () => {
    const { identifier, client: owner } = await stage.make();
    const client = await connectNew();
    client.write(`AUTH TLS\r\nUSER ${identifier}\r\nPASS ${password}\r\nMKD /www/injected\r\n`);
    assert.equal((await client.reply()).code, 234);
    await client.startTls();
    assert.equal((await client.send("PWD")).code, 530);
    assert.equal((await client.send(`PASS ${password}`)).code, 503);
    client.close();
    owner.close();
  });

  test("abuse 16: a command whose start came before TLS is not completed behind it", async () => {
    const client = await connectNew();
    client.write("AUTH TLS\r\nMKD /www/inj");
    assert.equal((await client.reply()).code, 234);
    await client.startTls();
    assert.equal((await client.send("SYST")).code, 215);
    client.close();
  });

  test("abuse 16: commands in clear behind the answer to AUTH TLS end the connection", async () => {
    const { identifier, client: owner } = await stage.make();
    const client = await connectNew();
    assert.equal((await client.send("AUTH TLS")).code, 234);
    client.write(`USER ${identifier}\r\nPASS ${password}\r\n`);
    // A TLS alert may come before the end, but no reply.
    assert.equal((await client.reply()).code, 0);
    owner.close();
  });

  test("abuse 16: a user named in clear is forgotten by AUTH TLS, and one who is in cannot start it", async () => {
    const { identifier, client: owner } = await stage.make();
    const client = await connectNew();
    await client.send(`USER ${identifier}`);
    assert.equal((await client.send("AUTH TLS")).code, 234);
    await client.startTls();
    assert.equal((await client.send(`PASS ${password}`)).code, 503);
    client.close();
    assert.equal((await owner.send("AUTH TLS")).code, 503);
    owner.close();
  });

  test("abuse 16: a login that was sent ahead of AUTH TLS is not carried into it", async () => {
    const { identifier, client: owner } = await stage.make();
    const client = await connectNew();
    client.write(`USER ${identifier}\r\nPASS ${password}\r\nAUTH TLS\r\n`);
    const codes = [await client.reply(), await client.reply(), await client.reply()].map(({ code }) => code);
    assert.deepEqual(codes, [331, 230, 503]);
    client.close();
    owner.close();
  });

  test("abuse 30: no password or hash is in the log", () => {
    assert.ok(!stage.node.logged().includes(password));
    assert.ok(!stage.node.logged().includes("$2b$"));
  });
});
