import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock, unixSeconds } from "#lib/clock.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { assertCode, assertStatus, ourServers, startZoneStage, zoneName } from "./stage.ts";

// The table of docs/states.md: what happens to a zone when its name enters a portfolio, leaves it, or comes back.

const day = 86_400_000;
const later = (days: number) => new Date(systemClock.now().getTime() + days * day);
const aRecord = [{ subname: "www", type: "A", records: ["192.0.2.1"] }];

test("a name that enters the portfolio with our name servers has a zone; with others it has none", async (t) => {
  const { enter, rows, call } = await startZoneStage(t);
  await enter(zoneName, undefined, [{ name: "NS1.dns.test" }]);
  const [zone] = await rows();
  assert.equal(zone?.state, "Publishing");
  assert.match(String(zone?.label), /^[0-9a-f]{32}$/);
  assertStatus(await call("GET", "dns"), 200);
  await enter("other.example", undefined, [{ name: "ns1.elsewhere.test" }]);
  assertCode(await call("GET", "/domains/other.example/dns"), 404, "zone_not_found");
});

test("an order of our name servers makes a zone in its transaction; one of others makes none", async (t) => {
  const { enter, rows, call } = await startZoneStage(t);
  await enter(zoneName);
  assertStatus(await call("PUT", "nameservers", { name_servers: ["ns1.elsewhere.test"] }), 202);
  assert.deepEqual(await rows(), []);
  assertStatus(await call("PUT", "nameservers", { name_servers: ["ns1.dns.test", "ns2.dns.test"] }), 202);
  const [zone, ...others] = await rows();
  assert.equal(zone?.state, "Publishing");
  assert.deepEqual(others, []);
});

test("the zone of a name that was transferred away is frozen, and served for 14 days", async (t) => {
  const { enter, leave, rows, call } = await startZoneStage(t);
  await enter(zoneName, undefined, ourServers);
  assertStatus(await call("PATCH", "records", aRecord), 202);
  await leave(zoneName, "transferred");
  const [zone] = await rows();
  assert.equal(zone?.state, "Leaving");
  assert.equal(Number(zone?.ends_at) - Number(zone?.updated_at), 14 * day);
  assert.deepEqual(zone?.next_step_at, zone?.ends_at);
  const shown = assertStatus(await call("GET", "dns"), 200).body as { state: string; until: string };
  assert.equal(shown.state, "Leaving");
  assert.deepEqual(new Date(shown.until), zone?.ends_at);
  for (const [method, path, body] of [
    ["PATCH", "records", aRecord],
    ["PUT", "records", aRecord],
    ["PUT", "records/www/A", { records: ["192.0.2.2"] }],
    ["DELETE", "records/www/A", undefined],
    ["DELETE", `dns?confirm=${zoneName}`, undefined],
    ["PUT", "dns", { delegate: true }],
  ] as const) {
    assertCode(await call(method, path, body), 409, "zone_leaving");
  }
  assertStatus(await call("GET", "records"), 200);
});

test("the zone of a deleted name is served until the name cannot be restored, and not at all where it cannot", async (t) => {
  const { enter, leave, rows } = await startZoneStage(t);
  const until = later(30);
  for (const name of ["deleted.example", "expired.example"]) {
    await enter(name, undefined, ourServers);
    await leave(name, name.split(".")[0]!, until);
    const [zone] = await rows(name);
    assert.equal(zone?.state, "Leaving");
    assert.deepEqual(zone?.ends_at, until);
  }
  await enter("gone.example", undefined, ourServers);
  await leave("gone.example", "deleted");
  const [zone] = await rows("gone.example");
  assert.equal(zone?.state, "Withdrawn");
  assert.equal(zone?.next_step_at, null);
});

test("a name that is back in the same portfolio has its records again", async (t) => {
  const { enter, leave, rows, call } = await startZoneStage(t);
  await enter(zoneName, undefined, ourServers);
  assertStatus(await call("PATCH", "records", aRecord), 202);
  await leave(zoneName, "deleted", later(30));
  await enter(zoneName);
  const [zone, ...others] = await rows();
  assert.equal(zone?.state, "Publishing");
  assert.equal(zone?.ends_at, null);
  assert.deepEqual(others, []);
  assert.match(assertStatus(await call("GET", "records"), 200).text, /192\.0\.2\.1/);
  assertStatus(await call("DELETE", "records/www/A"), 202);
});

