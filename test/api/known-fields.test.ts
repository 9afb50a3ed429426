import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import type { Reply } from "../harness/signed-request.ts";

// A field that is dropped silently is an order that the caller did not mean.

const gateway = await startTestGateway({ after });
const reseller = await gateway.addReseller();
const send = (method: string, path: string, body?: object) =>
  gateway.send(reseller, method, path, body ? { body } : {});
const register = (body: object, prefix = "/v1") => send("POST", `${prefix}/domains/registrations`, body);

const placed = await register({ domain_name: "known.example" });
await gateway.settled(reseller, placed.headers.location ?? "");

function assertNames(reply: Reply, field: string, meant: string): void {
  assertError(reply, "bad_request");
  const { validation_errors: errors } = reply.body as { validation_errors: { field: string; error_text: string }[] };
  assert.deepEqual(
    errors.map((error) => error.field),
    [field],
  );
  assert.match(errors[0]!.error_text, new RegExp(`Did you mean ${meant}\\?`));
}

for (const [given, meant] of [
  ["nameservers", "name_servers"],
  ["nameServers", "name_servers"],
  ["name_serves", "name_servers"],
  ["Years", "years"],
  ["yeasr", "years"],
  ["dryrun", "dry_run"],
] as const) {
  for (const prefix of ["", "/v1", "/v2"]) {
    test(`POST ${prefix}/domains/registrations refuses ${given}, which almost is ${meant}, and orders nothing`, async () => {
      assertNames(await register({ domain_name: "typo.example", [given]: ["x"] }, prefix), given, meant);
      const list = await send("GET", "/orders?domain_name=typo.example");
      assert.deepEqual(list.body, []);
    });
  }
}

test("a contact's field is compared as well, and named by its path", async () => {
  const registrant = { first_name: "Ada", postalcode: "1000" };
  assertNames(await register({ domain_name: "typo.example", registrant }), "registrant.postalcode", "postal_code");
  const servers = { name_servers: [{ name: "ns1.dns-host.net", adresses: [] }] };
  assertNames(await register({ domain_name: "typo.example", ...servers }), "name_servers/0/adresses", "addresses");
});

test("programs for the service interface may send more, and a dry run lists what is ignored", async () => {
  const extra = { colour: "blue", registrar_tag: 7, nothing: null };
  const dry = await register({ domain_name: "more.example", dry_run: true, ...extra });
  assert.equal(dry.status, 200, dry.text);
  assert.deepEqual((dry.body as { ignored: string[] }).ignored, ["colour", "registrar_tag"]);
  assert.equal((await register({ domain_name: "more.example", ...extra })).status, 202);
  const plain = await register({ domain_name: "plain.example", dry_run: true });
  assert.equal("ignored" in (plain.body as object), false);
  for (const path of ["/domains?status=expired", "/v1/hostingaccounts?x=1", "/v2/domains?ns_only=1"]) {
    assert.equal((await send("GET", path)).status, 200, path);
  }
});

test("a parameter that almost is one of a list's is refused by the service interface's lists", async () => {
  const page = await send("GET", "/domains?tkae=10");
  assertError(page, "invalid_paging_request");
  assert.match(page.text, /tkae: This is not a known name. Did you mean take\?/);
  assertNames(await send("GET", "/v2/domains?willrenew=true"), "willrenew", "will_renew");
});

test("every other call refuses what it does not know, with the nearest name or all of them", async () => {
  assertNames(await send("GET", "/orders?state=Finished"), "state", "status");
  assertNames(
    await send("PUT", "/domains/known.example/nameservers", { name_servers: [], nameserver: [] }),
    "nameserver",
    "name_servers",
  );
  const order = await send("PUT", "/domains/known.example/transfer-lock", { transfer_locked: true, colour: "blue" });
  assertError(order, "bad_request");
  assert.match(order.text, /colour: This is not a known name. The known names are transfer_locked\./);
  const read = await send("GET", "/domains/known.example/contacts?verbose=1");
  assert.match(read.text, /This call takes no parameters\./);
  assert.deepEqual((await send("GET", "/orders?domain_name=known.example&kind=transfer-lock")).body, []);
});

test("a refusal has at most twenty entries", async () => {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`field_${index}`, 1]));
  const reply = await send("PUT", "/domains/known.example/transfer-lock", { transfer_locked: true, ...many });
  assert.equal((reply.body as { validation_errors: unknown[] }).validation_errors.length, 20);
});
