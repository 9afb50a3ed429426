/** The contract of hosting nodes, of a panel. */
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import type { Client } from "basic-ftp";
import { panelCapabilities } from "#nodes/cpanel/driver.ts";
import { panelFtpUsername } from "#nodes/cpanel/names.ts";
import { password, quickHash, testAccount } from "#nodes/test-account.ts";
import { testDriver } from "#nodes/test-driver-suite.ts";
import { logInFtp } from "#nodes/test-ftp-login.ts";
import { cannotServeFtp } from "../../sandbox/whm/ftp.ts";
import { panelPage, startPanel } from "./panel-stage.ts";

const siteDomain = "sites.test";

function connect(port: number | undefined, identifier: string, secret: string): Promise<Client> {
  const user = panelFtpUsername(identifier, siteDomain);
  return logInFtp({ host: "127.0.0.1", port: port ?? 0 }, user, secret, { rejectUnauthorized: false });
}

if (cannotServeFtp) test("the contract of hosting nodes, panel", { skip: cannotServeFtp }, () => {});
else {
  testDriver(
    "panel",
    async () => {
      const { stub, driver } = await startPanel({ servesFtp: true });
      return {
        driver,
        siteDomain,
        folder: "/",
        logIn: (identifier, secret) => connect(stub.ftpPort, identifier, secret),
        hostStatus: async (host, path) => (await panelPage(stub, host, path)).status,
        close: () => stub.close(),
      };
    },
    panelCapabilities,
  );
}

test("a new password cuts open sessions, and keeps the files", { skip: cannotServeFtp }, async (t) => {
  const { stub, driver } = await startPanel({ servesFtp: true });
  t.after(() => stub.close());
  const account = testAccount("kicked.example", 200_001);
  await driver.ensureAccount(account);
  const client = await connect(stub.ftpPort, account.identifier, password);
  await client.uploadFrom(Readable.from(["kept"]), "/kept.txt");
  await driver.ensureAccount({ ...account, passwordHash: quickHash("another password") });
  await assert.rejects(client.list("/"));
  client.close();
  assert.equal((await panelPage(stub, "kicked.example.sites.test", "/kept.txt")).body, "kept");
});

test("a killed probe leaves a login, which the next probe removes", { skip: cannotServeFtp }, async (t) => {
  const { stub, driver } = await startPanel({ servesFtp: true });
  t.after(() => stub.close());
  const account = testAccount("probed.example", 200_001);
  await driver.ensureAccount(account);
  const [there] = [...stub.accounts.byUser.values()];
  assert.ok(there);
  const [customer] = there.ftp;
  assert.ok(customer);
  there.ftp.push({ ...customer, name: "dhprobe-00000000" });
  await driver.probe(account);
  assert.deepEqual(
    there.ftp.map(({ name }) => name),
    ["site"],
  );
});

test("a panel's FTP server that does not read bcrypt hashes fails the probe", { skip: cannotServeFtp }, async (t) => {
  const { stub, driver } = await startPanel({ servesFtp: true, readsBcrypt: false });
  t.after(() => stub.close());
  const account = testAccount("crypt.example", 200_001);
  await driver.ensureAccount(account);
  await assert.rejects(driver.probe(account), /the probe failed: 530/);
});

test("a panel's FTP server whose certificate is for another name fails the probe", {
  skip: cannotServeFtp,
}, async (t) => {
  const { stub, open } = await startPanel({ servesFtp: true });
  t.after(() => stub.close());
  const account = testAccount("trust.example", 200_001);
  const elsewhere = open({ ftp: { host: "127.0.0.2", port: stub.ftpPort ?? 0 } });
  await elsewhere.ensureAccount(account);
  await assert.rejects(elsewhere.probe(account), /the probe failed: .*altnames/);
  assert.deepEqual(
    [...stub.accounts.byUser.values()].flatMap(({ ftp }) => ftp.map(({ name }) => name)),
    ["site"],
  );
});

test("an answer from a panel driver's cache does not count as an answer of the panel", async (t) => {
  const { stub, open } = await startPanel();
  t.after(() => stub.close());
  const driver = open({ usagePollMs: 3_600_000 });
  const first = await driver.usageChanges({ after: 0, waitMs: 0 });
  const asked = stub.requests.length;
  const second = await driver.usageChanges({ after: first.version, waitMs: 0 });
  assert.equal(stub.requests.length, asked);
  assert.deepEqual([first.isRemembered, second.isRemembered], [false, true]);
});
