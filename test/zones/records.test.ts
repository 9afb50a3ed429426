import assert from "node:assert/strict";
import { test } from "node:test";
import { assertCode, assertStatus, ourServers, recordsIn, startZoneStage, zoneName } from "./stage.ts";

const a = (...records: string[]) => ({ subname: "www", type: "A", records });

async function startWithZone(t: Parameters<typeof startZoneStage>[0]) {
  const stage = await startZoneStage(t);
  await stage.enter(zoneName, undefined, ourServers);
  const list = async (query = "") => recordsIn(assertStatus(await stage.call("GET", `records${query}`), 200));
  return { ...stage, list };
}

test("a change is accepted and read at once, in canonical form and by name and type", async (t) => {
  const { call, list } = await startWithZone(t);
  const reply = await call("PATCH", "records", [
    { subname: "WWW", type: "a", ttl: 300, records: ["192.0.2.2", "192.0.2.1"] },
    { subname: "@", type: "MX", records: ["10 Mail.Hello.Example"] },
    { subname: "@", type: "TXT", ttl: null, records: ["v=spf1 -all"] },
    { subname: "*.shop", type: "CNAME", records: ["www.hello.example."] },
  ]);
  assertStatus(reply, 202);
  assert.equal(reply.text, "");
  assert.equal(reply.headers.location, `/domains/${zoneName}/dns/changes/2`);
  assert.match(reply.headers["check-after"] ?? "", /^[1-9]\d*$/);
  assert.deepEqual(await list(), [
    "*.shop 3600 CNAME www.hello.example.",
    "@ 3600 MX 10 mail.hello.example.",
    '@ 3600 TXT "v=spf1 -all"',
    "www 300 A 192.0.2.2 | 192.0.2.1",
  ]);
  assert.deepEqual(await list("?type=mx"), ["@ 3600 MX 10 mail.hello.example."]);
  assert.deepEqual(await list("?subname=WWW"), ["www 300 A 192.0.2.2 | 192.0.2.1"]);
  const paged = assertStatus(await call("GET", "records?skip=1&take=2"), 200);
  assert.equal(paged.headers["x-paging-totalresults"], "4");
  assert.equal(recordsIn(paged).length, 2);
  const one = assertStatus(await call("GET", "records/WWW/a"), 200).body as { managed_by: unknown; records: unknown };
  assert.deepEqual([one.managed_by, one.records], [null, ["192.0.2.2", "192.0.2.1"]]);
});

test("a PATCH is all or nothing, and a CNAME can replace an A in it", async (t) => {
  const { call, list } = await startWithZone(t);
  assertStatus(await call("PATCH", "records", [a("192.0.2.1")]), 202);
  const refused = await call("PATCH", "records", [
    { subname: "mail", type: "A", records: ["192.0.2.9"] },
    { subname: "www", type: "CNAME", records: ["hello.example"] },
  ]);
  assertCode(refused, 400, "bad_request");
  assert.match(refused.text, /www\/CNAME/);
  assert.deepEqual(await list(), ["www 3600 A 192.0.2.1"]);
  const swapped = [
    { subname: "www", type: "A", records: [] },
    { subname: "www", type: "CNAME", records: ["hello.example"] },
  ];
  assertStatus(await call("PATCH", "records", swapped), 202);
  assert.deepEqual(await list(), ["www 3600 CNAME hello.example."]);
});

test("what a strict server would refuse is refused with the field, and nothing is changed", async (t) => {
  const { call, rows } = await startWithZone(t);
  const refusals: [unknown, RegExp][] = [
    [[{ subname: "www", type: "A", records: ["192.0.2.1", "192.0.2"] }], /0\/records\/1/],
    [[{ subname: "www", type: "SPF", records: ["v=spf1"] }], /0\/type.*TXT/],
    [[{ subname: "@", type: "NS", records: ["ns.elsewhere.test"] }], /0\/type/],
    [[{ subname: "a.b\nc", type: "A", records: ["192.0.2.1"] }], /0\/subname/],
    [[{ subname: "www", type: "A", ttl: 1, records: ["192.0.2.1"] }], /0\/ttl/],
    [[{ subname: "www", type: "A", ttl: "x", records: ["192.0.2.1"] }], /0\/ttl/],
    [[{ subname: "www", type: "A" }], /"0"/],
    [[{ subname: "www", type: "A", records: ["192.0.2.1"] }, { ...a("192.0.2.2") }], /"1"/],
    [[a("192.0.2.1", "192.0.2.1")], /0\/records\/1/],
    [{ subname: "www" }, /body/],
    [Array.from({ length: 501 }, (_, index) => ({ subname: `n${index}`, type: "A", records: ["192.0.2.1"] })), /500/],
    [[{ subname: "@", type: "MX", records: ["10 ."] }], /0\/records\/0/],
    [[{ subname: "sub", type: "DS", records: [`1 13 2 ${"00".repeat(32)}`] }], /sub\/DS/],
    [[{ subname: "x", type: "TXT", records: ["x"], recods: ["y"] }], /recods/],
  ];
  for (const [body, field] of refusals) {
    const reply = await call("PATCH", "records", body);
    assertCode(reply, 400, "bad_request");
    assert.match(reply.text, field);
  }
  const [zone] = await rows();
  assert.equal(Number(zone?.revision), 1);
});

