/** The tests that the driver of every kind of node passes. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Client } from "basic-ftp";
import type { Secret } from "#lib/secret.ts";
import { type DesiredAccount, type HostingNode, NodeRefused, type RefusalReason } from "./driver.ts";

export interface DriverUnderTest {
  driver: HostingNode;
  /** Two passwords and their hashes. */
  first: { password: string; hash: Secret };
  second: { password: string; hash: Secret };
  /** Whether this login works over FTP, as a customer's client would see it. */
  canLogIn(user: string, password: string): Promise<boolean>;
  /** Uploads a file into `www`. @throws when the node refuses it */
  upload(user: string, password: string, name: string, content: string): Promise<void>;
  /** The status of the site's page. */
  pageStatus(identifier: string, path: string): Promise<number>;
  close(): Promise<void>;
}

/** @param kind the kind of node, for the tests' names */
export function testDriver(kind: string, start: () => Promise<DriverUnderTest>): void {
  describe(`the contract of hosting nodes, ${kind}`, () => {
    let node: DriverUnderTest;
    let uid = 200_000;
    before(async () => {
      node = await start();
    });
    after(() => node.close());

    /** A new account, described but not made. */
    const describeNew = (changes: Partial<DesiredAccount> = {}): DesiredAccount => {
      uid += 1;
      return {
        identifier: `site-${uid}.example`,
        uid,
        passwordHash: node.first.hash,
        diskBytesMax: 100_000,
        filesMax: 50,
        sessionsMax: 5,
        ftpEnabled: true,
        suspended: false,
        hostNames: [],
        ...changes,
      };
    };
    const make = async (changes: Partial<DesiredAccount> = {}) => {
      const account = describeNew(changes);
      await node.driver.ensureAccount(account);
      return account;
    };
    const refuses = (reason: RefusalReason, run: Promise<unknown>) =>
      assert.rejects(run, (error) => error instanceof NodeRefused && error.reason === reason);

    test("a new account can log in, upload, be read and be probed", async () => {
      const account = await make();
      await node.upload(account.identifier, node.first.password, "index.html", "hello");
      assert.equal(await node.pageStatus(account.identifier, "/"), 200);
      await node.driver.probe(account);
      assert.deepEqual(await node.driver.usage(account.identifier), { bytes: 5, files: 1 });
    });

    test("making an account twice, also at the same time, makes one", async () => {
      const account = describeNew();
      await Promise.all([1, 2, 3].map(() => node.driver.ensureAccount(account)));
      await node.upload(account.identifier, node.first.password, "kept.txt", "kept");
      await node.driver.ensureAccount(account);
      assert.equal(await node.pageStatus(account.identifier, "/kept.txt"), 200);
      const found = (await node.driver.list()).filter(({ identifier }) => identifier === account.identifier);
      assert.equal(found.length, 1);
    });

    test("making an account again corrects what is different", async () => {
      const account = await make();
      await node.driver.ensureAccount({ ...account, filesMax: 7, passwordHash: node.second.hash, suspended: true });
      const found = await node.driver.find(account.identifier);
      assert.equal(found?.filesMax, 7);
      assert.equal(found?.suspended, true);
      await node.driver.ensureAccount({ ...account, passwordHash: node.second.hash });
      assert.equal(await node.canLogIn(account.identifier, node.first.password), false);
      assert.equal(await node.canLogIn(account.identifier, node.second.password), true);
    });

    test("an identifier and a uid belong to each other", async () => {
      const account = await make();
      const stranger = describeNew();
      await refuses("identifier_taken", node.driver.ensureAccount({ ...account, uid: stranger.uid }));
      await refuses("uid_taken", node.driver.ensureAccount({ ...account, identifier: stranger.identifier }));
      await refuses("account_unknown", node.driver.suspend({ ...account, uid: stranger.uid }));
    });

    test("refuses an identifier that is no host name, and stores nothing", async () => {
      for (const identifier of ["../x", "..", "a/b", "%2e%2e", "a\0b", "x".repeat(300), "exаmple", "A.example", ""]) {
        const account = describeNew({ identifier });
        await assert.rejects(node.driver.ensureAccount(account), NodeRefused, identifier);
        assert.ok(!(await node.driver.list()).some((shown) => shown.uid === account.uid));
      }
    });

    test("a changed password opens the account, the old one does not", async () => {
      const account = await make();
      await node.driver.setPassword(account, node.second.hash);
      await node.driver.setPassword(account, node.second.hash);
      assert.equal(await node.canLogIn(account.identifier, node.first.password), false);
      assert.equal(await node.canLogIn(account.identifier, node.second.password), true);
    });

    test("no password opens an account without one, or with FTP disabled", async () => {
      const without = await make({ passwordHash: undefined });
      const disabled = await make({ ftpEnabled: false });
      assert.equal(await node.canLogIn(without.identifier, node.first.password), false);
      assert.equal(await node.canLogIn(disabled.identifier, node.first.password), false);
      await node.driver.probe(without);
      await node.driver.probe(disabled);
    });

    test("new limits hold for the next upload", async () => {
      const account = await make();
      const { identifier } = account;
      await node.driver.setLimits(account, { diskBytesMax: 10, filesMax: 50, sessionsMax: 5, ftpEnabled: true });
      await assert.rejects(node.upload(identifier, node.first.password, "big.txt", "x".repeat(11)));
      await node.driver.setLimits(account, { diskBytesMax: 11, filesMax: 50, sessionsMax: 5, ftpEnabled: true });
      await node.upload(identifier, node.first.password, "big.txt", "x".repeat(11));
    });

    test("a suspended account refuses FTP and its site answers 503, until it is resumed", async () => {
      const account = await make();
      await node.upload(account.identifier, node.first.password, "index.html", "hello");
      await node.driver.suspend(account);
      await node.driver.suspend(account);
      assert.equal(await node.canLogIn(account.identifier, node.first.password), false);
      assert.equal(await node.pageStatus(account.identifier, "/"), 503);
      await refuses("suspended", node.driver.probe(account));
      await node.driver.resume(account);
      await node.driver.resume(account);
      assert.equal(await node.canLogIn(account.identifier, node.first.password), true);
      assert.equal(await node.pageStatus(account.identifier, "/"), 200);
    });

    test("a removed account is gone; its identifier starts afresh under a new uid", async () => {
      const account = await make();
      await node.upload(account.identifier, node.first.password, "old.txt", "old");
      await node.driver.remove(account);
      await node.driver.remove(account);
      assert.equal(await node.driver.find(account.identifier), undefined);
      assert.equal(await node.canLogIn(account.identifier, node.first.password), false);
      assert.equal(await node.pageStatus(account.identifier, "/old.txt"), 404);
      const next = await make({ identifier: account.identifier, passwordHash: node.second.hash });
      assert.equal(await node.canLogIn(account.identifier, node.first.password), false);
      assert.equal(await node.pageStatus(account.identifier, "/old.txt"), 404);
      await node.driver.remove(account);
      assert.equal((await node.driver.find(account.identifier))?.uid, next.uid);
    });

    test("the uid of a removed account is never used again, not even of one that was never made", async () => {
      const removed = await make();
      const neverMade = describeNew();
      await node.driver.remove(removed);
      await node.driver.remove(neverMade);
      await refuses("uid_retired", node.driver.ensureAccount(removed));
      await refuses("uid_retired", node.driver.ensureAccount(neverMade));
    });

    test("an unknown account is found by nobody and refused by everything else", async () => {
      const account = describeNew();
      assert.equal(await node.driver.find(account.identifier), undefined);
      await refuses("account_unknown", node.driver.usage(account.identifier));
      await refuses("account_unknown", node.driver.setPassword(account, node.first.hash));
      await refuses("account_unknown", node.driver.setLimits(account, account));
      await refuses("account_unknown", node.driver.resume(account));
      await refuses("account_unknown", node.driver.probe(account));
    });

    test("a probe leaves nothing behind", async () => {
      const account = await make();
      await node.driver.probe(account);
      assert.deepEqual(await node.driver.usage(account.identifier), { bytes: 0, files: 0 });
    });

    test("a login of ours opens the home, also of a suspended account and of one without FTP", async () => {
      for (const changes of [{}, { ftpEnabled: false }, { suspended: true }]) {
        const account = await make(changes);
        const login = await node.driver.oneTimeLogin(account);
        const client = new Client(5_000);
        try {
          const secureOptions = { ca: login.certificate, checkServerIdentity: () => undefined };
          await client.access({ ...login, password: login.password.reveal(), secure: true, secureOptions });
          assert.deepEqual(
            (await client.list("/")).map(({ name }) => name),
            ["www"],
          );
        } finally {
          client.close();
        }
      }
      await refuses("account_unknown", node.driver.oneTimeLogin(describeNew()));
    });

    test("a change of usage reaches who waits for it", async () => {
      const account = await make();
      const { version } = await node.driver.usageChanges({ after: 0, waitMs: 0 });
      const waiting = node.driver.usageChanges({ after: version, waitMs: 5_000 });
      await node.upload(account.identifier, node.first.password, "a.txt", "abc");
      const { accounts } = await waiting;
      assert.deepEqual(accounts, [{ identifier: account.identifier, uid: account.uid, bytes: 3, files: 1 }]);
    });

    test("every account's usage is told to who knows nothing or a version of another time", async () => {
      const account = await make();
      for (const after of [0, Number.MAX_SAFE_INTEGER]) {
        const { accounts } = await node.driver.usageChanges({ after, waitMs: 0 });
        assert.ok(accounts.some(({ uid }) => uid === account.uid));
      }
    });
  });
}
