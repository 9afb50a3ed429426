import assert from "node:assert/strict";
import { test } from "node:test";
import { assertCode, assertStatus, nameServers, ourServers, startZoneStage, zoneName } from "./stage.ts";

// Zones are unsigned: a name has our name servers, or DS records, and no order leads to both.

const ds = [{ key_tag: 1, algorithm: 13, digest_type: 2, digest: "00".repeat(32) }];
const shownDs = JSON.stringify({ dsData: [{ keyTag: 1, alg: 13, digestType: 2, digest: "00".repeat(32) }] });
const elsewhere = ["ns1.dns-host.net", "ns2.dns-host.net"];

test("a name with DS records is not delegated to our name servers, by either door; to others it is", async (t) => {
  const { enter, call, sql, rows } = await startZoneStage(t);
  await enter(zoneName);
  await sql("UPDATE domains SET dnssec = $1", [shownDs]);
  for (const target of ["nameservers", `/v2/domains/${zoneName}/nameservers`]) {
    for (const servers of [nameServers, [...elsewhere, nameServers[0]]]) {
      assertCode(await call("PUT", target, { name_servers: servers }), 409, "domain_has_ds");
    }
  }
  assert.deepEqual(await rows(), [], "a refused order makes no zone");
  assertStatus(await call("PUT", "nameservers", { name_servers: elsewhere }), 202);
  await sql(`UPDATE domains SET dnssec = '{"keyData": [{"flags": 257, "protocol": 3, "alg": 13, "pubKey": "AAAA"}]}'`);
  assertCode(await call("PUT", "nameservers", { name_servers: nameServers }), 409, "domain_has_ds");
  await sql("UPDATE domains SET dnssec = NULL");
  assertStatus(await call("PUT", `/v2/domains/${zoneName}/nameservers`, { name_servers: nameServers }), 204);
});

test("a name at our name servers gets no DS records, and those that are left can be removed", async (t) => {
  const { enter, call, sql } = await startZoneStage(t);
  await enter(zoneName, undefined, [{ name: "ns.elsewhere.test" }, { name: "NS2.dns.test" }]);
  assertCode(await call("PUT", "dnssec", { ds }), 409, "zone_unsigned");
  const keys = [{ flags: 257, algorithm: 13, public_key: "AAAA" }];
  assertCode(await call("PUT", "dnssec", { keys }), 409, "zone_unsigned");
  await sql("UPDATE domains SET dnssec = $1", [shownDs]);
  assertStatus(await call("PUT", "dnssec", { ds: [] }), 202);
  await enter("other.example", undefined, [{ name: "ns.elsewhere.test" }]);
  assertStatus(await call("PUT", "/domains/other.example/dnssec", { ds }), 202);
});

test("open orders count as what they ask for, the newest of a kind", async (t) => {
  const { enter, call, gateway, sql } = await startZoneStage(t);
  await enter(zoneName);
  assertStatus(await call("PUT", "dnssec", { ds }), 202);
  assertCode(await call("PUT", "nameservers", { name_servers: nameServers }), 409, "domain_has_ds");
  assertCode(await call("PUT", "dns", { delegate: true }), 409, "domain_has_ds");
  assertStatus(await call("PUT", "dnssec", { ds: [] }), 202);
  assertStatus(await call("PUT", "nameservers", { name_servers: nameServers }), 202);
  assertCode(await call("PUT", "dnssec", { ds }), 409, "zone_unsigned");
  assertStatus(await call("PUT", "nameservers", { name_servers: elsewhere }), 202);
  assertStatus(await call("PUT", "dnssec", { ds }), 202);
  // Another name's orders do not count.
  await enter("other.example");
  assertStatus(await call("PUT", "/domains/other.example/nameservers", { name_servers: nameServers }), 202);
  // Nor do those that have ended.
  await sql("UPDATE orders SET status = 'Cancelled', ended_at = $1, next_step_at = NULL", [
    gateway.context.clock.now(),
  ]);
  assertStatus(await call("PUT", "dns", { delegate: true }), 200);
});

test("without name servers of ours, nothing is refused", async (t) => {
  const { enter, call, sql } = await startZoneStage(t, {
    context: { zones: { nameServers: [], hostmaster: "", host: "127.0.0.1", port: 1 } },
  });
  await enter(zoneName, undefined, ourServers);
  assertStatus(await call("PUT", "dnssec", { ds }), 202);
  await sql("UPDATE domains SET dnssec = $1", [shownDs]);
  assertStatus(await call("PUT", "nameservers", { name_servers: nameServers }), 202);
});
