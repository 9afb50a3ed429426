/** The tests that the drivers of all kinds of nodes must pass. */
import assert from "node:assert/strict";
import { posix } from "node:path";
import { Readable } from "node:stream";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Client } from "basic-ftp";
import {
  allCapabilities,
  type Capabilities,
  type DesiredAccount,
  type HostingNode,
  NodeRefused,
  type RefusalReason,
  type Usage,
} from "#nodes/driver.ts";
import { password, passwordHash, quickHash, usageOf } from "#nodes/test-account.ts";
import { logInFtp } from "#nodes/test-ftp-login.ts";

export interface DriverUnderTest {
  driver: HostingNode;
  /** The domain of the accounts' platform names. */
  siteDomain: string;
  /** The served folder, as a login sees it. Default: `/www`. */
  folder?: string;
  /** Logs in like a customer's client. @throws when the login fails */
  logIn(identifier: string, password: string): Promise<Client>;
  /** The status of a page at any host name. */
  hostStatus(host: string, path: string): Promise<number>;
  close(): Promise<void>;
}

const first = { password, hash: passwordHash };
const second = { password: "another password", hash: quickHash("another password") };

/** Each test process uses its own uids, because FTP sessions of all nodes on the machine are identified by uid. */
const uidsMax = 400;
const pollMs = 10;

/**
 * @param kind the kind of node, for the tests' names
 * @param can its capabilities: tests of missing ones are skipped or reduced
 */