test("a set is written and removed by its own address", async (t) => {
  const { call, list } = await startWithZone(t);
  assertStatus(await call("PUT", "records/www/a", { ttl: 60, records: ["192.0.2.1"] }), 202);
  assertStatus(await call("PUT", "records/@/TXT", { records: ["hello"] }), 202);
  assert.deepEqual(await list(), ['@ 3600 TXT "hello"', "www 60 A 192.0.2.1"]);
  assertCode(await call("PUT", "records/www/A", { records: [] }), 400, "bad_request");
  assertCode(await call("PUT", "records/www/SOA", { records: ["x"] }), 400, "bad_request");
  assertStatus(await call("DELETE", "records/www/A"), 202);
  for (const path of ["records/www/A", "records/www/SOA", "records/-/A"]) {
    assertCode(await call("DELETE", path), 404, "record_not_found");
    assertCode(await call("GET", path), 404, "record_not_found");
  }
  assert.deepEqual(await list(), ['@ 3600 TXT "hello"']);
});

test("a write that changes nothing is answered with the last change, and a dry run changes nothing", async (t) => {
  const { call, rows } = await startWithZone(t);
  assertStatus(await call("PATCH", "records", [a("192.0.2.1", "192.0.2.2")]), 202);
  const again = assertStatus(await call("PATCH", "records", [a("192.0.2.2", "192.0.2.1")]), 200);
  assert.equal((again.body as { change_id: string }).change_id, "2");
  const wanted = [{ subname: "www", type: "A", ttl: 60, records: ["192.0.2.1"] }];
  const dry = assertStatus(await call("PATCH", "records?dry_run=true", wanted), 200);
  assert.deepEqual(dry.body, {
    added: [{ subname: "www", type: "A", ttl: 60, records: ["192.0.2.1"] }],
    removed: [{ subname: "www", type: "A", ttl: 3600, records: ["192.0.2.1", "192.0.2.2"] }],
  });
  assertCode(await call("PATCH", "records?dry_run=true", [a("192.0.2")]), 400, "bad_request");
  assertCode(await call("PATCH", "records?dry_run=maybe", wanted), 400, "bad_request");
  const [zone] = await rows();
  assert.equal(Number(zone?.revision), 2);
});

test("If-Match writes only over the version that was read", async (t) => {
  const { call } = await startWithZone(t);
  const read = assertStatus(await call("GET", "records"), 200);
  const etag = read.headers.etag!;
  assert.equal(etag, '"1"');
  const first = await call("PATCH", "records", [a("192.0.2.1")], { headers: { "if-match": etag } });
  assert.equal(assertStatus(first, 202).headers.etag, '"2"');
  for (const [method, path, body] of [
    ["PATCH", "records", [a("192.0.2.2")]],
    ["PUT", "records", [a("192.0.2.2")]],
    ["PUT", "records/www/A", { records: ["192.0.2.2"] }],
    ["DELETE", "records/www/A", undefined],
    ["DELETE", `dns?confirm=${zoneName}`, undefined],
    ["PUT", "dns", { delegate: true }],
  ] as const) {
    assertCode(await call(method, path, body, { headers: { "if-match": etag } }), 412, "zone_changed");
  }
  for (const [value, record] of [
    ["*", "192.0.2.3"],
    ['"1", "3"', "192.0.2.4"],
  ] as const) {
    assertStatus(await call("PATCH", "records", [a(record)], { headers: { "if-match": value } }), 202);
  }
});

test("a repeat with the same Idempotency-Key changes nothing, although the zone has changed since", async (t) => {
  const { call, list } = await startWithZone(t);
  const headers = { "idempotency-key": "k1" };
  assertStatus(await call("PATCH", "records", [a("192.0.2.1")], { headers }), 202);
  assertStatus(await call("PATCH", "records", [a("192.0.2.2")]), 202);
  const repeated = assertStatus(await call("PATCH", "records", [a("192.0.2.1")], { headers }), 202);
  assert.match(repeated.headers.location ?? "", /changes\/2$/);
  assert.deepEqual(await list(), ["www 3600 A 192.0.2.2"]);
});

