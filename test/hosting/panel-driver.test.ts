/** The contract of hosting nodes, of a panel. */
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { Client } from "basic-ftp";
import { panelCapabilities } from "#nodes/cpanel/driver.ts";
import { panelFtpUsername } from "#nodes/cpanel/names.ts";
import { testDriver } from "#nodes/driver-suite.ts";
import { cannotServeFtp } from "../../sandbox/whm/ftp.ts";
import { password, passwordHash, quickHash, testAccount } from "../../src/nodes/test-account.ts";
import { panelPage, startPanel } from "./panel-stage.ts";

const siteDomain = "sites.test";

async function connect(port: number | undefined, identifier: string, secret: string): Promise<Client> {
  const client = new Client(5_000);
  const user = panelFtpUsername(identifier, siteDomain);
  const secureOptions = { rejectUnauthorized: false };
  await client
    .access({ host: "127.0.0.1", port: port ?? 0, user, password: secret, secure: true, secureOptions })
    .catch((error) => {
      client.close();
      throw error;
    });
  return client;
}

if (cannotServeFtp) test("the contract of hosting nodes, panel", { skip: cannotServeFtp }, () => {});
else {
  testDriver(
    "panel",
    async () => {
      const { stub, driver } = await startPanel({ servesFtp: true });
      const hostStatus = async (host: string, path: string) => (await panelPage(stub, host, path)).status;
      return {
        driver,
        first: { password, hash: passwordHash },
        second: { password: "another password", hash: quickHash("another password") },
        canLogIn: (identifier, secret) =>
          connect(stub.ftpPort, identifier, secret).then(
            (client) => {
              client.close();
              return true;
            },
            () => false,
          ),
        upload: async (identifier, secret, name, content) => {
          const client = await connect(stub.ftpPort, identifier, secret);
          await client.uploadFrom(Readable.from([content]), `/${name}`).finally(() => client.close());
        },
        pageStatus: (identifier, path) => hostStatus(`${identifier}.${siteDomain}`, path),
        hostStatus,
        close: () => stub.close(),
      };
    },
    panelCapabilities,
  );
}

test("a new password cuts the sessions that are open, and leaves the files", { skip: cannotServeFtp }, async (t) => {
  const { stub, driver } = await startPanel({ servesFtp: true });
  t.after(() => stub.close());
  const account = testAccount("kicked.example", 200_001);
  await driver.ensureAccount(account);
  const client = await connect(stub.ftpPort, account.identifier, password);
  await client.uploadFrom(Readable.from(["kept"]), "/kept.txt");
  await driver.setPassword(account, quickHash("another password"));
  await assert.rejects(client.list("/"));
  client.close();
  assert.equal((await panelPage(stub, "kicked.example.sites.test", "/kept.txt")).body, "kept");
});

test("a probe that was killed leaves a login, which the next one takes away", { skip: cannotServeFtp }, async (t) => {
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
