/** A panel's answer is no proof: whatever gets lost, there is one account, and no other one is changed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Secret } from "#lib/secret.ts";
import { panelUser } from "#nodes/cpanel/names.ts";
import { type HostingNode, NodeRefused, NodeUnavailable, type RefusalReason } from "#nodes/driver.ts";
import { passwordHash, quickHash, testAccount } from "#nodes/test-account.ts";
import type { Account } from "../../sandbox/whm/accounts.ts";
import { manners } from "../../sandbox/whm/faults.ts";
import { type PanelStage, panelMarker, panelToken, startPanel } from "./panel-stage.ts";

/** How long to wait for a silent panel. A late answer only causes another attempt. */
const silenceMs = 300;
const doubtsMax = 10;

async function panelFor(t: { after(close: () => Promise<void>): void }): Promise<PanelStage> {
  const stage = await startPanel();
  t.after(() => stage.stub.close());
  return stage;
}

const refuses = (reason: RefusalReason, run: Promise<unknown>) =>
  assert.rejects(run, (error) => error instanceof NodeRefused && error.reason === reason);

/** Retries until the panel succeeds, as the gateway does. @param first the driver of the first attempt */
async function untilDone(run: Case["run"], first: HostingNode, driver: HostingNode): Promise<void> {
  for (let doubts = 0; ; doubts += 1) {
    try {
      return await run(doubts === 0 ? first : driver);
    } catch (error) {
      if (!(error instanceof NodeUnavailable) || doubts === doubtsMax) throw error;
    }
  }
}

const desired = testAccount("doubt.example", 200_001, { diskBytesMax: 3_000_000 });

function assertMade({ stub }: PanelStage, isSuspended = false, hash = passwordHash): void {
  assert.deepEqual(
    [...stub.accounts.byUser.values()].map(({ user, domain, email, suspended, quotaMb, ftp }) => ({
      user,
      domain,
      email,
      suspended,
      quotaMb,
      ftp: ftp.map((login) => [login.name, login.hash]),
    })),
    [
      {
        user: "dh004abl",
        domain: "doubt.example.sites.test",
        email: "deedhouse+a1b2c3d4-200001@ops.example",
        suspended: isSuspended,
        quotaMb: 3,
        ftp: [["site", hash.reveal()]],
      },
    ],
  );
}

interface Case {
  /** The state before. */
  before(driver: HostingNode): Promise<void>;
  run(driver: HostingNode): Promise<void>;
  /** The functions that change something, and those that only read. */
  calls: string[];
  assertDone(stage: PanelStage): void;
}

const newHash = quickHash("another password");
const made = (driver: HostingNode) => driver.ensureAccount(desired);
const cases: Record<string, Case> = {
  "making an account": {
    before: async () => {},
    run: made,
    calls: ["accountsummary", "listaccts", "createacct", "Ftp::list_ftp", "Ftp::kill_session", "Ftp::add_ftp"],
    assertDone: (stage) => assertMade(stage),
  },
  "making it with another quota and password": {
    before: (driver) => driver.ensureAccount({ ...desired, diskBytesMax: 1, passwordHash: newHash }),
    run: made,
    calls: ["Ftp::delete_ftp", "Ftp::add_ftp", "editquota"],
    assertDone: (stage) => assertMade(stage),
  },
  "setting a password": {
    before: made,
    run: (driver) => driver.ensureAccount({ ...desired, passwordHash: newHash }),
    calls: ["accountsummary", "Ftp::list_ftp", "Ftp::delete_ftp", "Ftp::kill_session", "Ftp::add_ftp"],
    assertDone: (stage) => assertMade(stage, false, newHash),
  },
  suspending: {
    before: made,
    run: (driver) => driver.ensureAccount({ ...desired, suspended: true }),
    calls: ["accountsummary", "Ftp::kill_session", "suspendacct"],
    assertDone: (stage) => assertMade(stage, true),
  },
  resuming: {
    before: (driver) => driver.ensureAccount({ ...desired, suspended: true }),
    run: made,
    calls: ["accountsummary", "unsuspendacct"],
    assertDone: (stage) => assertMade(stage),
  },
  removing: {
    before: made,
    run: (driver) => driver.remove(desired),
    calls: ["accountsummary", "removeacct"],
    assertDone: ({ stub }) => assert.equal(stub.accounts.byUser.size, 0),
  },
};

for (const [what, { before, run, calls, assertDone }] of Object.entries(cases)) {
  test(`${what} ends the same, whichever answer of the panel gets lost`, async (t) => {
    const stage = await panelFor(t);
    const { stub, driver } = stage;
    const impatient = stage.open({ requestMs: silenceMs });
    const faults = calls.flatMap((name) =>
      (["before", "after"] as const).flatMap((moment) => manners.map((manner) => ({ name, moment, manner }))),
    );
    for (const fault of faults) {
      await t.test(`${fault.name}, ${fault.moment} it was done: ${fault.manner}`, async () => {
        for (const account of stub.accounts.byUser.values()) stub.accounts.remove(account);
        await before(driver);
        const met = stub.fault(fault);
        await untilDone(run, fault.manner === "silence" ? impatient : driver, driver);
        await met;
        assertDone(stage);
      });
    }
  });
}

