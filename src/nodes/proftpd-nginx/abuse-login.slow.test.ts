/** The abuse cases that begin before or at the login. By their numbers. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, test } from "node:test";
import { RawFtp } from "#nodes/proftpd-nginx/test-ftp.ts";
import { cannotStart, startTestProftpdNode, type TestProftpdNode } from "#nodes/proftpd-nginx/test-node.ts";
import { password, testAccount } from "#nodes/test-account.ts";

const options = { skip: cannotStart };
const ready = cannotStart ? undefined : await startTestProftpdNode();
after(() => ready?.close());
const node = ready as TestProftpdNode;
const account = testAccount("first.example", 202_001, { sessionsMax: 2 });
const neighbour = testAccount("a-neighbour-with-a-name-of-many-letters.example", 202_002, { sessionsMax: 2 });
await ready?.node.apply([
  { kind: "account", account },
  { kind: "account", account: neighbour },
]);

test("abuse 8: a user name with quotes, SQL or format signs opens nothing", options, async () => {
  const names = [
    "'",
    "' OR '1'='1",
    "first.example'--",
    "%s%n%x",
    "%{0}",
    "first.example:",
    "../first.example",
    "*",
    "_once-",
  ];
  for (const name of names) {
    const client = await RawFtp.secure(node);
    await client.ask(`USER ${name}`);
    assert.match(await client.ask(`PASS ${password}`), /^530 /, name);
    client.close();
  }
});

test("abuse 9: nobody logs in without TLS", options, async () => {
  const client = await RawFtp.connect(node);
  await client.reply();
  assert.match(await client.ask(`USER ${account.identifier}`), /^550 /);
  assert.match(await client.ask(`PASS ${password}`), /^5/);
  client.close();
});

test("abuse 13: a passive port takes no connection from another address", options, async () => {
  const client = await RawFtp.login(node, account.identifier, password);
  const port = await client.passivePort();
  client.send("LIST\r\n");
  const thief = connect({ host: "127.0.0.1", port, localAddress: "127.0.0.2" });
  let stolen = 0;
  thief.on("data", (data) => (stolen += data.length));
  thief.on("error", () => {});
  await new Promise<void>((resolve) => thief.once("close", () => resolve()));
  assert.equal(stolen, 0);
  assert.match(await client.reply(), /^425 /);
  client.close();
});

test(
  "abuse 14: three wrong guesses end the connection, and many such connections ban their address",
  options,
  async (t) => {
    const strict = await startTestProftpdNode({ limits: { addressGuessRoundsMax: 2, guessDelayMs: 1 } });
    t.after(() => strict.close());
    await strict.node.ensureAccount(account);
    const guess = async () => {
      const client = await RawFtp.secure(strict, "127.0.0.9");
      const answers: string[] = [];
      for (let count = 0; count < 3 && !client.isClosed; count++) {
        await client.ask(`USER ${account.identifier}`);
        answers.push((await client.ask("PASS wrong")).slice(0, 3));
      }
      await client.closed();
      return answers;
    };
    assert.deepEqual(await guess(), ["530", "530", "530"]);
    assert.deepEqual(await guess(), ["530", "530", "530"]);
    const banned = await RawFtp.connect(strict, "127.0.0.9");
    assert.match(await banned.reply(), /^5|^$/);
    await banned.closed();
    const other = await RawFtp.login(strict, account.identifier, password, "127.0.0.8");
    other.close();
  },
);

test("abuse 15: a line without end is cut", options, async () => {
  const client = await RawFtp.connect(node);
  await client.reply();
  for (let sent = 0; sent < 100 && !client.isClosed; sent++) client.send(Buffer.alloc(65_536, "A"));
  client.send("\r\n");
  assert.match(await client.reply(), /^5|^$/);
  client.close();
});

test("abuse 15: silent connections are limited per address, and closed", options, async (t) => {
  const strict = await startTestProftpdNode({ limits: { addressSessionsMax: 5, loginSecondsMax: 2 } });
  t.after(() => strict.close());
  // ProFTPD may still count the connection that found the node started.
  const elsewhere = "127.0.0.9";
  const silent = await Promise.all(Array.from({ length: 5 }, () => RawFtp.connect(strict, elsewhere)));
  for (const client of silent) assert.match(await client.reply(), /^220 /);
  const surplus = await RawFtp.connect(strict, elsewhere);
  assert.match(await surplus.reply(), /^5|^$/);
  await surplus.closed();
  await Promise.all(silent.map((client) => client.closed()));
});

test("abuse 15: an address whose connections stay silent again and again is banned for a while", options, async (t) => {
  // Time enough for the login at the end on a busy machine.
  const limits = { loginSecondsMax: 5, addressTimeoutsMax: 3 };
  const strict = await startTestProftpdNode({ limits });
  t.after(() => strict.close());
  await strict.node.ensureAccount(account);
  const silent = await Promise.all([1, 2, 3].map(() => RawFtp.connect(strict, "127.0.0.9")));
  await Promise.all(silent.map((client) => client.closed()));
  const banned = await RawFtp.connect(strict, "127.0.0.9");
  assert.match(await banned.reply(), /^5|^$/);
  await banned.closed();
  (await RawFtp.login(strict, account.identifier, password, "127.0.0.8")).close();
});

test("abuse 16: what is sent in clear behind AUTH TLS is never carried out", options, async () => {
  const client = await RawFtp.connect(node);
  await client.reply();
  client.send(`AUTH TLS\r\nUSER ${account.identifier}\r\n`);
  assert.match(await client.reply(), /^234 /);
  await client.startTls().catch(() => {});
  const answer = client.isClosed ? "" : await client.ask("NOOP");
  // The first answer on TLS is that to the first command on TLS: 331 would be that to the name sent in clear.
  assert.doesNotMatch(answer, /^331/);
  client.close();
});

for (const { identifier, sessionsMax } of [account, neighbour]) {
  test(`an account has as many sessions as it may have, ${identifier.length} letters long`, options, async (t) => {
    const open: RawFtp[] = [];
    t.after(() => {
      for (const client of open) client.close();
    });
    for (let count = 0; count < sessionsMax; count++) open.push(await RawFtp.login(node, identifier, password));
    const surplus = await RawFtp.login(node, identifier, password).catch((error) => error as Error);
    if (surplus instanceof Error) assert.match(surplus.message, /^530 /);
    else await surplus.closed();
    for (const client of open) assert.match(await client.ask("NOOP"), /^200 /);
  });
}
