import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError, assertFullForm } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";

const gateway = await startTestGateway({ after }, { worker: false });
const reseller = await gateway.addReseller();
const rival = await gateway.addReseller();
const dates = { registeredAt: "2026-04-18T07:45:21.187Z", expiresAt: "2027-04-18T07:45:21.1Z" };
const delegation = [{ name: "ns1.dns.example" }];
const muller = { name: "xn--mller-kva.example", ...dates, willRenew: false, delegation };
await insertDomains(gateway.databaseUrl, reseller, [muller, "plain.example"]);
await insertDomains(gateway.databaseUrl, rival, ["rivals.example"]);
const read = (name: string, prefix = "") => gateway.send(reseller, "GET", `${prefix}/domains/${name}`);

test("a domain has the three promised fields first, with timestamps in UTC and milliseconds", async () => {
  const reply = await read("xn--mller-kva.example");
  assert.equal(reply.status, 200);
  assertFullForm(reply);
  assert.deepEqual(Object.entries(reply.body as object), [
    ["domain_name", "xn--mller-kva.example"],
    ["expiration_date", "2027-04-18T07:45:21.100Z"],
    ["will_renew", false],
    ["registration_date", "2026-04-18T07:45:21.187Z"],
    ["state", "active"],
    ["status", "ok"],
    ["name_servers", [{ name: "ns1.dns.example" }]],
    ["dnssec", null],
    ["statuses", []],
    ["transfer_locked", false],
    ["changes_pending", []],
  ]);
});

test("U-label, A-label, any case, percent-encoded or not, with a trailing dot or full-width: one record", async () => {
  for (const name of [
    "xn--mller-kva.example",
    "XN--MLLER-KVA.EXAMPLE",
    "Xn--Mller-Kva.Example.",
    "xn%2D%2dmller-kva%2Eexample",
    ...["müller.example", "MÜLLER.example", "mu\u0308ller.example", "müller。example", "ｍüller.example"].map(
      encodeURIComponent,
    ),
    "m%c3%bcller.example",
    "M%C3%9CLLER.EXAMPLE",
    "%6d%C3%BCller%2eexample%2e",
  ]) {
    for (const prefix of ["", "/v1"]) {
      const reply = await read(name, prefix);
      assert.equal(reply.status, 200, `${name} ${reply.text}`);
      assert.equal((reply.body as { domain_name: string }).domain_name, "xn--mller-kva.example");
    }
  }
});

test("a name with invalid syntax is domain_not_valid", async () => {
  for (const name of [
    "example",
    "-a.example",
    "a-.example",
    "a..example",
    ".example",
    "a.example..",
    "a_b.example",
    "ab--c.example",
    "xn--a.example",
    "xn--.example",
    `${"a".repeat(64)}.example`,
    `${"a.".repeat(127)}example`,
    "1.2.3.4",
    "a.123",
    ...["a b.example", "a/b.example", "a\0.example", "☃.example", "a\u200bb.example", "[::1]", "a.example:80"].map(
      encodeURIComponent,
    ),
  ]) {
    assertError(await read(name), "domain_not_valid");
  }
});

test("a missing name is invalid_request", async () => {
  assertError(await read(""), "invalid_request");
  assertError(await read("", "/v1"), "invalid_request");
});

test("another reseller's name and a free one get the same answer", async () => {
  const replies = [await read("rivals.example"), await read("nobodys.example"), await read("www.plain.example")];
  for (const reply of replies) {
    assertError(reply, "domain_not_found");
    assert.equal(reply.text, replies[0]?.text);
    assert.deepEqual(Object.keys(reply.headers), Object.keys(replies[0]?.headers ?? {}));
  }
});
