import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError, assertFullForm } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { dumpDatabase, runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";

const gateway = await startTestGateway({ after }, { node: true });
const { databaseUrl } = gateway;
const reseller = await gateway.addReseller();
const rival = await gateway.addReseller();
const pack = await gateway.addPack();
const password = "correct horse battery";

interface AccountRequest {
  servicepack_id?: unknown;
  identifier?: unknown;
  password?: unknown;
}
const create = (account: AccountRequest, as: TestReseller = reseller, prefix = "") =>
  gateway.send(as, "POST", `${prefix}/hostingaccounts`, { body: { servicepack_id: pack, password, ...account } });
const read = (identifier: string, as: TestReseller = reseller) =>
  gateway.send(as, "GET", `/hostingaccounts/${identifier}`);
const accountsOf = (identifier: string) =>
  runSql(databaseUrl, "SELECT status FROM hosting_accounts WHERE identifier = $1", [identifier]);

test("an account is accepted, can be read from then on, becomes ready and is listed", async () => {
  const accepted = await create({ identifier: "Shop.Example" }, reseller, "/v1");
  assert.equal(accepted.status, 202, accepted.text);
  assertFullForm(accepted);
  assert.equal(accepted.headers.location, "/v1/hostingaccounts/shop.example");
  assert.equal(accepted.headers["check-after"], "10");
  const first = await read("shop.example");
  assert.equal(first.status, 200);
  await gateway.settled(reseller, "/hostingaccounts/shop.example");
  // The probe's file may be counted until the node reports that it is gone.
  await until("no file is counted", async () => {
    const { body } = await read("shop.example");
    return (body as { files_used: number }).files_used === 0;
  });
  const ready = await read("SHOP.example.");
  assertFullForm(ready);
  assert.equal(ready.headers["check-after"], undefined);
  const body = ready.body as Record<string, unknown>;
  const { ftpPort, webPort } = gateway.node?.ports ?? {};
  // The probe's traffic may have been counted already.
  const { created_at, disk_used_bytes, traffic_used_bytes: _sent, ...rest } = body;
  assert.deepEqual(rest, {
    identifier: "shop.example",
    servicepack_id: pack,
    servicepack_version: 1,
    status: "Ready",
    changes_pending: false,
    ftp: { host: "127.0.0.1", port: ftpPort, username: "shop.example" },
    web: { url: `http://shop.example.localhost:${webPort}/` },
    disk_quota_bytes: 1_000_000,
    files_max: 1_000,
    files_used: 0,
    traffic_bytes_month: 0,
    host_names_max: 10,
  });
  assert.match(String(created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.equal(typeof disk_used_bytes, "number");
  const list = (await gateway.send(reseller, "GET", "/hostingaccounts")).body as Record<string, unknown>[];
  assert.deepEqual(
    list.map(({ identifier }) => identifier),
    ["shop.example"],
  );
});

test("while an account is provisioned its status has check-after", async () => {
  await gateway.stopWorker();
  await create({ identifier: "waiting.example" });
  const reply = await read("waiting.example");
  assert.equal((reply.body as { status: string }).status, "Provisioning");
  assert.match(reply.headers["check-after"] ?? "", /^([1-9]|10)$/);
  await gateway.startWorker();
  await gateway.settled(reseller, "/hostingaccounts/waiting.example");
});

test("the account's kind is checked before the profile, the profile before the body", async () => {
  const plain = await gateway.addReseller({ kind: "plain", profile: false });
  const incomplete = await gateway.addReseller({ profile: false });
  assertError(await create({}, plain), "missing_reseller");
  assertError(await create({}, incomplete), "missing_reseller_profile");
  assertError(await gateway.send(incomplete, "POST", "/hostingaccounts", { body: "{" }), "missing_reseller_profile");
});

test("the body is checked before the pack, the pack before the identifier, the identifier before the caps", async () => {
  await create({ identifier: "first.example" });
  await runSql(databaseUrl, "UPDATE resellers SET hosting_accounts_max = 1 WHERE id = $1", [reseller.id]);
  assertError(await create({ servicepack_id: "1", identifier: "-" }), "bad_request");
  assertError(await create({ servicepack_id: "1", identifier: "first.example", password: "short" }), "bad_request");
  assertError(await create({ servicepack_id: "1", identifier: "first.example" }), "invalid_service_pack");
  assertError(await create({ identifier: "first.example" }), "hosting_already_exist");
  assertError(await create({ identifier: "over-cap.example" }), "bad_request");
  await runSql(databaseUrl, "UPDATE resellers SET hosting_accounts_max = 1000 WHERE id = $1", [reseller.id]);
});

test("abuse 4: a service pack must be offered to this reseller, who then sees it in the list", async () => {
  const own = await gateway.addPack({ offeredTo: [rival.id] });
  const retired = await gateway.addPack();
  await runSql(databaseUrl, "UPDATE service_packs SET retired_at = now() WHERE id = $1", [retired]);
  for (const id of [own, retired, "999999", "0", "-1", ` ${pack}`, `${pack}.0`, "", "9".repeat(30), `${pack}\0`]) {
    assertError(await create({ servicepack_id: id, identifier: "packs.example" }), "invalid_service_pack");
  }
  const offered = async (as: TestReseller) => {
    const { body } = await gateway.send(as, "GET", "/servicepacks");
    return body as Record<string, unknown>[];
  };
  assert.deepEqual(
    (await offered(reseller)).map(({ id }) => id),
    [pack],
  );
  assert.deepEqual(
    (await offered(rival)).map(({ id }) => id),
    [pack, own],
  );
  const [first] = await offered(reseller);
  assert.deepEqual([first?.kind, first?.name, first?.disk_quota_bytes], ["hosting", "Test", 1_000_000]);
  assert.equal((await create({ servicepack_id: own, identifier: "packs.example" }, rival)).status, 202);
});

test("abuse 1: an identifier that is invalid, reserved or under a name that is never public is refused and stored nowhere", async () => {
  for (const identifier of [
    "../x",
    "a/b",
    "%2e%2e",
    "a\0b.example",
    "",
    "-",
    ".",
    "a..b",
    "a_b.example",
    "x".repeat(300),
    "a b",
    ...[
      "www",
      "ftp",
      "mail",
      "admin",
      "localhost",
      "ns1",
      "a.localhost",
      "a.local",
      "a.internal",
      "a.invalid",
      "a.arpa",
    ],
    "a.onion",
    "127.0.0.1",
    "10.1",
    "a.123",
    "0x7f.1",
    "::1",
    "panel.deedhouse.test",
    "x.panel.deedhouse.test",
    "рауpal.example",
    "ехаmple.example",
    "☃.example",
    `${"a.".repeat(121)}ab`,
  ]) {
    const { validation_errors } = assertError(await create({ identifier }), "bad_request");
    assert.deepEqual(
      validation_errors?.map(({ field }) => field),
      ["identifier"],
      identifier,
    );
    assert.deepEqual(await runSql(databaseUrl, "SELECT FROM hosting_accounts WHERE identifier ~ '[^a-z0-9.-]'"), []);
  }
});

test("an identifier has one canonical form: U-label, A-label, any case and a trailing dot are the same account", async () => {
  const accepted = await create({ identifier: "Bücher.Example." });
  assert.equal(accepted.headers.location, "/hostingaccounts/xn--bcher-kva.example");
  for (const identifier of ["bücher.example", "xn--bcher-kva.example", "XN--BCHER-KVA.EXAMPLE."]) {
    const reply = await create({ identifier });
    assertError(reply, "hosting_already_exist");
    assert.equal(reply.headers.location, accepted.headers.location);
    assert.equal((await read(encodeURIComponent(identifier))).status, 200);
  }
});

test("abuse 5: a password that is weak, too long, has control characters or contains the identifier is refused and never echoed", async () => {
  const identifier = "guarded.example";
  for (const weak of [
    ...[
      "1",
      "1234567",
      "x".repeat(65),
      "x".repeat(10_000),
      "é".repeat(37),
      "with\r\nUSER root",
      "with\0nul-byte",
      "tab\there-too",
    ],
    identifier,
    `my-${identifier.toUpperCase()}!`,
    "password1",
    "PassWord123",
    "\ud800 half of a pair",
  ]) {
    const reply = await create({ identifier, password: weak });
    const { validation_errors } = assertError(reply, "bad_request");
    assert.deepEqual(
      validation_errors?.map(({ field }) => field),
      ["password"],
      weak,
    );
    if (weak.length > 1) assert.ok(!reply.text.includes(JSON.stringify(weak).slice(1, -1)), weak);
  }
  assert.deepEqual(await accountsOf(identifier), []);
  for (const [index, good] of ["12characters", "é".repeat(36), "x y z 1 2 3", "🔑🔑🔑🔑🔑🔑🔑🔑"].entries()) {
    assert.equal((await create({ identifier: `good${index}.example`, password: good })).status, 202, good);
  }
});

test("the password is stored only as a sealed hash: no row of the database contains it", async () => {
  await create({ identifier: "sealed.example", password: "a very own password" });
  const dump = await dumpDatabase(databaseUrl);
  assert.ok(dump.includes("sealed.example"));
  for (const secret of ["a very own password", "$2b$"]) assert.ok(!dump.includes(secret), secret);
});

test("abuse 2, abuse 24: another reseller's account, and a name that is or is under another's domain, are not available", async () => {
  await create({ identifier: "rivals-site.example" }, rival);
  await insertDomains(databaseUrl, rival, ["rivals.test"]);
  await insertDomains(databaseUrl, reseller, ["mine.test"]);
  const texts = new Set<string>();
  for (const identifier of ["rivals-site.example", "rivals.test", "shop.rivals.test", "a.b.RIVALS.test"]) {
    const reply = await create({ identifier });
    texts.add(assertError(reply, "hosting_already_exist").error_text);
  }
  assert.equal(texts.size, 1);
  for (const identifier of ["mine.test", "shop.mine.test", "notrivals.test"]) {
    assert.equal((await create({ identifier })).status, 202, identifier);
  }
});

test("abuse 3: another reseller's account and an unknown one get the same 403, in any spelling", async () => {
  await create({ identifier: "abc.example" }, rival);
  const replies = [];
  for (const path of ["abc.example", "ABC.example", "nobody.example", "", "-", "a%00b", "%ff"])
    replies.push(await read(path));
  await create({ identifier: "nul.example" });
  replies.push(await read("n%00ul.example"));
  for (const reply of replies) {
    assertError(reply, "hostingaccount_invalid_identifier");
    assert.equal(reply.text, replies[0]?.text);
  }
});

test("a failed identifier is free for anyone, and its owner can still read the reason", async () => {
  await create({ identifier: "failing.example" });
  await gateway.settled(reseller, "/hostingaccounts/failing.example");
  await runSql(
    databaseUrl,
    "UPDATE hosting_accounts SET status = 'Failed', error_text = 'No room.' WHERE identifier = 'failing.example'",
  );
  const failed = (await read("failing.example")).body as Record<string, unknown>;
  assert.deepEqual([failed.status, failed.error_text], ["Failed", "No room."]);
  assert.equal((await create({ identifier: "failing.example" }, rival)).status, 202);
  assert.equal((await create({ identifier: "failing.example" })).status, 400);
  assert.equal(((await read("failing.example")).body as { status: string }).status, "Failed");
});
