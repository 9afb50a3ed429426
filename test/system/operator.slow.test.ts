import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { sleep, systemClock } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import { type Ended, type RunningSystem, repository, startSystem, systemFolder } from "../harness/running-system.ts";
import { sendSigned } from "../harness/signed-request.ts";
import { endSessions, runSql } from "../harness/sql.ts";
import { delayOrders } from "../orders/hold.ts";

const folder = await systemFolder({ after });
let system: RunningSystem;

before(async () => {
  system = await startSystem(folder, ["--rate-limit", "1000000"]);
});

/** Runs an operator's command on this system's folder. */
const operate = (...args: string[]) => system.tool(["operator", ...args, "--data", join(folder, "data")]);

/** The same; it must succeed, and its output is returned. */
async function operated(...args: string[]): Promise<Record<string, string>> {
  const { code, stdout, stderr } = await operate(...args, "--json");
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  return JSON.parse(stdout);
}

/** Runs commands that must fail, all at once: arguments, exit code, message. */
async function assertAllFail(cases: [args: string[], code: number, sentence: RegExp][]): Promise<void> {
  await Promise.all(cases.map(async ([args, code, sentence]) => assertFailed(await operate(...args), code, sentence)));
}

function assertFailed({ code, stdout, stderr }: Ended, expectedCode: number, sentence: RegExp): void {
  assert.match(stderr, sentence);
  assert.doesNotMatch(stderr, /unexpected|\n {4}at /);
  assert.deepEqual({ code, stdout }, { code: expectedCode, stdout: "" });
}

const profile = {
  fullName: "Ann Acme",
  email: "ann@acme.example",
  phone: "+32.25550100",
  street: "Main Street 1",
  city: "Brussels",
  postalCode: "1000",
  countryCode: "BE",
};

test("an account that an operator makes can register names, once its profile is complete", async () => {
  await operated("account", "create", "acme", "--rate-limit", "500");
  const { api_key: id, api_secret: secret } = await operated("key", "create", "--account", "acme");
  const key = { id: id!, secret: new Secret(secret!) };
  const order = () =>
    sendSigned({
      url: system.ready().url,
      key,
      clock: systemClock,
      method: "POST",
      target: "/domains/registrations",
      body: { domain_name: "acme.example" },
    });
  assert.equal((await order()).status, 400);
  const file = join(folder, "profile.json");
  writeFileSync(file, JSON.stringify(profile));
  await operated("account", "profile", "acme", "--file", file);
  const accepted = await order();
  assert.equal(accepted.status, 202);
  assert.equal(accepted.headers["x-ratelimit-limit"], "500");
});

test("says what is wrong with an account or a profile", async () => {
  await assertAllFail([
    [["account", "create", "sandbox"], 3, /an account named "sandbox" already/],
    [["account", "profile", "sandbox", "--city", "Ghent"], 3, /the profile is not valid: .*email/],
    [["account", "profile", "nobody", "--city", "Ghent"], 4, /no account named "nobody"/],
    [["account", "profile", "sandbox", "--file", "/nowhere"], 2, /cannot read the profile/],
    [["account", "create", " "], 2, /printable characters/],
    [["account", "create", "x", "--kind", "king"], 2, /Allowed choices are reseller, plain/],
    [["account", "create", "x", "--rate-limit", "0"], 2, /whole number from 1/],
  ]);
});

test("says what is wrong with a key", async () => {
  const create = ["key", "create", "--account", "sandbox"];
  await assertAllFail([
    [[...create, "--scope", "domains:steal"], 2, /'domains:steal' is invalid. Allowed choices are domains:read/],
    [[...create, "--allow", "192.0.2.1/33"], 2, /an address such as/],
    [[...create, "--allow", "office"], 2, /an address such as/],
    [[...create, "--expires", "tomorrow"], 2, /a date such as/],
    [["key", "create", "--account", "nobody"], 4, /no account named "nobody"/],
    [["key", "create"], 2, /required option '--account <name>'/],
    [["key", "revoke", "0".repeat(32)], 4, /nothing to revoke/],
    [["key", "scopes", "0".repeat(32), "--add", "domains:transfer"], 4, /nothing was changed: deedhouse key list/],
    [["key", "scopes", "0".repeat(32)], 2, /give --add or --remove/],
    [["key", "scopes", "0".repeat(32), "--add", "domains:steal"], 2, /'domains:steal' is invalid/],
    [
      ["key", "scopes", "0".repeat(32), "--add", "domains:read", "--remove", "domains:read"],
      2,
      /both added and removed/,
    ],
  ]);
});

test("what can lose a name is added to a key, and removed from it, by the operator", async () => {
  await operated("account", "create", "trusted");
  const { api_key: key } = await operated("key", "create", "--account", "trusted", "--scope", "domains:read");
  const scopesAfter = async (...args: string[]) => (await operated("key", "scopes", key!, ...args)).scopes as unknown;
  assert.deepEqual(await scopesAfter("--add", "domains:transfer", "domains:delete"), [
    "domains:read",
    "domains:delete",
    "domains:transfer",
  ]);
  assert.deepEqual(await scopesAfter("--remove", "domains:delete", "domains:read"), ["domains:transfer"]);
});

