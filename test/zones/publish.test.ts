import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { test } from "node:test";
import { startDnsServer } from "#dns/server.ts";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { parseRanges } from "#lib/net/address-ranges.ts";
import { createZoneFinder } from "#zones/find.ts";
import { isAtLeast } from "#dns/serials.ts";
import type { Scope } from "../harness/database.ts";
import { freePorts } from "../harness/free-ports.ts";
import { assertStatus, ourServers, startZoneStage, zoneName, zoneSettings } from "./stage.ts";

// The worker asks what role `dns` serves, and only then a change is `Served`.

const aRecord = (record: string) => [{ subname: "www", type: "A", records: [record] }];
const wait = { headers: { prefer: "wait=30" } };

interface Change {
  change_id: string;
  status: string;
  served_at: string | null;
}

/** A gateway with a worker, whose role `dns` is started by the test. */
async function startPublishing(t: Scope, nameServers: readonly string[] = zoneSettings.nameServers) {
  const [port] = await freePorts(1);
  const zones = { ...zoneSettings, nameServers, port: port! };
  const stage = await startZoneStage(t, { worker: true, context: { zones } });
  const startDns = async () => {
    const server = await startDnsServer({
      host: zones.host,
      port: zones.port,
      answered: parseRanges(["127.0.0.0/8"]),
      findZone: createZoneFinder(stage.gateway.context),
      clock: systemClock,
      log: createLog("test", "silent"),
    });
    t.after(() => server.close());
    return server;
  };
  const resolver = new Resolver({ timeout: 5_000, tries: 2 });
  resolver.setServers([`127.0.0.1:${port}`]);
  return { ...stage, startDns, resolver, port: port! };
}

test("a change is served once role dns answers with it, and a client that waits learns it", async (t) => {
  const { enter, call, startDns, resolver, rows } = await startPublishing(t);
  await startDns();
  await enter(zoneName, undefined, ourServers);
  const made = await call("PATCH", "records", aRecord("192.0.2.1"), wait);
  const change = assertStatus(made, 200).body as Change;
  assert.deepEqual([change.change_id, change.status], ["2", "Served"]);
  assert.ok(change.served_at);
  assert.equal(made.headers["preference-applied"], "wait=30");
  assert.deepEqual(await resolver.resolve4(`www.${zoneName}`), ["192.0.2.1"]);
  assert.deepEqual(await resolver.resolveNs(zoneName), ["ns1.dns.test", "ns2.dns.test"]);
  const [row] = await rows();
  const zone = assertStatus(await call("GET", "dns"), 200).body as Record<string, unknown>;
  assert.equal(zone.state, "Active");
  assert.equal(zone.serial, Number(row?.serial));
  assert.equal((await resolver.resolveSoa(zoneName)).serial, zone.serial);
  assert.deepEqual(
    zone.name_servers,
    ourServers.map(({ name }) => ({ name, serial: zone.serial, is_current: true })),
  );
  assert.equal(row?.next_step_at, null);
  const again = assertStatus(await call("PATCH", "records", aRecord("192.0.2.2"), wait), 200).body as Change;
  assert.equal(again.status, "Served");
  assert.deepEqual(await resolver.resolve4(`www.${zoneName}`), ["192.0.2.2"]);
  const changes = assertStatus(await call("GET", "dns/changes"), 200).body as Change[];
  assert.deepEqual(
    changes.map(({ status }) => status),
    ["Served", "Served", "Served"],
  );
});

test("a zone of nobody, and one that was withdrawn, are refused", async (t) => {
  const { enter, call, startDns, resolver } = await startPublishing(t);
  await startDns();
  await enter(zoneName, undefined, ourServers);
  assertStatus(await call("PATCH", "records", aRecord("192.0.2.1"), wait), 200);
  await assert.rejects(resolver.resolve4("www.other.example"), { code: "EREFUSED" });
  assertStatus(await call("DELETE", `dns?confirm=${zoneName}&force=true`), 202);
  await assert.rejects(resolver.resolve4(`www.${zoneName}`), { code: "EREFUSED" });
});

test("without role dns, changes are accepted and read at once, and served when it is back", async (t) => {
  const { enter, call, startDns } = await startPublishing(t);
  await enter(zoneName, undefined, ourServers);
  const reply = await call("PATCH", "records", aRecord("192.0.2.1"), { headers: { prefer: "wait=1" } });
  assertStatus(reply, 202);
  assert.match(assertStatus(await call("GET", "records"), 200).text, /192\.0\.2\.1/);
  const zone = (await call("GET", "dns")).body as {
    state: string;
    name_servers: { is_current: boolean; problem?: string }[];
  };
  assert.equal(zone.state, "Publishing");
  assert.equal(zone.name_servers[0]?.is_current, false);
  const unserved = assertStatus(await call("GET", "dns/changes/2"), 200);
  assert.equal((unserved.body as Change).status, "Publishing");
  assert.match(unserved.headers["check-after"] ?? "", /^\d+$/);
  await startDns();
  const served = assertStatus(await call("GET", "dns/changes/2", undefined, wait), 200).body as Change;
  assert.equal(served.status, "Served");
});

