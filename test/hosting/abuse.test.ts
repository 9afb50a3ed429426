/** Attempts against the API, by their numbers. The tests of other attempts stand with the rules that these break. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { systemClock, unixSeconds } from "#lib/clock.ts";
import { createPasswordQueue } from "#lib/queues/password-queue.ts";
import { systemRandom } from "#lib/random.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { runSql } from "../harness/sql.ts";

const queue = createPasswordQueue({ waitingMax: 32, cost: 4, random: systemRandom });
let hashesMade = 0;
const counted: typeof queue = {
  hash: (resellerId, password) => {
    hashesMade += 1;
    return queue.hash(resellerId, password);
  },
};
/** It stands still, so that the rate limit's minute does not end. */
const clock = createManualClock(unixSeconds(systemClock));
const context = { passwordQueue: counted };
const gateway = await startTestGateway({ after }, { clock, worker: false, proxy: true, context });
const reseller = await gateway.addReseller();
const rival = await gateway.addReseller();
const pack = await gateway.addPack();
const password = "correct horse battery";

const create = (identifier: string, as: TestReseller = reseller) =>
  gateway.send(as, "POST", "/hostingaccounts", { body: { servicepack_id: pack, identifier, password } });
const stored = async () => (await runSql(gateway.databaseUrl, "SELECT FROM hosting_accounts")).length;

test("abuse 1: an identifier that looks like another one is refused, and nothing is stored", async () => {
  const before = await stored();
  // Cyrillic and Greek letters, a zero-width joiner, full-width forms that would fold to somebody's name.
  for (const identifier of [
    "раypal.example",
    "ехample.com",
    "exam\u200dple.example",
    "αpple.example",
    "a\u2044b.example",
  ]) {
    assertError(await create(identifier), "bad_request");
  }
  assert.equal(await stored(), before);
});

test("abuse 2: an identifier that is another's or reserved is refused before any password is hashed", async () => {
  assert.equal((await create("theirs.example", rival)).status, 202);
  const before = hashesMade;
  assertError(await create("theirs.example"), "hosting_already_exist");
  for (const identifier of ["www", "admin", "panel.deedhouse.test"])
    assertError(await create(identifier), "bad_request");
  assert.equal(hashesMade, before);
});

test("abuse 3: every call makes the same database queries for another reseller's account as for an unknown one", async () => {
  const calls = [
    { method: "GET", path: "" },
    { method: "GET", path: "/history" },
    { method: "DELETE", path: "" },
    { method: "PUT", path: "/password", body: { password } },
  ];
  assert.equal((await create("asked.example", rival)).status, 202);
  const ask = async (identifier: string, { method, path, body }: (typeof calls)[number]) => {
    gateway.proxy.executed.length = 0;
    const reply = await gateway.send(reseller, method, `/hostingaccounts/${identifier}${path}`, { body });
    assertError(reply, "hostingaccount_invalid_identifier");
    return { text: reply.text, executed: gateway.proxy.executed.filter((name) => name.startsWith("hosting")) };
  };
  for (const call of calls) {
    const another = await ask("asked.example", call);
    assert.ok(another.executed.length > 0, JSON.stringify(call));
    assert.deepEqual(await ask("nobodys.example", call), another);
    assert.deepEqual(await ask("-", call), another);
  }
});

test("abuse 4: a revised pack is sold in its new version, and a retired pack is not sold", async () => {
  const own = await gateway.addPack();
  await runSql(gateway.databaseUrl, "UPDATE service_packs SET retired_at = now() WHERE id = $1", [own]);
  const body = { servicepack_id: own, identifier: "retired.example", password };
  assertError(await gateway.send(reseller, "POST", "/hostingaccounts", { body }), "invalid_service_pack");
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO service_packs (id, version, name, disk_quota_bytes, files_max, ftp_sessions_max, created_at)
     VALUES ($1, 2, 'Next', 2, 1, 1, now())`,
    [own],
  );
  assert.equal((await gateway.send(reseller, "POST", "/hostingaccounts", { body })).status, 202);
  const { body: account } = await gateway.send(reseller, "GET", "/hostingaccounts/retired.example");
  assert.equal((account as { disk_quota_bytes: number }).disk_quota_bytes, 2);
});

test("abuse 5: a new password must meet the rules of the first, and is never echoed", async () => {
  const identifier = "guarded.example";
  assert.equal((await create(identifier)).status, 202);
  const before = hashesMade;
  for (const weak of ["1", "x".repeat(10_000), "with\r\nUSER root", "with\0nul-byte", identifier, "password1"]) {
    const body = { password: weak };
    const reply = await gateway.send(reseller, "PUT", `/hostingaccounts/${identifier}/password`, { body });
    assertError(reply, "bad_request");
    if (weak.length > 1) assert.ok(!reply.text.includes(JSON.stringify(weak).slice(1, -1)), weak);
  }
  assert.equal(hashesMade, before);
});

test("abuse 24: an identifier is not this machine, the service itself or a name under another reseller's name", async () => {
  await insertDomains(gateway.databaseUrl, rival, ["rivals.test"]);
  const before = await stored();
  for (const identifier of [
    "a.localhost",
    "localhost",
    "127.0.0.1",
    "panel.deedhouse.test",
    "x.panel.deedhouse.test",
  ]) {
    assertError(await create(identifier), "bad_request");
  }
  for (const identifier of ["rivals.test", "www.shop.rivals.test"]) {
    assertError(await create(identifier), "hosting_already_exist");
  }
  assert.equal(await stored(), before);
});

test("abuse 29: 10,000 accounts are stopped by the rate limit and by the caps, before any node is chosen", async () => {
  const greedy = await gateway.addReseller({ rateLimit: 20 });
  await runSql(gateway.databaseUrl, "UPDATE resellers SET hosting_accounts_max = 5 WHERE id = $1", [greedy.id]);
  const before = hashesMade;
  const replies = await Promise.all(Array.from({ length: 60 }, (_, index) => create(`greedy${index}.example`, greedy)));
  const statuses = replies.map((reply) => reply.status).sort();
  assert.deepEqual(statuses, [...Array(5).fill(202), ...Array(15).fill(400), ...Array(40).fill(429)]);
  assert.ok(hashesMade - before <= 20);
  const rows = await runSql(gateway.databaseUrl, "SELECT node_id FROM hosting_accounts WHERE reseller_id = $1", [
    greedy.id,
  ]);
  assert.deepEqual(rows, Array(5).fill({ node_id: null }));
});
