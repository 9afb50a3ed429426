import assert from "node:assert/strict";
import { test } from "node:test";
import type { Reply } from "../harness/signed-request.ts";
import { assertCode, assertStatus, ourServers, recordsIn, startZoneStage, zoneName } from "./stage.ts";

interface ShownRecord {
  id: string;
  type: string;
  record_name: string;
  ttl: number;
  content: string | null;
  priority: number | null;
}

const path = `/v2/dns/${zoneName}/records`;
const bodyOf = (reply: Reply) => reply.body as ShownRecord;

async function startWithZone(t: Parameters<typeof startZoneStage>[0]) {
  const stage = await startZoneStage(t);
  await stage.enter(zoneName, undefined, ourServers);
  const list = async (query = "") =>
    (assertStatus(await stage.call("GET", `${path}${query}`), 200).body as ShownRecord[]).filter(
      ({ id }) => Number(id) > 13,
    );
  const sets = async () => recordsIn(assertStatus(await stage.call("GET", "records"), 200));
  const add = async (record: object) => assertStatus(await stage.call("POST", path, record), 201).headers.location!;
  return { ...stage, list, sets, add };
}

test("a record is made, read, edited twice and deleted by one id", async (t) => {
  const { call, add, sets } = await startWithZone(t);
  const location = await add({ type: "A", record_name: "www", content: "192.0.2.1", ttl: 300, priority: null });
  assert.equal(location, `${path}/14`);
  assert.deepEqual(bodyOf(assertStatus(await call("GET", location), 200)), {
    id: "14",
    type: "A",
    record_name: "www",
    ttl: 300,
    content: "192.0.2.1",
    priority: null,
    service: null,
    weight: null,
    target: null,
    protocol: null,
    port: null,
  });
  const changed = assertStatus(await call("PUT", location, { content: "192.0.2.2" }), 200);
  assert.deepEqual([bodyOf(changed).id, bodyOf(changed).content, bodyOf(changed).ttl], ["14", "192.0.2.2", 300]);
  const moved = await call("PUT", location, { record_name: "mail", type: "AAAA", content: "2001:db8::1", ttl: 600 });
  assert.deepEqual([bodyOf(moved).id, bodyOf(moved).record_name, bodyOf(moved).ttl], ["14", "mail", 600]);
  assert.deepEqual(await sets(), ["mail 600 AAAA 2001:db8::1"]);
  const gone = assertStatus(await call("DELETE", location), 204);
  assert.equal(gone.text, "");
  for (const method of ["GET", "DELETE"]) assertCode(await call(method, location), 404, "record_not_found");
  assertCode(await call("PUT", location, { content: "192.0.2.1" }), 404, "record_not_found");
  assert.equal(await add({ type: "A", content: "192.0.2.1" }), `${path}/15`);
});

test("a new record joins its set, whose TTL it brings, and an identical one is the answer", async (t) => {
  const { add, sets, list } = await startWithZone(t);
  const first = await add({ type: "A", record_name: "@", content: "192.0.2.1", ttl: 300 });
  await add({ type: "a", record_name: "", content: "192.0.2.2", ttl: 600 });
  assert.deepEqual(await sets(), ["@ 600 A 192.0.2.1 | 192.0.2.2"]);
  assert.equal(await add({ type: "A", content: "192.0.2.1" }), first);
  assert.deepEqual(
    (await list()).map(({ id }) => id),
    ["14", "15"],
  );
});

test("MX, SRV and TXT have the shapes that clients of /v2 know", async (t) => {
  const { add, sets, call } = await startWithZone(t);
  const mx = await add({ type: "MX", content: "mail.hello.example" });
  const srv = await add({ type: "SRV", service: "_sip", protocol: "TCP", target: "sip.hello.example", port: 5060 });
  const txt = await add({ type: "TXT", record_name: "t", content: 'v=1; say "é"' });
  assert.deepEqual(await sets(), [
    "@ 3600 MX 10 mail.hello.example.",
    "_sip._tcp 3600 SRV 0 0 5060 sip.hello.example.",
    't 3600 TXT "v=1; say \\"\\195\\169\\""',
  ]);
  const shown = async (location: string) =>
    assertStatus(await call("GET", location), 200).body as Record<string, unknown>;
  const { content, priority } = await shown(mx);
  assert.deepEqual([content, priority], ["mail.hello.example", 10]);
  const { id: _id, ...service } = await shown(srv);
  assert.deepEqual(service, {
    type: "SRV",
    record_name: "@",
    ttl: 3600,
    content: null,
    priority: 0,
    service: "_sip",
    weight: 0,
    target: "sip.hello.example",
    protocol: "TCP",
    port: 5060,
  });
  assert.equal((await shown(txt)).content, 'v=1; say "é"');
  assertStatus(await call("PUT", srv, { target: "sip2.hello.example", port: 5061 }), 200);
  assertStatus(await call("PUT", txt, { content: "again" }), 200);
  assert.equal((await shown(srv)).target, "sip2.hello.example");
  assert.equal((await shown(txt)).content, "again");
});

