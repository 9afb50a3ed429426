import assert from "node:assert/strict";
import { lstat, mkdir, readFile, rm, stat, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { generate } from "selfsigned";
import { NodeUnavailable, type Traffic } from "#nodes/driver.ts";
import { RawFtp } from "#nodes/proftpd-nginx/test-ftp.ts";
import { cannotStart, connectFtp, startTestProftpdNode, type TestProftpdNode } from "#nodes/proftpd-nginx/test-node.ts";
import { password, testAccount, usageOf } from "#nodes/test-account.ts";
import { getPage } from "#nodes/test-page.ts";
import { createManualClock } from "../../../test/harness/manual-clock.ts";

const options = { skip: cannotStart };
const account = testAccount("first.example", 206_001, { hostNames: ["www.first.example"] });
const host = "first.example.sites.test";

async function upload(node: TestProftpdNode, name: string, bytes: number): Promise<void> {
  const client = await connectFtp(node, account.identifier, password);
  await client.uploadFrom(Readable.from([Buffer.alloc(bytes, "x")]), `/www/${name}`).finally(() => client.close());
}

/** The account's traffic, once it is at least this. */
async function trafficOf(node: TestProftpdNode, bytesMin: number): Promise<Traffic> {
  for (let after = 0; ; ) {
    const { accounts, version } = await node.node.usageChanges({ after, waitMs: 1_000 });
    const traffic = accounts[0]?.traffic;
    if (traffic !== undefined && traffic.bytes >= bytesMin) return traffic;
    after = version;
  }
}

test(
  "what a site has sent is counted once, across starts of the agent and rotations of the log",
  options,
  async (t) => {
    const node = await startTestProftpdNode({ limits: { sumsSaveMs: 20, logBytesMax: 400 } });
    t.after(() => node.close());
    await node.node.ensureAccount(account);
    await upload(node, "page.bin", 1_000);
    let sent = 0;
    for (let round = 1; round <= 6; round++) {
      for (let count = 0; count < 5; count++) {
        const { headers } = await getPage(node.web.port, "/page.bin", { host });
        // Status line, headers and an empty line, as nginx has sent them.
        const names = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
        sent += 1_000 + Buffer.byteLength(`HTTP/1.1 200 OK\r\n${names.join("")}\r\n`);
      }
      if (round % 2 === 0) await node.restart();
      assert.equal((await trafficOf(node, sent)).bytes, sent);
    }
    await lstat(`${node.paths.webTraffic}.1`);
  },
);

test("usage is known after a start, including uploads in the meantime", options, async (t) => {
  const node = await startTestProftpdNode();
  t.after(() => node.close());
  await node.node.ensureAccount(account);
  await upload(node, "a.bin", 10);
  while ((await usageOf(node.node, account.identifier)).bytes !== 10) await pause(10);
  await node.node.close();
  await upload(node, "b.bin", 5);
  await node.reopen();
  for (let after = 0; ; ) {
    const { accounts, version } = await node.node.usageChanges({ after, waitMs: 1_000 });
    if (accounts[0]?.bytes === 15 && accounts[0].files === 2) return;
    after = version;
  }
});

test("a one-time login expires, and is removed when the agent starts or stops", options, async (t) => {
  const node = await startTestProftpdNode({ limits: { oneTimeLoginMs: 100 } });
  t.after(() => node.close());
  await node.node.ensureAccount(account);
  await node.node.oneTimeLogin(account);
  const hasOurs = async () => (await readFile(node.paths.logins, "utf8")).includes("_once-");
  while (await hasOurs()) await pause(10);
  const long = await startTestProftpdNode();
  t.after(() => long.close());
  await long.node.ensureAccount(account);
  const { user, password: secret } = await long.node.oneTimeLogin(account);
  await long.restart();
  await assert.rejects(RawFtp.login(long, user, secret.reveal()), /^Error: 530 /);
  const last = await long.node.oneTimeLogin(account);
  await long.node.close();
  await assert.rejects(RawFtp.login(long, last.user, last.password.reveal()), /^Error: 530 /);
  (await RawFtp.login(long, account.identifier, password)).close();
  await long.reopen();
});

test("a probe trusts only the server's own certificate, not others of the same authority", options, async (t) => {
  const subject = [{ name: "commonName", value: "ftp.example" }];
  const authority = await generate([{ name: "commonName", value: "authority" }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true },
      { name: "keyUsage", keyCertSign: true },
    ],
  });
  const ca = { key: authority.private, cert: authority.cert };
  const [shown, another] = await Promise.all(
    [1, 2].map(() => generate(subject, { keyType: "ec", algorithm: "sha256", ca })),
  );
  const chain = (own: typeof authority) => [own.private, own.cert, authority.cert].join("\n");
  const node = await startTestProftpdNode({ keyAndCertificate: chain(shown!) });
  t.after(() => node.close());
  await node.node.ensureAccount(account);
  await node.node.probe(account);
  // ProFTPD reads its file at every session, so a new certificate needs no restart.
  await writeFile(node.settings.ftp.certificateFile, chain(another!));
  await node.node.probe(account);
  node.settings.ftp.certificateFile = join(node.settings.stateFolder, "another.pem");
  await writeFile(node.settings.ftp.certificateFile, chain(shown!));
  await assert.rejects(node.node.probe(account), NodeUnavailable);
});

