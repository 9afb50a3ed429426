/** Accounts whose identifiers are names that others own, or register later. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Client } from "pg";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { upload } from "../harness/site.ts";
import { runSql } from "../harness/sql.ts";
import { startHostNamesStage } from "./host-names-stage.ts";
import { eventually, password } from "./stage.ts";

const stage = await startHostNamesStage({ after });
const { gateway, answers, ready, add, prove, read } = stage;
const owner = stage.reseller;
const squatter = await gateway.addReseller();

const create = (identifier: string, as: TestReseller = squatter) =>
  gateway.send(as, "POST", "/hostingaccounts", { body: { servicepack_id: stage.packId, identifier, password } });
const publish = (identifier: string) =>
  upload({ host: "127.0.0.1", port: stage.ftp.port }, identifier, password, "/www/index.html", identifier);
const alarmOf = async (hostName: string) => {
  const sql = "SELECT note FROM alarms WHERE kind = 'host-name' AND subject = $1 AND resolved_at IS NULL";
  return (await runSql<{ note: string }>(gateway.databaseUrl, sql, [hostName]))[0]?.note;
};

test("an identifier of one label, or a public suffix, is refused with advice", async () => {
  const refused = async (identifier: string, message: RegExp) => {
    const { validation_errors } = assertError(await create(identifier), "bad_request");
    assert.deepEqual(
      validation_errors?.map(({ field }) => field),
      ["identifier"],
    );
    assert.match(validation_errors?.[0]?.error_text ?? "", message, identifier);
  };
  for (const identifier of ["be", "BE.", "myshop", "example", "рф"]) await refused(identifier, /one label only: give/);
  const suffixes = ["co.uk", "github.io", "s3.amazonaws.com", "公司.cn", "個人.香港", "x.kawasaki.jp"];
  for (const identifier of suffixes) await refused(identifier, /suffix .*: give a name under it/);
  assert.equal((await create("somebody.github.io")).status, 202);
});

test("a served suffix, or a name above one, is available to nobody as an identifier", async (t) => {
  const more = [{ id: "deep", suffixes: ["shops.city.example"] }];
  const other = await startTestGateway(t, { worker: false, moreRegistries: more });
  const reseller = await other.addReseller();
  const body = { servicepack_id: await other.addPack(), password };
  const statusOf = async (identifier: string) =>
    (await other.send(reseller, "POST", "/hostingaccounts", { body: { ...body, identifier } })).status;
  assert.deepEqual(
    [await statusOf("city.example"), await statusOf("shops.city.example"), await statusOf("a.shops.city.example")],
    [400, 400, 202],
  );
});

test("abuse 24: an identifier above or under another reseller's identifier or host name is not available", async () => {
  await ready("shop.owner.example");
  await ready("site.owner.example");
  prove(await add("site.owner.example", "www.brand.test"));
  assert.equal((await add("site.owner.example", "www.brand.test")).status, "Proven");
  const near = ["www.shop.owner.example", "a.b.shop.owner.example", "owner.example"];
  for (const identifier of [...near, "brand.test", "a.www.brand.test"]) {
    assertError(await create(identifier), "hosting_already_exist");
  }
  // Similar names, siblings, and the reseller's own names.
  for (const identifier of ["my-shop.owner.example", "ashop.owner.example"]) {
    assert.equal((await create(identifier)).status, 202, identifier);
  }
  assert.equal((await create("www.shop.owner.example", owner)).status, 202);
});

test("under names of their own portfolio resellers choose identifiers freely, whatever others had there before", async () => {
  await ready("early.example", squatter);
  await stage.register("early.example");
  assert.equal((await create("www.early.example", owner)).status, 202);
  assertError(await create("mail.early.example"), "hosting_already_exist");
});

test("of two resellers who create accounts above and under each other at the same time, one succeeds", async () => {
  for (let round = 0; round < 6; round += 1) {
    const parent = `round-${round}.race.test`;
    const pair = [create(parent, owner), create(`www.${parent}`, squatter)];
    const statuses = (await Promise.all(round % 2 ? pair : pair.toReversed())).map(({ status }) => status);
    assert.deepEqual(statuses.toSorted(), [202, 400]);
  }
});

test("abuse 24: an account is no longer served at its bare identifier once another reseller registers the name, and an alarm is raised", async () => {
  await ready("squat.example", squatter);
  await publish("squat.example");
  await answers("squat.example", 200);
  await stage.register("squat.example");
  await answers("squat.example", 404);
  await answers("squat.example.localhost", 200);
  await eventually("an alarm is raised", async () => /squat\.example/.test((await alarmOf("squat.example")) ?? ""));

  await ready("home.owner.test");
  await publish("home.owner.test");
  assert.equal((await add("home.owner.test", "squat.example")).proven_by, "portfolio");
  await answers("squat.example", 200);
});

test("abuse 24: proof by DNS takes a name from the account that only has it as its identifier, and an alarm is raised", async () => {
  await ready("www.proven.test", squatter);
  await publish("www.proven.test");
  await answers("www.proven.test", 200);
  await ready("real.owner.test");
  const asked = await add("real.owner.test", "www.proven.test");
  assert.equal(asked.status, "Waiting");
  await answers("www.proven.test", 200);
  prove(asked);
  assert.equal((await add("real.owner.test", "www.proven.test")).proven_by, "dns");
  await answers("www.proven.test", 404);
  assert.match((await alarmOf("www.proven.test")) ?? "", /www\.proven\.test is no longer served there/);
  assert.equal((await read("www.proven.test", "www.proven.test", squatter)).status, "Waiting");
  await publish("real.owner.test");
  await answers("www.proven.test", 200);
  await answers("www.proven.test.localhost", 200);
});

test("a name that is registered during the creation of an account under it is not served for that account", async () => {
  const client = new Client({ connectionString: gateway.databaseUrl });
  await client.connect();
  try {
    await client.query("BEGIN");
    await client.query(
      `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
         will_renew, status) VALUES ('moment.example', $1, 'sandbox', now(), now(), now(), true, 'ok')`,
      [owner.id],
    );
    // Nobody can see the registration yet, and it has not seen the account.
    assert.equal((await create("www.moment.example")).status, 202);
    assert.equal((await stage.settled("www.moment.example", squatter)).status, "Ready");
    await client.query("COMMIT");
  } finally {
    await client.end();
  }
  await eventually("an alarm is raised", async () => (await alarmOf("www.moment.example")) !== undefined);
  await answers("www.moment.example", 404);
});

test("in production a site is not served at its bare identifier before the name is proven", async (t) => {
  const production = await startHostNamesStage(t, { bareIdentifiers: false });
  await production.ready("bare.example");
  const place = { host: "127.0.0.1", port: production.ftp.port };
  await upload(place, "bare.example", password, "/www/index.html", "bare");
  await production.answers("bare.example.localhost", 200);
  await production.answers("bare.example", 404);
  const asked = await production.add("bare.example", "bare.example");
  assert.equal(asked.status, "Waiting");
  production.prove(asked);
  assert.equal((await production.add("bare.example", "bare.example")).proven_by, "dns");
  await production.answers("bare.example", 200);
});