test("a key with a forgotten id is found by its account, and its secret is not shown again", async () => {
  const listed = async (...args: string[]) =>
    Object.values<unknown>(await operated(...args)) as Record<string, unknown>[];
  const { id } = await operated("account", "create", "forgetful");
  const ofAccount = ["--account", "forgetful"];
  const create = ["key", "create", ...ofAccount, "--label"];
  const lost = await operated(...create, "lost", "--scope", "domains:read", "--allow", "192.0.2.0/24");
  const expired = await operated(...create, "expired", "--expires", "2020-01-31");
  const revoked = await operated(...create, "revoked");
  await operated("key", "revoke", revoked.api_key!);
  const [accounts, keys, newest, all, table] = await Promise.all([
    listed("account", "list", "--name", "FORGET"),
    listed("key", "list", ...ofAccount),
    listed("key", "list", ...ofAccount, "--all", "--limit", "2"),
    operate("key", "list", "--all", "--json"),
    operate("key", "list", ...ofAccount),
  ]);
  const { created_at: accountMadeAt, ...account } = accounts[0]!;
  const shown = {
    id,
    name: "forgetful",
    kind: "reseller",
    rate_limit: 100,
    orders_per_day: 1000,
    has_profile: false,
    keys: 1,
  };
  assert.deepEqual([account, accounts.length], [shown, 1]);
  assert.ok(accountMadeAt);
  const { created_at: madeAt, ...key } = keys[0]!;
  const wanted = { allowed_addresses: ["192.0.2.0/24"], scopes: ["domains:read"], expires_at: null, revoked_at: null };
  assert.deepEqual([key, keys.length], [{ api_key: lost.api_key, account: "forgetful", label: "lost", ...wanted }, 1]);
  assert.deepEqual(
    newest.map(({ label, revoked_at, expires_at }) => [label, revoked_at !== null, expires_at]),
    [
      ["revoked", true, null],
      ["expired", false, "2020-01-31T00:00:00.000Z"],
    ],
  );
  for (const { api_key: keyId, api_secret: secret } of [lost, expired, revoked]) {
    assert.deepEqual([all.stdout.includes(keyId!), all.stdout.includes(secret!)], [true, false]);
  }
  assert.deepEqual(
    table.stdout.split("\n").map((line) => line.split(/ +/)),
    [
      ["API_KEY", "ACCOUNT", "LABEL", "CREATED_AT", "ALLOWED_ADDRESSES", "SCOPES"],
      [lost.api_key, "forgetful", "lost", madeAt, "192.0.2.0/24", "domains:read"],
      [""],
    ],
  );
  await operated("key", "revoke", lost.api_key!);
  assert.deepEqual(await listed("key", "list", ...ofAccount), []);
  await assertAllFail([
    [["key", "revoke", lost.api_key!], 4, /nothing to revoke: deedhouse key list lists/],
    [["key", "list", "--account", "nobody"], 4, /no account named "nobody": deedhouse account list lists/],
    [["key", "list", "--limit", "0"], 2, /whole number from 1/],
    [["account", "list", "--limit", "all"], 2, /whole number from 1/],
  ]);
});

test("a service pack is offered from its creation until it is retired, to its intended accounts", async () => {
  const offered = async () => {
    const { body } = await system.send("GET", "/servicepacks");
    return (body as { id: string }[]).map(({ id }) => id);
  };
  await operated("account", "create", "other");
  const { id: forAll } = await operated("packs", "create", "Starter", "--disk-mb", "500");
  const { id: forOther } = await operated("packs", "create", "Special", "--disk-mb", "500", "--offer-to", "other");
  const ids = await offered();
  assert.deepEqual([ids.includes(forAll!), ids.includes(forOther!)], [true, false]);
  await operated("packs", "retire", forAll!);
  assert.equal((await offered()).includes(forAll!), false);
  await assertAllFail([
    [["packs", "retire", forAll!], 4, /no service pack .* is on offer/],
    [["packs", "create", "Tiny", "--disk-mb", "half"], 2, /whole number/],
    [["packs", "create", "Tiny", "--disk-mb", "1", "--offer-to", "ghost"], 4, /no account named/],
  ]);
});

test("a blocked name cannot be registered until it is unblocked", async () => {
  const order = () => system.send("POST", "/domains/registrations", { body: { domain_name: "bank.example" } });
  await operated("block", "add", "BANK");
  const refused = await order();
  assert.equal((refused.body as { error_code: string }).error_code, "domain_availability_blocked");
  const listed = await operate("block", "list");
  assert.match(listed.stdout, /^NAME +REASON +CREATED_AT\nbank +blocked by the operator +\S+Z\n$/);
  await operated("block", "remove", "bank");
  assert.equal((await order()).status, 202);
  await assertAllFail([
    [["block", "remove", "bank"], 4, /bank is not blocked/],
    [["block", "add", "a_b.example"], 2, /The name/],
  ]);
});