export function testDriver(
  kind: string,
  start: () => Promise<DriverUnderTest>,
  can: Capabilities = allCapabilities,
): void {
  describe(`the contract of hosting nodes, ${kind}`, () => {
    let node: DriverUnderTest;
    let uid = 200_000 + process.pid * uidsMax;
    before(async () => {
      node = await start();
      assert.deepEqual(node.driver.capabilities ?? allCapabilities, can);
    });
    after(() => node.close());
    const canLogIn = async (identifier: string, secret: string) => {
      const client = await node.logIn(identifier, secret).catch(() => undefined);
      client?.close();
      return client !== undefined;
    };
    /** Uploads a file into the served folder. @throws when the node refuses it */
    const upload = async (identifier: string, secret: string, name: string, content: string) => {
      const client = await node.logIn(identifier, secret);
      await client
        .uploadFrom(Readable.from([content]), posix.join(node.folder ?? "/www", name))
        .finally(() => client.close());
    };
    /** The status of the site's page, at the account's platform name. */
    const pageStatus = (identifier: string, path: string) => node.hostStatus(`${identifier}.${node.siteDomain}`, path);
    const unless = (isAble: boolean) => ({ skip: !isAble && `${kind} cannot do that` });

    /** Describes a new account without creating it. */
    const describeNew = (changes: Partial<DesiredAccount> = {}): DesiredAccount => {
      uid += 1;
      return {
        identifier: `site-${uid}.example`,
        uid,
        passwordHash: first.hash,
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
    const usesAbout = (usage: Usage, { bytes, files }: Usage) =>
      Math.abs(usage.bytes - bytes) < can.diskUnitBytes && (!can.limitsFilesAndSessions || usage.files === files);
    /** Some kinds of node count in the background. */
    const untilUses = async (identifier: string, usage: Usage) => {
      while (!usesAbout(await usageOf(node.driver, identifier), usage)) await pause(pollMs);
    };
    const refuses = (reason: RefusalReason, run: Promise<unknown>) =>
      assert.rejects(run, (error) => error instanceof NodeRefused && error.reason === reason);

    test("a new account can log in, upload, be read and be probed", async () => {
      const account = await make();
      await upload(account.identifier, first.password, "index.html", "hello");
      assert.equal(await pageStatus(account.identifier, "/"), 200);
      await node.driver.probe(account);
      await untilUses(account.identifier, { bytes: 5, files: 1 });
    });

    test("creating an account several times concurrently creates one", async () => {
      const account = describeNew();
      await Promise.all([1, 2, 3].map(() => node.driver.ensureAccount(account)));
      await upload(account.identifier, first.password, "kept.txt", "kept");
      await node.driver.ensureAccount(account);
      assert.equal(await pageStatus(account.identifier, "/kept.txt"), 200);
      const found = (await node.driver.list()).filter(({ identifier }) => identifier === account.identifier);
      assert.equal(found.length, 1);
    });

    test("ensuring an account corrects differences", async () => {
      const account = await make();
      await node.driver.ensureAccount({ ...account, filesMax: 7, passwordHash: second.hash, suspended: true });
      const found = await node.driver.find(account.identifier);
      if (can.limitsFilesAndSessions) assert.equal(found?.filesMax, 7);
      assert.equal(found?.suspended, true);
      await node.driver.ensureAccount({ ...account, passwordHash: second.hash });
      assert.equal(await canLogIn(account.identifier, first.password), false);
      assert.equal(await canLogIn(account.identifier, second.password), true);
    });

    test("an identifier and a uid belong to each other", async () => {
      const account = await make();
      const stranger = describeNew();
      await refuses("identifier_taken", node.driver.ensureAccount({ ...account, uid: stranger.uid }));
      await refuses("uid_taken", node.driver.ensureAccount({ ...account, identifier: stranger.identifier }));
      await refuses("account_unknown", node.driver.probe({ ...account, uid: stranger.uid }));
    });

    test("refuses an identifier that is not a host name, and stores nothing", async () => {
      for (const identifier of ["../x", "..", "a/b", "%2e%2e", "a\0b", "x".repeat(300), "exаmple", "A.example", ""]) {
        const account = describeNew({ identifier });
        await assert.rejects(node.driver.ensureAccount(account), NodeRefused, identifier);
        assert.ok(!(await node.driver.list()).some((shown) => shown.uid === account.uid));
      }
    });

    test("a new password opens the account, and the old one does not", async () => {
      const account = await make();
      for (let times = 0; times < 2; times++)
        await node.driver.ensureAccount({ ...account, passwordHash: second.hash });
      assert.equal(await canLogIn(account.identifier, first.password), false);
      assert.equal(await canLogIn(account.identifier, second.password), true);
    });

    test("no password opens an account without one, or with FTP disabled", async () => {
      const without = await make({ passwordHash: undefined });
      const disabled = await make({ ftpEnabled: false });
      assert.equal(await canLogIn(without.identifier, first.password), false);
      assert.equal(await canLogIn(disabled.identifier, first.password), false);
      await node.driver.probe(without);
      await node.driver.probe(disabled);
    });

    test("new limits apply to the next upload", async () => {
      const account = await make();
      const { identifier } = account;
      const big = "x".repeat(10 * can.diskUnitBytes + 1);
      const limitTo = (units: number) =>
        node.driver.ensureAccount({ ...account, diskBytesMax: units * can.diskUnitBytes });
      await limitTo(10);
      await assert.rejects(upload(identifier, first.password, "big.txt", big));
      await limitTo(11);
      await upload(identifier, first.password, "big.txt", big);
    });

    test("a suspended account refuses FTP and its site answers 503, until it is resumed", async () => {
      const account = await make();
      await upload(account.identifier, first.password, "index.html", "hello");
      for (let times = 0; times < 2; times++) await node.driver.ensureAccount({ ...account, suspended: true });
      assert.equal(await canLogIn(account.identifier, first.password), false);
      const status = await pageStatus(account.identifier, "/");
      assert.ok(can.answers503 ? status === 503 : status !== 200, `${status}`);
      await refuses("suspended", node.driver.probe(account));
      for (let times = 0; times < 2; times++) await node.driver.ensureAccount(account);
      assert.equal(await canLogIn(account.identifier, first.password), true);
      assert.equal(await pageStatus(account.identifier, "/"), 200);
    });

    test("a removed account is gone, and its identifier can be used again with a new uid", async () => {
      const account = await make();
      await upload(account.identifier, first.password, "old.txt", "old");
      await node.driver.remove(account);
      await node.driver.remove(account);
      assert.equal(await node.driver.find(account.identifier), undefined);
      assert.equal(await canLogIn(account.identifier, first.password), false);
      assert.equal(await pageStatus(account.identifier, "/old.txt"), 404);
      const next = await make({ identifier: account.identifier, passwordHash: second.hash });
      assert.equal(await canLogIn(account.identifier, first.password), false);
      assert.equal(await pageStatus(account.identifier, "/old.txt"), 404);
      await node.driver.remove(account);
      assert.equal((await node.driver.find(account.identifier))?.uid, next.uid);
    });

    const uidsStay = "the uid of a removed account is refused, even if the account was never created";
    test(uidsStay, unless(can.remembersUids), async () => {
      const removed = await make();
      const neverMade = describeNew();
      await node.driver.remove(removed);
      await node.driver.remove(neverMade);
      await refuses("uid_retired", node.driver.ensureAccount(removed));
      await refuses("uid_retired", node.driver.ensureAccount(neverMade));
    });

    test("the highest uid is known, including removed accounts if the node remembers them", async () => {
      const before = await node.driver.highestUid();
      const account = await make();
      assert.ok(account.uid > before);
      assert.equal(await node.driver.highestUid(), account.uid);
      const neverMade = describeNew();
      await node.driver.remove(account);
      await node.driver.remove(neverMade);
      if (can.remembersUids) assert.equal(await node.driver.highestUid(), neverMade.uid);
    });

    test("an unknown account is not found, and cannot be probed", async () => {
      const account = describeNew();
      assert.equal(await node.driver.find(account.identifier), undefined);
      await refuses("account_unknown", node.driver.probe(account));
    });

    test("a probe leaves nothing behind", async () => {
      const account = await make();
      await node.driver.probe(account);
      const client = await node.logIn(account.identifier, first.password);
      assert.deepEqual(await client.list(node.folder ?? "/www").finally(() => client.close()), []);
      await untilUses(account.identifier, { bytes: 0, files: 0 });
    });

    if (!can.oneTimeLogins) {
      test("a node without one-time logins refuses them as unsupported", async () => {
        await refuses("unsupported", node.driver.oneTimeLogin(await make()));
      });
    }

    if (!can.hostNames) {
      test("a node without host names ignores them", async () => {
        const account = await make({ hostNames: ["shop.customer.example"] });
        assert.deepEqual((await node.driver.find(account.identifier))?.hostNames, []);
        assert.equal(await node.hostStatus("shop.customer.example", "/"), 404);
      });
    }

    const opensHome = "a one-time login opens the home, even if the account is suspended or FTP is disabled";
    test(opensHome, unless(can.oneTimeLogins), async () => {
      for (const changes of [{}, { ftpEnabled: false }, { suspended: true }]) {
        const account = await make(changes);
        const login = await node.driver.oneTimeLogin(account);
        const tls = { ca: login.certificate, checkServerIdentity: () => undefined, allowPartialTrustChain: true };
        const client = await logInFtp(login, login.user, login.password.reveal(), tls);
        try {
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

    /** Creates an account with host names and a page. */
    const makeAt = async (hostNames: string[], page: string) => {
      const account = await make({ hostNames });
      await upload(account.identifier, first.password, page, page);
      return account;
    };

    test("a site answers at its host names until they are removed", unless(can.hostNames), async () => {
      const account = await makeAt(["shop.customer.example", "xn--bcher-kva.example"], "a.txt");
      assert.equal(await node.hostStatus("shop.customer.example", "/a.txt"), 200);
      assert.equal(await node.hostStatus("xn--bcher-kva.example", "/a.txt"), 200);
      assert.equal(await node.hostStatus("other.customer.example", "/a.txt"), 404);
      const found = await node.driver.find(account.identifier);
      assert.deepEqual(found?.hostNames.toSorted(), ["shop.customer.example", "xn--bcher-kva.example"]);
      await node.driver.ensureAccount({ ...account, hostNames: ["xn--bcher-kva.example"] });
      assert.equal(await node.hostStatus("shop.customer.example", "/a.txt"), 404);
      assert.equal(await node.hostStatus("xn--bcher-kva.example", "/a.txt"), 200);
      assert.equal(await pageStatus(account.identifier, "/a.txt"), 200);
      await node.driver.remove(account);
      assert.equal(await node.hostStatus("xn--bcher-kva.example", "/a.txt"), 404);
    });

    test("a suspended account's host name answers 503, until it is resumed", unless(can.hostNames), async () => {
      const account = await makeAt(["paused.customer.example"], "a.txt");
      await node.driver.ensureAccount({ ...account, suspended: true });
      assert.equal(await node.hostStatus("paused.customer.example", "/a.txt"), 503);
      await node.driver.ensureAccount(account);
      assert.equal(await node.hostStatus("paused.customer.example", "/a.txt"), 200);
    });

    const lastWins = "a host name belongs to the account that received it last, whatever happens to the other";
    test(lastWins, unless(can.hostNames), async () => {
      const first = await makeAt(["moving.customer.example"], "first.txt");
      const second = await makeAt(["moving.customer.example"], "second.txt");
      assert.deepEqual((await node.driver.find(first.identifier))?.hostNames, []);
      await node.driver.ensureAccount({ ...first, hostNames: [] });
      await node.driver.ensureAccount({ ...first, hostNames: [], suspended: true });
      await node.driver.remove(first);
      assert.equal(await node.hostStatus("moving.customer.example", "/first.txt"), 404);
      assert.equal(await node.hostStatus("moving.customer.example", "/second.txt"), 200);
      assert.deepEqual((await node.driver.find(second.identifier))?.hostNames, ["moving.customer.example"]);
    });

    const wherever = "a host name answers for the account that has it, even if it is another account's identifier";
    test(wherever, unless(can.hostNames), async () => {
      const stranger = await make();
      const account = await makeAt(["early.example"], "a.txt");
      await node.driver.ensureAccount({ ...stranger, hostNames: [stranger.identifier] });
      await node.driver.ensureAccount({ ...account, hostNames: ["early.example", stranger.identifier] });
      assert.equal(await node.hostStatus(stranger.identifier, "/a.txt"), 200);
      assert.deepEqual((await node.driver.find(stranger.identifier))?.hostNames, []);
      await make({ identifier: "early.example" });
      assert.equal(await node.hostStatus("early.example", "/a.txt"), 200);
      const found = await node.driver.find(account.identifier);
      assert.deepEqual(found?.hostNames.toSorted(), ["early.example", stranger.identifier].toSorted());
    });

    test("a change of usage reaches a waiting caller", async () => {
      const account = await make();
      const { version } = await node.driver.usageChanges({ after: 0, waitMs: 0 });
      let changes = node.driver.usageChanges({ after: version, waitMs: 5_000 });
      await upload(account.identifier, first.password, "a.txt", "abc");
      for (;;) {
        const { accounts, version: next } = await changes;
        const changed = accounts.find(({ uid }) => uid === account.uid);
        if (changed !== undefined) {
          assert.equal(changed.identifier, account.identifier);
          assert.ok(usesAbout(changed, { bytes: 3, files: 1 }), JSON.stringify(changed));
          return;
        }
        // Changes of earlier tests may arrive late.
        assert.ok(accounts.length > 0, "the change was not reported");
        changes = node.driver.usageChanges({ after: next, waitMs: 5_000 });
      }
    });

    test("a caller without a version, or with an unknown one, gets every account's usage", async () => {
      const account = await make();
      for (const after of [0, Number.MAX_SAFE_INTEGER]) {
        const { accounts } = await node.driver.usageChanges({ after, waitMs: 0 });
        assert.ok(accounts.some(({ uid }) => uid === account.uid));
      }
    });
  });
}