test("adopts an account that carries our marker for this uid and identifier, and nothing else", async (t) => {
  const { stub, driver } = await panelFor(t);
  const ours = {
    user: panelUser(desired.uid),
    domain: "doubt.example.sites.test",
    email: `deedhouse+${panelMarker.installation}-${desired.uid}@${panelMarker.mailDomain}`,
    owner: "reseller",
    plan: "default",
    quotaMb: 3,
  };
  const others: [change: Partial<Account>, RefusalReason][] = [
    [{ email: "somebody@customer.example" }, "identifier_taken"],
    [{ email: ours.email.replace("a1b2c3d4", "ffffffff") }, "identifier_taken"],
    [{ email: ours.email.replace("200001", "200002") }, "identifier_taken"],
    [{ email: `${ours.email}.evil` }, "identifier_taken"],
    [{ user: "customer" }, "identifier_taken"],
    [{ domain: "doubt.example.elsewhere.test" }, "identifier_taken"],
    [{ domain: "other.example.sites.test" }, "uid_taken"],
    // Another reseller's account, which cannot be read.
    [{ owner: "root" }, "identifier_taken"],
    [{ owner: "root", user: "customer" }, "identifier_taken"],
  ];
  for (const [change, reason] of others) {
    const account = stub.accounts.add({ ...ours, ...change });
    const asItWas = JSON.stringify(account);
    await refuses(reason, driver.ensureAccount(desired));
    await refuses(
      reason,
      driver.ensureAccount({ ...desired, passwordHash: newHash, suspended: true, diskBytesMax: 1 }),
    );
    await refuses(reason === "uid_taken" ? reason : "account_unknown", driver.probe(desired));
    await driver.remove(desired);
    assert.equal(JSON.stringify(stub.accounts.byUser.get(account.user)), asItWas, JSON.stringify(change));
    assert.equal(stub.accounts.byUser.size, 1);
    stub.accounts.remove(account);
  }
  stub.accounts.add(ours);
  await driver.ensureAccount(desired);
  assertMade({ stub } as PanelStage);
});

test("lists only its own accounts, and finds them by its marker", async (t) => {
  const { stub, driver, open } = await panelFor(t);
  await driver.ensureAccount(desired);
  const foreign = { user: "customer", domain: "customer.example", email: "somebody@customer.example" };
  stub.accounts.add({ ...foreign, owner: "reseller", plan: "default", quotaMb: 0 });
  assert.deepEqual(
    (await driver.list()).map(({ identifier, uid }) => [identifier, uid]),
    [["doubt.example", 200_001]],
  );
  const another = open({ installation: "ffffffff" });
  assert.deepEqual(await another.list(), []);
  assert.equal(await another.find("doubt.example"), undefined);
});

test("user names differ in their first eight characters for every uid", () => {
  for (const uid of [1, 200_001, 999_999, 1_000_000, 2 ** 31 - 1]) assert.equal(panelUser(uid).length, 8);
  assert.equal(new Set([1, 36, 1_296, 1_000_000, 1_000_001, 2 ** 31 - 1].map(panelUser)).size, 6);
});

test("an account gets the node's package, and waits while the panel does not have it", async (t) => {
  const { stub, open } = await panelFor(t);
  const driver = open({ plan: "reseller_gold" });
  await assert.rejects(driver.ensureAccount(desired), /the panel has no package reseller_gold/);
  assert.equal(stub.accounts.byUser.size, 0);
  stub.packages.push("reseller_gold");
  await driver.ensureAccount(desired);
  assert.equal([...stub.accounts.byUser.values()][0]?.plan, "reseller_gold");
});

test("a panel with an untrusted certificate, or that does not know the token, is unavailable", async (t) => {
  const { stub, open } = await panelFor(t);
  await assert.rejects(open({ ca: undefined }).list(), NodeUnavailable);
  // Nothing of the request, and so of the token, was sent.
  assert.deepEqual(stub.requests, []);
  await assert.rejects(open({ token: new Secret("another") }).list(), /HTTP 403/);
});

test("no secret is in a URL, a log or an error, and all parameters are in the body", async (t) => {
  const { stub, open, logged } = await panelFor(t);
  const driver = open({ requestMs: silenceMs });
  const errors: string[] = [];
  const ensure = (by = driver) =>
    by.ensureAccount(desired).then(
      () => true,
      (error: Error) => {
        errors.push(`${error.stack} ${String(error.cause)}`);
        return false;
      },
    );
  for (const manner of manners) {
    for (const name of ["createacct", "Ftp::add_ftp"]) {
      void stub.fault({ name, moment: "before", manner });
      await ensure();
    }
  }
  // On a busy machine, a try may end before the call that has the fault; a later try meets it.
  for (let tries = 0; !(await ensure(open({}))); tries += 1) assert.ok(tries < 2 * manners.length, errors.at(-1));
  const passwords = stub.requests.flatMap(({ body }) => new URLSearchParams(body).getAll("password"));
  assert.ok(passwords.length > 0 && errors.length > 0);
  const places = { addresses: stub.requests.map(({ url }) => url).join(" "), log: logged(), errors: errors.join(" ") };
  for (const [place, text] of Object.entries(places)) {
    for (const secret of [...passwords, passwordHash.reveal(), panelToken, encodeURIComponent(passwordHash.reveal())]) {
      assert.ok(!text.includes(secret), place);
    }
  }
  for (const { url } of stub.requests) assert.match(url, /^\/json-api\/[a-z_]+$/);
});