test("a zone file replaces all records, and what is exported can be imported", async (t) => {
  const { call, list } = await startWithZone(t);
  assertStatus(await call("PATCH", "records", [a("192.0.2.1")]), 202);
  const file = `$TTL 1h
@ IN SOA ns1.old.test. root.old.test. ( 1 2 3
  4 5 )
@ NS ns1.old.test.
 MX 10 mail
mail 300 A 192.0.2.25
txt TXT "a;b" "c\\"d"
`;
  const headers = { "content-type": "text/dns" };
  const imported = assertStatus(await call("PUT", "records", file, { headers }), 202);
  assert.equal(imported.headers["x-skipped-lines"], "2, 4");
  const records = ["@ 3600 MX 10 mail.hello.example.", "mail 300 A 192.0.2.25", 'txt 3600 TXT "a;b" "c\\"d"'];
  assert.deepEqual(await list(), records);
  const exported = assertStatus(await call("GET", "records", undefined, { headers: { accept: "text/dns" } }), 200);
  assert.match(exported.headers["content-type"] ?? "", /^text\/dns/);
  assert.match(exported.text, /^\$ORIGIN hello\.example\.\n.*IN SOA ns1\.dns\.test\. hostmaster\.dns\.test\. \d+ /s);
  assert.match(exported.text, /@ 3600 IN NS ns2\.dns\.test\.\n/);
  assertStatus(await call("PUT", "records", []), 202);
  assert.deepEqual(await list(), []);
  assertStatus(await call("PUT", "records", exported.text, { headers }), 202);
  assert.deepEqual(await list(), records);
});

test("a zone file with a line that is not accepted imports nothing, and the answer has its number", async (t) => {
  const { call, list } = await startWithZone(t);
  assertStatus(await call("PATCH", "records", [a("192.0.2.1")]), 202);
  const headers = { "content-type": "text/dns; charset=utf-8" };
  for (const [file, line] of [
    ["www A 192.0.2.2\nwww A 192.0.2.x\n", 2],
    ["www A 192.0.2.2\n$INCLUDE /etc/passwd\n", 2],
    ["$GENERATE 1-9 host-$ A 192.0.2.$\n", 1],
    ['www A 192.0.2.2\n\n\nx TXT "open\n', 4],
  ] as const) {
    const reply = await call("PUT", "records", file, { headers });
    assertCode(reply, 400, "bad_request");
    assert.match(reply.text, new RegExp(`line ${line}\\b`));
  }
  assertCode(await call("PUT", "records", Buffer.from([0x77, 0xff]), { headers }), 400, "bad_request");
  assert.deepEqual(await list(), ["www 3600 A 192.0.2.1"]);
});

test("a zone file may have 256 KiB, and JSON 64 KiB", async (t) => {
  const { call, list } = await startWithZone(t);
  const line = (index: number) => `txt-${index} TXT "${"x".repeat(200)}"\n`;
  const fileOf = (lines: number) => Array.from({ length: lines }, (_, index) => line(index)).join("");
  const headers = { "content-type": "text/dns" };
  assertStatus(await call("PUT", "records", fileOf(1_000), { headers }), 202);
  assert.equal((await list("?take=100")).length, 100);
  const tooLarge = await call("PUT", "records", fileOf(1_300), { headers });
  assertCode(tooLarge, 413, "request_too_large");
  assert.match(tooLarge.text, /256 KiB/);
  const json = [{ subname: "x", type: "TXT", records: ["x".repeat(70_000)] }];
  assertCode(await call("PUT", "records", json), 413, "request_too_large");
  assertCode(await call("PATCH", "records", fileOf(1_000), { headers }), 413, "request_too_large");
});

