import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { test } from "node:test";
import { type Reply, TestFtpClient } from "#nodes/embedded/ftp/test-ftp-client.ts";
import type { EmbeddedNodeLimits } from "#nodes/embedded/limits.ts";
import { password, testAccount } from "#nodes/test-account.ts";
import { startTestNode } from "#nodes/test-embedded-node.ts";

const owner = "a.example";

/** A node with an account that may have many sessions. */
async function start(t: TestContext, limits: Partial<EmbeddedNodeLimits> = {}) {
  const node = await startTestNode({ limits });
  t.after(() => node.close());
  await node.driver.ensureAccount(testAccount(owner, 1, { sessionsMax: 100 }));
  const port = node.ports.ftpPort;
  const connect = async (from?: string) => (await TestFtpClient.connect(port, from)).client;
  /** A new session's log-in; @returns the reply to PASS. */
  const tryPassword = async (user: string, secret: string, from?: string): Promise<Reply> => {
    const client = await connect(from);
    await client.send(`USER ${user}`);
    return client.send(`PASS ${secret}`);
  };
  return { node, port, connect, tryPassword };
}

const codesOf = (replies: Reply[]) => replies.map(({ code }) => code);
const count = (codes: number[], code: number) => codes.filter((one) => one === code).length;
/** Addresses of strangers, each another one. */
const strangers = (number: number) => Array.from({ length: number }, (_, at) => `127.0.1.${at + 1}`);

test("abuse 15: four addresses with all silent sessions that they get leave places for others", async (t) => {
  const { port, tryPassword } = await start(t);
  const addresses = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"].flatMap((from) => Array(60).fill(from));
  const silent = await Promise.all(addresses.map((from) => TestFtpClient.connect(port, from)));
  const greetings = codesOf(silent.map(({ greeting }) => greeting));
  assert.deepEqual([count(greetings, 220), count(greetings, 421)], [160, 80]);
  for (const from of ["127.0.0.6", "127.0.0.7"]) assert.equal((await tryPassword(owner, password, from)).code, 230);
});

test("a session keeps its place until its end, also over TLS and after the time to log in", async (t) => {
  const { port, connect } = await start(t, { addressSessionsMax: 1, loginMs: 200 });
  const client = await connect();
  assert.equal((await client.send("AUTH TLS")).code, 234);
  await client.startTls();
  await client.send(`USER ${owner}`);
  assert.equal((await client.send(`PASS ${password}`)).code, 230);
  for (let round = 0; round < 3; round += 1) {
    const silent = await connect(`127.0.0.${2 + round}`);
    assert.equal((await silent.reply()).code, 421);
    assert.equal((await silent.reply()).code, 0);
  }
  assert.equal((await client.send("NOOP")).code, 200);
  assert.equal((await TestFtpClient.connect(port)).greeting.code, 421);
  await client.send("QUIT");
  assert.equal((await client.reply()).code, 0);
  client.close();
  let greeting: Reply;
  do greeting = (await TestFtpClient.connect(port)).greeting;
  while (greeting.code === 421);
  assert.equal(greeting.code, 220);
});

test("abuse 14: of guesses at the same time no more are checked than an address may have wrong", async (t) => {
  const { tryPassword } = await start(t, { addressGuessesMax: 5 });
  const codes = codesOf(await Promise.all(strangers(30).map((_, at) => tryPassword(owner, `wrong ${at}`))));
  assert.deepEqual([count(codes, 530), count(codes, 421)], [5, 25]);
});

test("as many good log-ins at the same time as an address may have sessions all succeed", async (t) => {
  const { tryPassword } = await start(t, { addressGuessesMax: 4 });
  const codes = codesOf(await Promise.all(strangers(50).map(() => tryPassword(owner, password))));
  assert.equal(count(codes, 230), 50);
});

test("abuse 14: who has logged in from an address lately gets in before strangers who guess", async (t) => {
  const { tryPassword, connect } = await start(t, { hashesMax: 1 });
  assert.equal((await tryPassword(owner, password, "127.0.0.2")).code, 230);
  const client = await connect("127.0.0.2");
  await client.send(`USER ${owner}`);
  let answered = 0;
  const guesses = strangers(24).map(async (from, at) => {
    // Half of them at the same account.
    await tryPassword(at % 2 === 0 ? owner : `nobody-${at}.example`, "wrong", from);
    answered += 1;
  });
  while (answered === 0) await new Promise((resolve) => setImmediate(resolve));
  const before = answered;
  assert.equal((await client.send(`PASS ${password}`)).code, 230);
  assert.ok(answered - before < 8, `${answered - before} strangers came first`);
  await Promise.all(guesses);
});

test("abuse 14: guesses from a few addresses delay no stranger elsewhere until all of them are checked", async (t) => {
  const { tryPassword, connect } = await start(t, { hashesMax: 1 });
  const client = await connect("127.0.0.2");
  await client.send(`USER ${owner}`);
  let answered = 0;
  const guesses = Array.from({ length: 24 }, async (_, at) => {
    await tryPassword(`nobody-${at}.example`, "wrong", `127.0.1.${1 + (at % 4)}`);
    answered += 1;
  });
  while (answered === 0) await new Promise((resolve) => setImmediate(resolve));
  const before = answered;
  assert.equal((await client.send(`PASS ${password}`)).code, 230);
  assert.ok(answered - before < 8, `${answered - before} guesses came first`);
  await Promise.all(guesses);
});

test("abuse 14: an account that logged in from an address before a neighbour there was banned still gets in", async (t) => {
  const { node, tryPassword } = await start(t, { addressGuessesMax: 3 });
  await node.driver.ensureAccount(testAccount("b.example", 2));
  assert.equal((await tryPassword(owner, password)).code, 230);
  for (let guess = 0; guess < 3; guess += 1) await tryPassword("nobody.example", "wrong");
  assert.equal((await tryPassword("b.example", password)).code, 421);
  assert.equal((await tryPassword(owner, password)).code, 230);
  // Its own guesses are counted too, and ban it alone.
  const codes = codesOf(await Promise.all([1, 2, 3, 4, 5].map(() => tryPassword(owner, "wrong"))));
  assert.deepEqual([count(codes, 530), count(codes, 421)], [3, 2]);
  assert.equal((await tryPassword(owner, password)).code, 421);
  assert.equal((await tryPassword(owner, password, "127.0.0.2")).code, 230);
});

test("abuse 14: with too many passwords to check, the address with the most is turned away", async (t) => {
  const { tryPassword } = await start(t, { hashesMax: 1, hashesWaitingMax: 3 });
  const flood = Array.from({ length: 10 }, (_, at) => tryPassword(`nobody-${at}.example`, "wrong", "127.0.0.2"));
  const calm = tryPassword(owner, password, "127.0.0.3");
  assert.equal((await calm).code, 230);
  assert.ok(count(codesOf(await Promise.all(flood)), 421) >= 6);
});