test("cancels an order that has not reached the registry, and none that has ended", async () => {
  const { database_url: url } = system.ready();
  await delayOrders(url, 60_000);
  const accepted = await system
    .send("POST", "/domains/registrations", { body: { domain_name: "not-begun.example" } })
    .finally(() => runSql(url, "DROP FUNCTION test_delay CASCADE"));
  assert.equal(accepted.status, 202);
  const code = accepted.headers.location!.split("/").at(-1)!;
  const cancelled = await operated("orders", "cancel", code);
  assert.equal(cancelled.status, "Cancelled");
  const { body } = await system.send("GET", accepted.headers.location!);
  assert.equal((body as { status: string }).status, "Cancelled");
  await assertAllFail([
    [["orders", "cancel", code], 3, /has ended already/],
    [["orders", "cancel", "REG-NOTHING"], 2, /a code such as REG-/],
    [["orders", "cancel", "REG-00000000-000"], 4, /no order with this code/],
  ]);
});

test("takes registrations again at a registry that was paused", async () => {
  const { database_url: url } = system.ready();
  await runSql(url, "UPDATE registries SET creates_paused_reason = 'credit: none left' WHERE id = 'sandbox'");
  const order = () => system.send("POST", "/domains/registrations", { body: { domain_name: "paused.example" } });
  assert.equal((await order()).status, 503);
  await operated("registry", "resume", "sandbox");
  assert.equal((await order()).status, 202);
  assertFailed(await operate("registry", "resume", "sandbox"), 4, /creates at sandbox are not paused/);
});

for (const [how, isListenerKilled] of [
  ["", false],
  [", also while the database's word is cut off", true],
] as const) {
  test(`a revoked key is refused within a second${how}`, async () => {
    const { url, database_url: databaseUrl } = system.ready();
    const { api_key: id, api_secret: secret } = await operated(
      "key",
      "create",
      "--account",
      "sandbox",
      "--label",
      "brief",
    );
    const key = { id: id!, secret: new Secret(secret!) };
    const ask = async () =>
      (await sendSigned({ url, key, clock: systemClock, method: "GET", target: "/domains" })).status;
    for (let round = 0; round < 5; round++) assert.equal(await ask(), 200);
    const done = new AbortController();
    const cutting = isListenerKilled ? cutListeners(databaseUrl, done.signal) : Promise.resolve();
    try {
      await operated("key", "revoke", id!);
      await sleep(1_000);
      for (let round = 0; round < 5; round++) assert.equal(await ask(), 401);
    } finally {
      done.abort();
      await cutting;
    }
  });
}

/** Ends every connection that listens for notifications as soon as it is open. */
async function cutListeners(databaseUrl: string, until: AbortSignal): Promise<void> {
  while (!until.aborted) await endSessions(databaseUrl, "deedhouse-listener");
}

test("says where to look when no system runs on the folder", async () => {
  const failed = await system.tool(["key", "revoke", "0".repeat(32), "--data", join(folder, "nowhere")]);
  assertFailed(failed, 8, /no deedhouse is running on .*nowhere\n.*--data DIR/);
});

test("answers a wrong command line with its usage, and exit code 2", async () => {
  const tool = [["fly"], ["key"], ["key", "fly"], ["block", "add"], ["start", "--port-base", "x"], ["start", "on"]];
  const wrong = [...tool, ["node", "--agent", "--fly"], ["sandbox-registry", "--fly"]];
  await Promise.all(
    wrong.map(async (args) => {
      const { code, stdout } = await system.tool(args);
      assert.deepEqual({ code, stdout }, { code: 2, stdout: "" }, args.join(" "));
    }),
  );
});

test("the help of a role that runs alone is not a mistake", async () => {
  for (const role of ["start", "api", "worker", "node", "sandbox-registry"]) {
    const { code, stderr } = await system.tool([role, "--help"]);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" }, role);
  }
});

test("npx deedhouse runs in a new checkout without building anything, and its help names every command", async () => {
  const builtAt = () => statSync(join(repository, "site/dist/index.html"), { throwIfNoEntry: false })?.mtimeMs;
  const before = builtAt();
  // As if it had never run here.
  const env = { ...process.env, npm_config_cache: join(folder, "npm") };
  const child = spawn("npx", ["deedhouse", "--help"], { cwd: repository, env, stdio: ["ignore", "pipe", "inherit"] });
  const [help, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
  assert.equal(code, 0);
  assert.equal(builtAt(), before);
  for (const name of [
    "start",
    "api",
    "worker",
    "domains",
    "hosting",
    "account",
    "key",
    "packs",
    "block",
    "orders",
    "registry",
    "messages",
    "alarms",
  ]) {
    assert.match(help, new RegExp(`^  ${name} `, "m"));
  }
});