test("the changes of a zone are listed, the newest first, each with what it added and removed", async (t) => {
  const { call, reseller } = await startWithZone(t);
  assertStatus(await call("PATCH", "records", [a("192.0.2.1", "192.0.2.2")]), 202);
  assertStatus(await call("PATCH", "records", [a("192.0.2.2", "192.0.2.3")]), 202);
  const page = assertStatus(await call("GET", "dns/changes?take=2"), 200);
  assert.equal(page.headers["x-paging-totalresults"], "3");
  const [last, first] = page.body as Record<string, unknown>[];
  const set = (record: string) => [{ subname: "www", type: "A", ttl: 3600, records: [record] }];
  assert.deepEqual([last?.change_id, last?.added, last?.removed], ["3", set("192.0.2.3"), set("192.0.2.1")]);
  assert.deepEqual([last?.by, last?.door, last?.status], [reseller.key.id, "v1", "Publishing"]);
  assert.equal(first?.change_id, "2");
  const next = /<([^>]*)>; rel="next"/.exec(page.headers.link ?? "")?.[1];
  const rest = assertStatus(await call("GET", next!), 200).body as { change_id: string; by: unknown; door: string }[];
  assert.deepEqual(
    rest.map(({ change_id, by, door }) => [change_id, by, door]),
    [["1", null, "portfolio"]],
  );
  const one = assertStatus(await call("GET", "dns/changes/3"), 200);
  assert.deepEqual(one.body, last);
  for (const id of ["4", "0", "x", "99999999999999999999"]) {
    assertCode(await call("GET", `dns/changes/${id}`), 404, "zone_change_not_found");
  }
});

test("what is not the caller's looks like what does not exist, in every call", async (t) => {
  const { call, gateway } = await startWithZone(t);
  const rival = await gateway.addReseller();
  for (const [method, path, body] of [
    ["GET", "dns", undefined],
    ["PUT", "dns", {}],
    ["DELETE", "dns?confirm=%", undefined],
    ["GET", "dns/changes", undefined],
    ["GET", "dns/changes/1", undefined],
    ["GET", "records", undefined],
    ["PUT", "records", []],
    ["PATCH", "records", []],
    ["GET", "records/www/A", undefined],
    ["PUT", "records/www/A", { records: ["192.0.2.1"] }],
    ["DELETE", "records/www/A", undefined],
  ] as const) {
    const [foreign, none] = await Promise.all(
      [zoneName, "nobodys.example", `www.${zoneName}`].map((name) =>
        call(method, `/domains/${name}/${path.replace("%", name)}`, body, { of: rival }),
      ),
    );
    assertCode(foreign!, 404, "domain_not_found");
    assert.equal(foreign!.text, none!.text);
  }
});

test("a zone is made with sets, deleted on request only, and restored with another label", async (t) => {
  const { call, enter, rows, list, sql } = await startWithZone(t);
  const own = "own.example";
  await enter(own);
  const at = (path: string) => `/domains/${own}/${path}`;
  assertCode(await call("PUT", at("dns"), { sets: [{ subname: "a", type: "A", records: ["x"] }] }), 400, "bad_request");
  assert.deepEqual(await rows(own), []);
  const made = await call("PUT", at("dns"), { sets: [{ subname: "a", type: "A", records: ["192.0.2.1"] }] });
  assert.equal(assertStatus(made, 202).headers.location, `${at("dns/changes")}/1`);
  const [change] = assertStatus(await call("GET", at("dns/changes")), 200).body as { added: { subname: string }[] }[];
  assert.equal(change?.added[0]?.subname, "a");
  assertCode(await call("PUT", at("dns"), {}), 409, "zone_exists");
  assertCode(await call("DELETE", at("dns")), 400, "bad_request");
  assertCode(await call("DELETE", at("dns?confirm=other.example")), 400, "bad_request");
  assertStatus(await call("DELETE", at(`dns?confirm=${own}`)), 202);
  assertCode(await call("GET", at("records")), 404, "zone_not_found");
  assertCode(await call("PATCH", at("records"), []), 404, "zone_not_found");
  assertStatus(await call("PUT", at("dns"), { restore: true }), 202);
  assert.equal(recordsIn(assertStatus(await call("GET", at("records")), 200)).length, 1);
  const [zone] = await rows(own);
  await sql("UPDATE zones SET state = 'Withdrawn', withdrawn_at = now() - interval '31 days' WHERE domain_name = $1", [
    own,
  ]);
  assertCode(await call("PUT", at("dns"), { restore: true }), 404, "zone_not_found");
  assertStatus(await call("PUT", at("dns"), {}), 202);
  const [, fresh] = await rows(own);
  assert.notEqual(fresh?.label, zone?.label);
  assert.ok(Number(fresh?.serial) > Number(zone?.serial));
  assert.ok(Number(fresh?.revision) > Number(zone?.revision), "an etag is never valid again");
  assert.deepEqual(await list(), []);
});

test("a zone that the registry delegates to is deleted by force only", async (t) => {
  const { call, rows } = await startWithZone(t);
  assertCode(await call("DELETE", `dns?confirm=${zoneName}`), 409, "zone_delegated");
  assertStatus(await call("DELETE", `dns?confirm=${zoneName}&force=true`), 202);
  const [zone] = await rows();
  assert.equal(zone?.state, "Withdrawn");
});

