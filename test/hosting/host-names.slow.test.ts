import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError, assertFullForm } from "../harness/assert-reply.ts";
import { upload } from "../harness/site.ts";
import { runSql } from "../harness/sql.ts";
import { type HostName, startHostNamesStage } from "./host-names-stage.ts";
import { eventually, password } from "./stage.ts";

const stage = await startHostNamesStage({ after });
const { gateway, names, clock, add, prove, read, ready, answers } = stage;
const rival = await gateway.addReseller();
const publish = (identifier: string) => {
  const place = { host: "127.0.0.1", port: stage.ftp.port };
  return upload(place, identifier, password, "/www/index.html", identifier);
};
const dayHours = 24;

/** Lets time pass, and checks every host name that is due then. */
async function lookLater(hours: number, identifier: string, hostName: string): Promise<HostName> {
  const { checked_at: before } = await read(identifier, hostName);
  clock.skip(hours);
  return stage.looked(identifier, hostName, before);
}

test("a site is served at a host name while its TXT record exists and the name is not removed", async () => {
  await ready("shop.customer.example");
  await publish("shop.customer.example");
  const accepted = await stage.send("PUT", "shop.customer.example", "WWW.Customer.Example.");
  assertFullForm(accepted);
  assert.equal(accepted.status, 202);
  assert.equal(accepted.headers.location, "/hostingaccounts/shop.customer.example/hosts/www.customer.example");
  const waiting = await stage.looked("shop.customer.example", "www.customer.example", undefined);
  assert.equal(waiting.status, "Waiting");
  assert.match(waiting.reason ?? "", /no TXT record at _deedhouse\.www\.customer\.example/);
  assert.match(waiting.record.value, /^deedhouse-site=[0-9a-f]{32}$/);
  assert.equal(waiting.record.name, "_deedhouse.www.customer.example");
  await answers("www.customer.example", 404);

  prove(waiting);
  const proven = await add("shop.customer.example", "www.customer.example");
  assert.deepEqual([proven.status, proven.proven_by, proven.reason], ["Proven", "dns", undefined]);
  assert.deepEqual(proven.record, waiting.record);
  await answers("www.customer.example", 200);
  const list = await gateway.send(stage.reseller, "GET", "/v1/hostingaccounts/shop.customer.example/hosts");
  assert.deepEqual(
    (list.body as HostName[]).map(({ host_name, proven_by }) => [host_name, proven_by]),
    [
      ["shop.customer.example", "identifier"],
      ["www.customer.example", "dns"],
    ],
  );
  assert.deepEqual((list.body as HostName[])[1], proven);

  assertFullForm(await stage.send("DELETE", "shop.customer.example", "www.customer.example"));
  await answers("www.customer.example", 404);
  assertError(await stage.send("GET", "shop.customer.example", "www.customer.example"), "host_name_not_found");
  await answers("shop.customer.example.localhost", 200);
});

test("a waiting name gives the reason: another record, or name servers that do not answer", async () => {
  await ready("waits.customer.example");
  const asked = await add("waits.customer.example", "a.waits.example");
  names.records.set(asked.record.name, ["v=spf1 -all", `deedhouse-site=${"0".repeat(32)}`, `${asked.record.value}0`]);
  assert.match((await add("waits.customer.example", "a.waits.example")).reason ?? "", /has another text/);
  names.mood = "fails";
  const unanswered = await add("waits.customer.example", "a.waits.example");
  names.mood = "answers";
  assert.match(unanswered.reason ?? "", /did not say whether the record exists: ESERVFAIL/);
  assert.equal(unanswered.status, "Waiting");
  names.records.set(asked.record.name, ["x".repeat(300), asked.record.value]);
  assert.equal((await add("waits.customer.example", "a.waits.example")).status, "Proven");
});

test("a waiting name is checked automatically, at growing intervals, for three weeks or until it is requested again", async () => {
  await ready("patient.customer.example");
  const first = await add("patient.customer.example", "a.patient.example");
  const second = await lookLater(0.1, "patient.customer.example", "a.patient.example");
  const waitsMs = (now: HostName) => Date.parse(now.next_check_at ?? "") - Date.parse(now.checked_at ?? "");
  assert.ok(waitsMs(first) <= 30_000);
  assert.ok(waitsMs(second) >= 30_000);
  await runSql(gateway.databaseUrl, "UPDATE host_names SET misses = 119 WHERE host_name = 'a.patient.example'");
  const last = await lookLater(0.1, "patient.customer.example", "a.patient.example");
  assert.equal(last.next_check_at, undefined);
  prove(last);
  assert.equal((await add("patient.customer.example", "a.patient.example")).status, "Proven");
});