test("a name server that answers something else is asked again, and what is wrong is shown", async (t) => {
  const { enter, call, port, sql } = await startPublishing(t);
  const wrong = createSocket("udp4");
  t.after(() => wrong.close());
  // REFUSED, as a server says that has no such zone.
  wrong.on("message", (bytes, from) => {
    bytes.writeUInt16BE(0x8005, 2);
    wrong.send(bytes, from.port, from.address);
  });
  wrong.bind(port, "127.0.0.1");
  await once(wrong, "listening");
  await enter(zoneName, undefined, ourServers);
  for (;;) {
    const [row] = await sql("SELECT shown, checks FROM zones");
    if (Number(row?.checks) >= 2) {
      assert.match(JSON.stringify(row?.shown), /EREFUSED/);
      break;
    }
  }
  const zone = (await call("GET", "dns")).body as { state: string; name_servers: { problem?: string }[] };
  assert.equal(zone.state, "Publishing");
  assert.match(zone.name_servers[0]?.problem ?? "", /EREFUSED/);
});

test("a zone that leaves is served until its time is over, and then it is gone", async (t) => {
  const { enter, leave, call, startDns, resolver, sql, rows } = await startPublishing(t);
  await startDns();
  await enter(zoneName, undefined, ourServers);
  assertStatus(await call("PATCH", "records", aRecord("192.0.2.1"), wait), 200);
  await leave(zoneName, "transferred");
  assert.deepEqual(await resolver.resolve4(`www.${zoneName}`), ["192.0.2.1"]);
  await sql("UPDATE zones SET ends_at = now(), next_step_at = now()");
  for (;;) {
    const [row] = await rows();
    if (row?.state === "Withdrawn") break;
    assert.equal(row?.state, "Leaving");
  }
  await assert.rejects(resolver.resolve4(`www.${zoneName}`), { code: "EREFUSED" });
});

test("our name servers are ordered once they serve the zone, once and for the asking key", async (t) => {
  // No suffix of the registry: it needs no host objects.
  const { call, startDns, reseller, gateway } = await startPublishing(t, ["ns1.dns-host.net", "ns2.dns-host.net"]);
  assertStatus(await call("POST", "/domains/registrations", { domain_name: zoneName }, wait), 202);
  const { body: listed } = await call("GET", "/orders");
  const [registration] = listed as { order_code: string }[];
  await gateway.settled(reseller, `/orders/${registration?.order_code}`);
  assertStatus(await call("PUT", "dns", { delegate: true }), 202);
  const orders = async () =>
    ((await call("GET", "/orders?kind=nameservers")).body as { order_code: string; status: string }[]).map(
      ({ order_code }) => order_code,
    );
  assert.deepEqual(await orders(), [], "nothing answers for it yet");
  await startDns();
  let code: string | undefined;
  while (code === undefined) [code] = await orders();
  const ended = await gateway.settled(reseller, `/orders/${code}`);
  assert.equal(ended.status, "Finished");
  const shown = (await call("GET", "dns")).body as { delegation: string; state: string };
  assert.deepEqual([shown.delegation, shown.state], ["ours", "Active"]);
  assert.equal((await orders()).length, 1);
});

test("a zone has an event when it is made, served, leaving and removed, and `zone.served` at most once a minute", async (t) => {
  const { enter, leave, call, startDns, sql } = await startPublishing(t);
  await startDns();
  await enter(zoneName, undefined, ourServers);
  for (const last of [1, 2, 3]) {
    assertStatus(await call("PATCH", "records", aRecord(`192.0.2.${last}`), wait), 200);
  }
  await leave(zoneName, "transferred");
  await sql("UPDATE zones SET ends_at = now(), next_step_at = now()");
  const types = async () =>
    ((await call("GET", "/events?types=zone.*")).body as { type: string; data: { domain_name: string } }[]).map(
      ({ type, data }) => `${type} ${data.domain_name}`,
    );
  while ((await types()).length < 4);
  assert.deepEqual(
    await types(),
    ["zone.created", "zone.served", "zone.leaving", "zone.removed"].map((type) => `${type} ${zoneName}`),
  );
});

test("other name servers change every zone, with a serial of its own, and no delegation", async (t) => {
  const { enter, startDns, resolver, sql, rows, call } = await startPublishing(t);
  await startDns();
  await enter(zoneName, undefined, ourServers);
  assertStatus(await call("PATCH", "records", aRecord("192.0.2.1"), wait), 200);
  const [before] = await rows();
  await sql(
    "UPDATE zone_settings SET name_servers = '{ns9.dns.test}', hostmaster = 'root.dns.test', are_applied = false",
  );
  await sql("UPDATE chores SET next_step_at = now() WHERE name = 'zone-settings'");
  for (;;) {
    const [row] = await rows();
    if (Number(row?.served_revision) > Number(before?.revision)) break;
  }
  assert.deepEqual(await resolver.resolveNs(zoneName), ["ns9.dns.test"]);
  const { serial, hostmaster } = await resolver.resolveSoa(zoneName);
  assert.ok(serial > Number(before?.serial));
  assert.equal(hostmaster, "root.dns.test");
  const [change] = (await call("GET", "dns/changes")).body as { door: string; by: unknown }[];
  assert.deepEqual([change?.door, change?.by], ["settings", null]);
  assert.deepEqual(await sql("SELECT delegation FROM domains"), [{ delegation: ourServers }]);
});

test("serials are compared as RFC 1982 says", () => {
  for (const [serial, wanted, isReached] of [
    [5, 5, true],
    [6, 5, true],
    [4, 5, false],
    [0, 4_294_967_295, true],
    [4_294_967_295, 0, false],
    [1_700_000_000, 3_000_000_000, false],
  ] as const) {
    assert.equal(isAtLeast(serial, wanted), isReached, `${serial} ${wanted}`);
  }
});