test("a name with DS records is not delegated to an unsigned zone, and a zone says that it has them", async (t) => {
  const { call, sql, enter } = await startWithZone(t);
  await enter("signed.example");
  await sql(`UPDATE domains SET dnssec = '{"ds": [{"keyTag": 1}]}'`);
  assertCode(await call("PUT", "/domains/signed.example/dns", { delegate: true }), 409, "domain_has_ds");
  assertCode(await call("PUT", "dns", { delegate: true }), 409, "domain_has_ds");
  const { problem } = assertStatus(await call("GET", "dns"), 200).body as { problem?: string };
  assert.equal(problem, "ds_left");
});

test("a zone shows which name servers the registry has", async (t) => {
  const { call, sql } = await startWithZone(t);
  const shown = async (delegation: object[]) => {
    await sql("UPDATE domains SET delegation = $1", [JSON.stringify(delegation)]);
    return (assertStatus(await call("GET", "dns"), 200).body as { delegation: string }).delegation;
  };
  assert.equal(await shown(ourServers), "ours");
  assert.equal(await shown([ourServers[0]!, { name: "ns.elsewhere.test" }]), "partly");
  assert.equal(await shown([{ name: "ns.elsewhere.test" }]), "elsewhere");
  assert.equal(await shown([]), "none");
});

test("managed sets are shown until a set of the reseller shadows them, and cannot be removed", async (t) => {
  const { call, list, sql } = await startWithZone(t);
  await sql(`INSERT INTO zone_sets (zone_id, owner, type, source, ttl, records, ids, updated_at)
     SELECT id, 'www', type, 'hosting', 300, ARRAY[text], ARRAY[last_record_id + place], now()
     FROM zones, (VALUES ('A', '192.0.2.80', 1), ('AAAA', '2001:db8::80', 2)) AS managed (type, text, place)`);
  assert.deepEqual(await list(), ["www 300 A 192.0.2.80", "www 300 AAAA 2001:db8::80"]);
  assertCode(await call("DELETE", "records/www/A"), 409, "record_managed");
  assertStatus(await call("PUT", "records/www/A", { records: ["192.0.2.1"] }), 202);
  assert.deepEqual(await list(), ["www 3600 A 192.0.2.1"]);
  assertStatus(await call("PUT", "records", []), 202);
  assert.deepEqual(await list(), ["www 300 A 192.0.2.80", "www 300 AAAA 2001:db8::80"]);
});

test("records keep their ids while their content stays, and an id is never used twice", async (t) => {
  const { call, sql } = await startWithZone(t);
  const ids = async () => (await sql("SELECT ids, records FROM zone_sets"))[0] as { ids: string[]; records: string[] };
  assertStatus(await call("PATCH", "records", [a("192.0.2.1", "192.0.2.2")]), 202);
  assert.deepEqual((await ids()).ids, ["14", "15"]);
  assertStatus(await call("PATCH", "records", [a("192.0.2.3", "192.0.2.2")]), 202);
  assert.deepEqual((await ids()).ids, ["16", "15"]);
  assertStatus(await call("DELETE", "records/www/A"), 202);
  assertStatus(await call("PATCH", "records", [a("192.0.2.2")]), 202);
  assert.deepEqual((await ids()).ids, ["17"]);
});

test("a key that may change names may change records; one for records only may do no more", async (t) => {
  const { call, gateway, reseller } = await startWithZone(t);
  const older = await gateway.addKey(reseller, { scopes: ["domains:update"] });
  assertStatus(await call("PATCH", "records", [a("192.0.2.1")], { of: older }), 202);
  const reader = await gateway.addKey(reseller, { scopes: ["dns:read"] });
  assertStatus(await call("GET", "records", undefined, { of: reader }), 200);
  assertCode(await call("PATCH", "records", [], { of: reader }), 403, "authorization_scope_missing");
  const writer = await gateway.addKey(reseller, { scopes: ["dns:update"] });
  assertStatus(await call("PUT", "records", [], { of: writer }), 202);
  assertCode(await call("GET", `/domains/${zoneName}`, undefined, { of: writer }), 403, "authorization_scope_missing");
});

test("changes at the same time are all made, one after another", async (t) => {
  const { call, list, rows } = await startWithZone(t);
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, n) => call("PUT", `records/n${n}/A`, { records: [`192.0.2.${n}`] })),
  );
  for (const reply of replies) assertStatus(reply, 202);
  assert.equal((await list()).length, 10);
  const [zone] = await rows();
  assert.equal(Number(zone?.revision), 11);
});