test("a name whose next check is further away than the longest wait is checked now: a clock was set forward and back", async () => {
  await ready("jumped.customer.example");
  await stage.send("PUT", "jumped.customer.example", "jumped.example.net");
  await stage.looked("jumped.customer.example", "jumped.example.net", undefined);
  const { checked_at: ahead } = await lookLater(dayHours, "jumped.customer.example", "jumped.example.net");
  clock.skip(-dayHours);
  await stage.looked("jumped.customer.example", "jumped.example.net", ahead);
});

test("a proven name survives name servers that are down, and a record that is missing for some days, but no longer", async () => {
  await ready("steady.customer.example");
  await publish("steady.customer.example");
  prove(await add("steady.customer.example", "a.steady.example"));
  assert.equal((await add("steady.customer.example", "a.steady.example")).status, "Proven");
  names.mood = "fails";
  for (let day = 0; day < 10; day++) {
    const { status, reason } = await lookLater(dayHours, "steady.customer.example", "a.steady.example");
    assert.deepEqual([status, /did not say/.test(reason ?? "")], ["Proven", true]);
  }
  names.mood = "answers";
  names.records.delete("_deedhouse.a.steady.example");
  for (let day = 0; day < 7; day++) {
    assert.equal((await lookLater(dayHours, "steady.customer.example", "a.steady.example")).status, "Proven");
  }
  await answers("a.steady.example", 200);
  assert.equal((await lookLater(dayHours, "steady.customer.example", "a.steady.example")).status, "Waiting");
  await answers("a.steady.example", 404);
});

test("a name moves to the account that proves it last, once the earlier account's record is gone", async () => {
  await ready("old.customer.example");
  await ready("new.customer.example", rival);
  await publish("old.customer.example");
  const old = await add("old.customer.example", "sold.example");
  const next = await add("new.customer.example", "sold.example", rival);
  assert.notEqual(old.record.value, next.record.value);
  prove(old);
  assert.equal((await add("old.customer.example", "sold.example")).status, "Proven");
  prove(old, next);
  const refused = await add("new.customer.example", "sold.example", rival);
  assert.deepEqual([refused.status, /served for another/.test(refused.reason ?? "")], ["Waiting", true]);
  await answers("sold.example", 200);
  prove(next);
  assert.equal((await add("new.customer.example", "sold.example", rival)).status, "Proven");
  assert.equal((await read("old.customer.example", "sold.example")).status, "Waiting");
});

test("a name in the reseller's own portfolio needs no record, and a site is served at such an identifier automatically", async () => {
  await stage.register("mine.example");
  await ready("blog.mine.example");
  await publish("blog.mine.example");
  const added = await add("blog.mine.example", "www.mine.example");
  assert.deepEqual([added.status, added.proven_by], ["Proven", "portfolio"]);
  assert.ok(!names.asked.some((name) => name.includes("mine.example")));
  await answers("www.mine.example", 200);
  assert.equal((await read("blog.mine.example", "blog.mine.example")).proven_by, "portfolio");

  await ready("late.example");
  const provenBy = (how: string) =>
    eventually(`it is proven by ${how}`, async () => (await read("late.example", "late.example")).proven_by === how);
  await provenBy("identifier");
  await stage.register("late.example");
  await provenBy("portfolio");
  // Outside the portfolio, a name that is not the identifier needs a record.
  const { checked_at: before } = await add("late.example", "www.late.example");
  await runSql(gateway.databaseUrl, "DELETE FROM domains WHERE domain_name = 'late.example'");
  assert.match((await stage.looked("late.example", "www.late.example", before)).reason ?? "", /no TXT record/);
  await provenBy("identifier");
});