test("a start repairs manual changes, and finds what belongs to no account", options, async (t) => {
  const node = await startTestProftpdNode();
  t.after(() => node.close());
  await node.node.ensureAccount(account);
  await upload(node, "page.txt", 3);
  await unlink(join(node.paths.sites, host));
  await writeFile(node.paths.logins, "");
  await symlink("../homes/206001", join(node.paths.sites, "stray.example"));
  await mkdir(join(node.paths.homes, "206009"));
  assert.deepEqual(await node.node.strays(), { uids: [206_009], withoutHome: [], hostNames: ["stray.example"] });
  await node.restart();
  assert.deepEqual(await node.node.strays(), { uids: [206_009], withoutHome: [], hostNames: [] });
  assert.equal((await getPage(node.web.port, "/page.txt", { host })).status, 200);
  (await RawFtp.login(node, account.identifier, password)).close();
});

test("the files of a removed account are kept for 30 days", options, async (t) => {
  const clock = createManualClock(1_800_000_000);
  const node = await startTestProftpdNode({ clock });
  t.after(() => node.close());
  await node.node.ensureAccount(account);
  await upload(node, "page.txt", 3);
  await node.node.remove(account);
  const kept = join(node.paths.trash, "206001", "www", "page.txt");
  const isThere = () =>
    lstat(kept).then(
      () => true,
      () => false,
    );
  clock.advance(30 * 86_400_000);
  await node.node.remove(account);
  await node.restart();
  assert.equal(await isThere(), true);
  clock.advance(1);
  await node.restart();
  while (await isThere()) await pause(10);
  assert.equal((await node.node.apply([{ kind: "account", account }]))[0]?.reason, "uid_retired");
});

test(
  "an account whose site's name would be too long is refused, and keeps nothing from the others",
  options,
  async (t) => {
    const node = await startTestProftpdNode({ siteDomain: "sites.of-a-long-name.test" });
    t.after(() => node.close());
    const label = "a".repeat(58);
    const long = testAccount([label, label, label, label].join("."), 206_002);
    const states = [long, account].map((each) => ({ kind: "account" as const, account: each }));
    const refused = [{ identifier: long.identifier, uid: long.uid, reason: "invalid" }];
    assert.deepEqual(await node.node.apply(states), refused);
    await node.node.probe(account);
  },
);

test("the traffic of a removed account is forgotten, including log lines that arrive later", options, async (t) => {
  const node = await startTestProftpdNode();
  t.after(() => node.close());
  await node.node.ensureAccount(account);
  await upload(node, "page.txt", 3);
  await getPage(node.web.port, "/page.txt", { host });
  await node.node.remove(account);
  // nginx gathers its lines for a second.
  while ((await stat(node.paths.webTraffic)).size === 0) await pause(10);
  await node.restart();
  await node.restart();
  assert.deepEqual(JSON.parse(await readFile(node.paths.traffic, "utf8")).sums, []);
});

test("a second agent does not start beside the first", options, async (t) => {
  const node = await startTestProftpdNode();
  t.after(() => node.close());
  await assert.rejects(node.reopen(), /another agent/);
  await node.restart();
});

test("hundreds of accounts are brought up in one go, and what cannot be is named", options, async (t) => {
  const node = await startTestProftpdNode();
  t.after(() => node.close());
  const many = Array.from({ length: 500 }, (_, index) => testAccount(`site-${index}.example`, 206_100 + index));
  const states = many.map((each) => ({ kind: "account" as const, account: each }));
  const twin = testAccount("site-1.example", 206_002);
  const low = testAccount("low.example", 1_000);
  const evil = testAccount("evil.example", 206_003, { hostNames: ["x.sites.test"] });
  const wrong = [twin, low, evil].map((each) => ({ kind: "account" as const, account: each }));
  assert.deepEqual(await node.node.apply([...states, ...wrong]), [
    { identifier: "site-1.example", uid: 206_002, reason: "identifier_taken" },
    { identifier: "low.example", uid: 1_000, reason: "invalid" },
    { identifier: "evil.example", uid: 206_003, reason: "invalid" },
  ]);
  assert.equal((await node.node.list()).length, 500);
  (await RawFtp.login(node, "site-499.example", password)).close();
  await rm(join(node.paths.homes, "206100"), { recursive: true });
  assert.deepEqual(await node.node.apply(states), []);
  assert.deepEqual(await node.node.strays(), { uids: [], withoutHome: [], hostNames: [] });
});