test("the list has every record but SOA, with its filters and a slash at its end", async (t) => {
  const { call, add } = await startWithZone(t);
  await add({ type: "A", record_name: "www", content: "192.0.2.1" });
  await add({ type: "CNAME", record_name: "shop", content: "shops.elsewhere.test." });
  await add({ type: "SRV", service: "_sip", protocol: "UDP", target: "sip.elsewhere.test", port: 5060 });
  const all = assertStatus(await call("GET", `${path}/?skip=0&take=100`), 200);
  assert.equal(all.headers["x-paging-totalresults"], "5");
  const rows = all.body as ShownRecord[];
  assert.deepEqual(
    rows.slice(0, 2).map(({ id, type, content }) => [id, type, content]),
    [
      ["1", "NS", "ns1.dns.test"],
      ["2", "NS", "ns2.dns.test"],
    ],
  );
  const found = async (query: string) =>
    (assertStatus(await call("GET", `${path}?${query}`), 200).body as ShownRecord[]).map(({ type }) => type);
  assert.deepEqual(await found("type=cname"), ["CNAME"]);
  assert.deepEqual(await found("record_name=www"), ["A"]);
  assert.deepEqual(await found("service=_sip"), ["SRV"]);
  assert.deepEqual(await found("type=A&record_name=shop"), []);
  assertCode(await call("GET", `${path}?take=0`), 400, "invalid_paging_request");
});

test("apex NS and managed records cannot be changed", async (t) => {
  const { call, sql } = await startWithZone(t);
  await sql(`INSERT INTO zone_sets (zone_id, owner, type, source, ttl, records, ids, updated_at)
     SELECT id, 'www', 'A', 'hosting', 300, ARRAY['192.0.2.80'], ARRAY[14], now() FROM zones`);
  for (const id of [1, 2, 14]) {
    assertStatus(await call("GET", `${path}/${id}`), 200);
    assertCode(await call("PUT", `${path}/${id}`, { content: "192.0.2.1" }), 409, "record_managed");
    assertCode(await call("DELETE", `${path}/${id}`), 409, "record_managed");
  }
  assertCode(await call("DELETE", `${path}/3`), 404, "record_not_found");
});

test("what is wrong with a record is named by its field", async (t) => {
  const { call } = await startWithZone(t);
  for (const [record, field] of [
    [{ type: "A" }, /content/],
    [{ type: "A", content: "192.0.2" }, /"content"/],
    [{ type: "ALIAS", content: "x.test" }, /type/],
    [{ type: "A", record_name: "a b", content: "192.0.2.1" }, /"record_name"/],
    [{ type: "SRV", protocol: "TCP", target: "x.test", port: 1 }, /service/],
    [{ type: "SRV", service: "_sip", target: "x.test", port: 1 }, /protocol/],
    [{ type: "SRV", service: "_sip", protocol: "TCP", port: 1 }, /target/],
    [{ type: "SRV", service: "_sip", protocol: "TCP", target: "x.test" }, /port/],
    [{ type: "MX", content: "mail.test", priority: 70_000 }, /priority/],
    [{ content: "192.0.2.1" }, /type/],
  ] as const) {
    const reply = await call("POST", path, record);
    assertCode(reply, 400, "bad_request");
    assert.match(reply.text, field);
  }
});

test("a zone that is not the caller's does not exist behind /v2 either", async (t) => {
  const { call, gateway, enter } = await startWithZone(t);
  const rival = await gateway.addReseller();
  for (const [method, below, body] of [
    ["GET", "", undefined],
    ["POST", "", { type: "A", content: "192.0.2.1" }],
    ["GET", "/1", undefined],
    ["PUT", "/1", { content: "192.0.2.1" }],
    ["DELETE", "/1", undefined],
  ] as const) {
    assertCode(await call(method, `${path}${below}`, body, { of: rival }), 404, "domain_not_found");
    assertCode(await call(method, `/v2/dns/-x.example/records${below}`, body), 400, "domain_not_valid");
  }
  await enter("bare.example");
  assertCode(await call("GET", "/v2/dns/bare.example/records"), 404, "zone_not_found");
});