test("concurrent requests do not exceed the pack's number of host names, and the identifier does not count", async () => {
  await ready("full.customer.example");
  await runSql(gateway.databaseUrl, `UPDATE service_packs SET host_names_max = 3 WHERE id = ${stage.packId}`);
  const hosts = Array.from({ length: 12 }, (_, index) => `n${index}.full.example`);
  const replies = await Promise.all(hosts.map((host) => stage.send("PUT", "full.customer.example", host)));
  assert.deepEqual(replies.map(({ status }) => status).sort(), [...Array(3).fill(202), ...Array(9).fill(400)]);
  const refused = replies.find(({ status }) => status === 400)!;
  assert.match(assertError(refused, "bad_request").error_text, /as many as its service pack allows/);
  const accepted = hosts[replies.findIndex(({ status }) => status === 202)]!;
  for (const host of [accepted, "full.customer.example"]) {
    assert.equal((await stage.send("PUT", "full.customer.example", host)).status, 202);
  }
  await runSql(gateway.databaseUrl, `UPDATE service_packs SET host_names_max = 10 WHERE id = ${stage.packId}`);
});

test("the host names of a removed account are free", async () => {
  await ready("brief.customer.example");
  await publish("brief.customer.example");
  prove(await add("brief.customer.example", "a.brief.example"));
  await add("brief.customer.example", "a.brief.example");
  await answers("a.brief.example", 200);
  await gateway.send(stage.reseller, "DELETE", "/hostingaccounts/brief.customer.example");
  await answers("a.brief.example", 404);
  await ready("other.customer.example");
  prove(await add("other.customer.example", "a.brief.example"));
  assert.equal((await add("other.customer.example", "a.brief.example")).status, "Proven");
});

test("abuse 24: another reseller's domain, a name under it, and a name that no customer can own are refused as host names", async () => {
  await ready("picky.customer.example");
  await stage.register("rivals.example", rival);
  for (const host of ["rivals.example", "www.rivals.example", "a.b.RIVALS.example"]) {
    assertError(await stage.send("PUT", "picky.customer.example", host), "host_name_not_available");
  }
  const nobodys = ["a.localhost", "localhost", "x.local", "127.0.0.1", "1", "panel.deedhouse.test", "www", "single"];
  const crooked = [
    "%2e%2e",
    "%2e%2e%2fx.example",
    "a%00.example",
    "*.example",
    "a_b.example",
    "-",
    `${"a.".repeat(125)}example`,
  ];
  for (const host of [...nobodys, ...crooked]) {
    const { validation_errors } = assertError(await stage.send("PUT", "picky.customer.example", host), "bad_request");
    assert.deepEqual(
      validation_errors?.map(({ field }) => field),
      ["host_name"],
      host,
    );
  }
  const { body } = await gateway.send(stage.reseller, "GET", "/hostingaccounts/picky.customer.example/hosts");
  assert.deepEqual(
    (body as HostName[]).map(({ host_name }) => host_name),
    ["picky.customer.example"],
  );
});

test("abuse 24: a host name that another reseller registers later is no longer served for the old account, and raises an alarm", async () => {
  await ready("early.customer.example");
  await publish("early.customer.example");
  prove(await add("early.customer.example", "www.wanted.example"));
  const { checked_at: before } = await add("early.customer.example", "www.wanted.example");
  await answers("www.wanted.example", 200);
  await stage.register("wanted.example", rival);
  const now = await stage.looked("early.customer.example", "www.wanted.example", before);
  assert.deepEqual([now.status, /somebody else/.test(now.reason ?? "")], ["Waiting", true]);
  await answers("www.wanted.example", 404);
  await answers("early.customer.example.localhost", 200);
  assert.deepEqual(
    await runSql(gateway.databaseUrl, "SELECT subject FROM alarms WHERE kind = 'host-name' AND resolved_at IS NULL"),
    [{ subject: "www.wanted.example" }],
  );
  assertError(await stage.send("PUT", "early.customer.example", "www.wanted.example"), "host_name_not_available");
});

test("abuse 24: a name at which another site is served is not available as an identifier", async () => {
  await ready("holds.customer.example");
  prove(await add("holds.customer.example", "held.example"));
  assert.equal((await add("holds.customer.example", "held.example")).status, "Proven");
  const body = { servicepack_id: stage.packId, identifier: "held.example", password };
  assertError(await gateway.send(rival, "POST", "/hostingaccounts", { body }), "hosting_already_exist");
});