test("another account that gets the name sees no old record, and neither account sees the history", async (t) => {
  const { enter, leave, rows, call, gateway, sql } = await startZoneStage(t);
  const rival = await gateway.addReseller();
  await enter(zoneName, undefined, ourServers);
  assertStatus(await call("PATCH", "records", aRecord), 202);
  await leave(zoneName, "transferred");
  await enter(zoneName, rival, ourServers);
  const [old, fresh] = await rows();
  assert.equal(old?.state, "Withdrawn");
  assert.equal(fresh?.state, "Publishing");
  assert.notEqual(old?.label, fresh?.label);
  assert.ok(Number(fresh?.serial) > Number(old?.serial), "the serial of a name never falls");
  assert.equal(assertStatus(await call("GET", "records", undefined, { of: rival }), 200).text, "[]");
  const changes = assertStatus(await call("GET", "dns/changes", undefined, { of: rival }), 200).text;
  assert.doesNotMatch(changes, /192\.0\.2\.1/);
  assert.deepEqual(await sql("SELECT FROM zone_sets WHERE zone_id = $1", [old?.id]), []);
  assert.deepEqual(await sql("SELECT FROM zone_changes WHERE zone_id = $1", [old?.id]), []);
  for (const path of ["dns", "records", "dns/changes", "records/www/A"]) {
    assertCode(await call("GET", path), 404, "domain_not_found");
  }
  assertCode(await call("PUT", "dns", { restore: true }), 404, "domain_not_found");
});

test("a name that an operator gives to another account takes no record along", async (t) => {
  const { enter, rows, call, gateway, sql } = await startZoneStage(t);
  const rival = await gateway.addReseller();
  await enter(zoneName, undefined, ourServers);
  assertStatus(await call("PATCH", "records", aRecord), 202);
  await sql("UPDATE domains SET reseller_id = $1 WHERE domain_name = $2", [rival.id, zoneName]);
  const [old, fresh] = await rows();
  assert.equal(old?.state, "Withdrawn");
  assert.equal(Number(fresh?.reseller_id), rival.id);
  assert.equal(assertStatus(await call("GET", "records", undefined, { of: rival }), 200).text, "[]");
});

test("no zone is made above or below another one", async (t) => {
  const { enter, rows } = await startZoneStage(t);
  await enter(zoneName, undefined, ourServers);
  for (const name of [`below.${zoneName}`, "example"]) {
    await enter(name, undefined, ourServers);
    assert.deepEqual(await rows(name), [], name);
  }
  await enter(`not-${zoneName}`, undefined, ourServers);
  assert.equal((await rows(`not-${zoneName}`)).length, 1);
});

test("each transaction that changes a zone has the next version, and a serial that never falls", async (t) => {
  const { enter, call, rows, sql } = await startZoneStage(t);
  await enter(zoneName, undefined, ourServers);
  const seconds = unixSeconds(systemClock);
  const serials: number[] = [];
  for (let round = 0; round < 5; round++) {
    assertStatus(await call("PUT", "records/www/A", { records: [`192.0.2.${round}`] }), 202);
    const [zone] = await rows();
    assert.equal(Number(zone?.revision), round + 2);
    serials.push(Number(zone?.serial));
  }
  assert.ok(
    serials[0]! >= seconds && serials.every((serial, at) => at === 0 || serial > serials[at - 1]!),
    `${serials}`,
  );
  const kept = await sql("SELECT serial FROM zone_changes ORDER BY revision DESC LIMIT 5");
  assert.deepEqual(
    kept.map(({ serial }) => Number(serial)),
    serials.toReversed(),
  );
});

test("a serial follows by RFC 1982: it is the time, one more where the time is not later, and 0 after the last", async (t) => {
  const { sql } = await startZoneStage(t);
  const after = async (serial: number, seconds: number) => {
    const [row] = await sql("SELECT zone_serial_after($1, to_timestamp($2)) AS next", [serial, seconds]);
    return Number(row?.next);
  };
  assert.equal(await after(100, 1_700_000_000), 1_700_000_000);
  assert.equal(await after(1_700_000_000, 1_700_000_000), 1_700_000_001);
  assert.equal(await after(1_700_000_009, 1_700_000_000), 1_700_000_010);
  assert.equal(await after(4_294_967_295, 4_294_967_000), 0);
});

test("without name servers there are no zones, and PUT says so", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const reseller = await gateway.addReseller();
  await insertDomains(gateway.databaseUrl, reseller, [{ name: zoneName, delegation: ourServers }]);
  const reply = await gateway.send(reseller, "PUT", `/domains/${zoneName}/dns`, { body: {} });
  assertCode(reply, 409, "dns_not_offered");
  assertCode(await gateway.send(reseller, "GET", `/domains/${zoneName}/dns`), 404, "zone_not_found");
});
