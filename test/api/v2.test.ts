import assert from "node:assert/strict";
import { after, test } from "node:test";
import { unixSeconds } from "#lib/clock.ts";
import { assertError, assertFullForm } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { newNonce, type Reply, type SignedRequestOptions } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

// Domains behind the door /v2, and what its clients rely on.

const gateway = await startTestGateway({ after });
const { databaseUrl } = gateway;
const reseller = await gateway.addReseller();
const rival = await gateway.addReseller();
const jobPath = /^\/v2\/provisioningjobs\/[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const wholeSecond = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

const send = (method: string, path: string, options?: SignedRequestOptions, as: TestReseller = reseller) =>
  gateway.send(as, method, path, options);

async function register(domain_name: string, path = "/v2/domains/registrations"): Promise<Reply> {
  const reply = await send("POST", path, { body: { domain_name } });
  assert.equal(reply.status, 202, reply.text);
  return reply;
}

interface Job {
  id: string;
  status: string;
  completion?: { estimate: string };
  resource_links?: string[];
}

/** Polls as clients do: while the answer is 200 and the job has not failed. */
async function followJob(path: string): Promise<Reply> {
  for (;;) {
    const reply = await send("GET", path, { headers: { prefer: "wait=5" } });
    assertFullForm(reply);
    if (reply.status !== 200 || (reply.body as Job).status !== "ongoing") return reply;
  }
}

const idOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);

async function registered(name: string): Promise<void> {
  const job = await followJob((await register(name)).headers.location ?? "");
  assert.equal(job.status, 201, job.text);
}

test("a registration is a job that is followed until it has created the domain", async () => {
  const accepted = await register("First.Example");
  assertFullForm(accepted);
  const location = accepted.headers.location ?? "";
  assert.match(location, jobPath);
  assert.match(accepted.headers["retry-after"] ?? "", /^[1-9][0-9]*$/);
  assert.equal(accepted.headers["check-after"], undefined);
  const created = await followJob(location);
  assert.equal(created.status, 201);
  assert.equal(created.headers.location, "/v2/domains/first.example");
  assert.equal(created.headers["preference-applied"], "wait=5");
  assert.equal((await send("GET", location)).headers["preference-applied"], undefined);
  assert.deepEqual(created.body, {
    id: idOf(location),
    status: "finished",
    resource_links: ["/v2/domains/first.example"],
  });
});

test("a domain is shown with its name servers and its registrant, every text present", async () => {
  await registered("shown.example");
  const { body: v1 } = await send("GET", "/v1/domains/shown.example");
  // Clients that were generated for /v2 read dates with a format that knows no fraction of a second.
  const expiration_date = (v1 as { expiration_date: string }).expiration_date.replace(/\.\d{3}Z$/, "Z");
  assert.match(expiration_date, wholeSecond);
  await runSql(
    databaseUrl,
    `UPDATE domains SET delegation = '[{"name": "ns1.host.example"},
       {"name": "ns2.shown.example", "addresses": ["192.0.2.1", "2001:db8::1"]}]' WHERE domain_name = 'shown.example'`,
  );
  const reply = await send("GET", "/v2/domains/SHOWN.example");
  assert.equal(reply.status, 200);
  assert.deepEqual(reply.body, {
    domain_name: "shown.example",
    expiration_date,
    will_renew: true,
    name_servers: [
      { name: "ns1.host.example", ip: "" },
      { name: "ns2.shown.example", ip: "192.0.2.1" },
    ],
    registrant: {
      first_name: "Rita",
      last_name: "Reseller",
      address: "Main Street 1",
      postal_code: "1000",
      city: "Brussels",
      country_code: "BE",
      email: "rita@reseller.example",
      fax: "",
      phone: "+32.25550100",
      language_code: "",
      company_name: "Reseller Ltd",
      enterprise_number: "",
    },
    can_toggle_renew: true,
  });
  const list = (await send("GET", "/v2/domains?take=100")).body as { domain_name: string }[];
  assert.deepEqual(
    list.find(({ domain_name }) => domain_name === "shown.example"),
    { domain_name: "shown.example", expiration_date, will_renew: true },
  );
});

test("name servers are ordered with a 204, and shown once the registry shows them", async () => {
  const body = { domain_name: "shown.example", name_servers: ["ns3.host.example", "ns4.host.example"] };
  const reply = await send("PUT", "/v2/domains/shown.example/nameservers", { body });
  assert.deepEqual([reply.status, reply.text, reply.headers.location], [204, "", undefined]);
  const [order] = await runSql<{ kind: string; input: unknown }>(
    gateway.databaseUrl,
    "SELECT kind, input FROM orders WHERE domain_name = 'shown.example' AND kind <> 'create'",
  );
  assert.deepEqual(order, {
    kind: "nameservers",
    input: { name_servers: [{ name: "ns3.host.example" }, { name: "ns4.host.example" }] },
  });
});

test("the renewal is switched off and on, and cannot be toggled while the registry carries it out", async () => {
  await registered("switched.example");
  const path = "/v2/domains/switched.example";
  const off = await send("PUT", `${path}/renew`, { body: { will_renew: false } });
  assert.equal(off.status, 204);
  assert.equal(off.text, "");
  const read = async () => (await send("GET", path)).body as { will_renew: boolean; can_toggle_renew: boolean };
  assert.equal((await read()).will_renew, false);
  await runSql(
    databaseUrl,
    `WITH renewal AS (
       INSERT INTO renewals (renewal_code, reseller_id, domain_name, registry_id, period_years, term_ends_at, due_at, status,
         phase, next_step_at, list_key, created_at, updated_at)
       VALUES ('REN-00000000-002', ${reseller.id}, 'switched.example', 'sandbox', 1, now(), now(), 'Processing', 'renew',
         'infinity', 'switched.example', now(), now()) RETURNING id),
     placed AS (
       INSERT INTO orders (order_code, reseller_id, domain_name, registry_id, kind, input, is_urgent, status, next_step_at,
         created_at, updated_at, renewal_id)
       SELECT 'REN-00000000-002', ${reseller.id}, 'switched.example', 'sandbox', 'renew', '{"years": 1}', true, 'Pending', 'infinity',
         now(), now(), id FROM renewal)
     UPDATE domains SET renewal_id = renewal.id FROM renewal WHERE domain_name = 'switched.example'`,
  );
  assert.equal((await read()).can_toggle_renew, false);
  assertError(await send("PUT", `${path}/renew`, { body: { will_renew: true } }), "domain_renewal_underway");
});

test("a registration that waits is ongoing, with an estimate and the seconds until the next look", async (t) => {
  t.after(() => gateway.startWorker());
  const { headers } = await register("waits.example");
  await followJob(headers.location ?? "");
  await gateway.stopWorker();
  await runSql(
    databaseUrl,
    "UPDATE orders SET status = 'Pending', ended_at = NULL, next_step_at = 'infinity' WHERE domain_name = 'waits.example' AND kind = 'create'",
  );
  const reply = await send("GET", headers.location ?? "");
  assert.equal(reply.status, 200);
  const { completion, ...rest } = reply.body as Job;
  assert.deepEqual(rest, { id: idOf(headers.location ?? ""), status: "ongoing" });
  assert.match(completion?.estimate ?? "", wholeSecond);
  assert.ok(Date.parse(completion?.estimate ?? "") > gateway.context.clock.now().getTime());
  assert.match(reply.headers["retry-after"] ?? "", /^[1-9][0-9]*$/);
  await runSql(databaseUrl, "DELETE FROM domains WHERE domain_name = 'waits.example'");
});

test("a job that ended without a domain is failed or cancelled, and its completion says when", async () => {
  const { headers } = await register("over.example");
  await followJob(headers.location ?? "");
  for (const [order, status] of [
    ["Errors", "failed"],
    ["FailedValidation", "failed"],
    ["Cancelled", "cancelled"],
  ]) {
    const ended = "2026-05-01T10:00:00.123Z";
    await runSql(
      databaseUrl,
      "UPDATE orders SET status = $1, ended_at = $2 WHERE domain_name = 'over.example' AND kind = 'create'",
      [order, ended],
    );
    const reply = await send("GET", headers.location ?? "");
    assert.equal(reply.status, 200);
    const completion = { estimate: "2026-05-01T10:00:00Z" };
    assert.deepEqual(reply.body, { id: idOf(headers.location ?? ""), status, completion });
  }
});

test("a resource that is not served below /v2/domains is not found; it is no name that refuses the method", async () => {
  for (const method of ["POST", "PUT", "DELETE"]) {
    assertError(await send(method, "/v2/domains/transfers"), "resource_not_found");
  }
  assertError(await send("POST", "/v2/domains/shown.example"), "method_not_allowed");
  assertError(await send("GET", "/v2/domains/transfers"), "domain_not_valid");
});

test("both doors lead to the same order, each under its own address", async () => {
  const v1 = await register("both.example", "/v1/domains/registrations");
  const order = v1.headers.location ?? "";
  await gateway.settled(reseller, order);
  const again = await send("POST", "/v2/domains/registrations", { body: { domain_name: "both.example" } });
  assertError(again, "domain_availability_taken");
  assert.match(again.headers.location ?? "", jobPath);
  const job = await followJob(again.headers.location ?? "");
  assert.deepEqual((job.body as Job).resource_links, ["/v2/domains/both.example"]);
  const back = await send("POST", "/v1/domains/registrations", { body: { domain_name: "both.example" } });
  assert.equal(back.headers.location, order);
});

test("an Idempotency-Key stands for one request of one door, and its repeat has that door's answer", async () => {
  const options = { body: { domain_name: "keyed.example" }, headers: { "idempotency-key": "k-1" } };
  const v2 = await send("POST", "/v2/domains/registrations", options);
  assert.match(v2.headers.location ?? "", jobPath);
  const repeat = await send("POST", "/v2/domains/registrations", options);
  assert.equal(repeat.headers["idempotency-replayed"], "true");
  assert.equal(repeat.headers.location, v2.headers.location);
  assert.equal(repeat.headers["retry-after"], v2.headers["retry-after"]);
  const v1 = await send("POST", "/v1/domains/registrations", options);
  assert.equal(v1.headers["idempotency-replayed"], undefined);
  assert.match(v1.headers.location ?? "", /^\/v1\/domains\/registrations\/REG-/);
});

test("an identical resend of a registration gets the same answer, byte for byte", async () => {
  const options = {
    body: { domain_name: "resent.example" },
    nonce: newNonce(),
    timestamp: unixSeconds(gateway.context.clock),
  };
  const first = await send("POST", "/v2/domains/registrations", options);
  assert.equal(first.status, 202, first.text);
  const again = await send("POST", "/v2/domains/registrations", options);
  for (const name of ["location", "retry-after", "content-length"]) {
    assert.equal(again.headers[name], first.headers[name], name);
  }
});

test("a job is its owner's alone, and needs the scope of what it creates", async () => {
  const { headers } = await register("mine.example");
  const location = headers.location ?? "";
  assertError(await send("GET", location, {}, rival), "order_not_found");
  const hostingOnly = await gateway.addKey(reseller, { scopes: ["hosting:read"] });
  assertError(await send("GET", location, {}, hostingOnly), "authorization_scope_missing");
  const domainsOnly = await gateway.addKey(reseller, { scopes: ["domains:read"] });
  assert.ok([200, 201].includes((await send("GET", location, {}, domainsOnly)).status));
  const none = await gateway.addKey(reseller, { scopes: ["servicepacks:read"] });
  assertError(await send("GET", location, {}, none), "authorization_scope_missing");
});

test("a signature holds for the path with its version, and for no other door", async () => {
  assertError(await send("GET", "/v2/domains", { signedTarget: "/domains" }), "authorization_hmac_invalid");
  assertError(await send("GET", "/v2/domains", { signedTarget: "/v1/domains" }), "authorization_hmac_invalid");
  assertError(await send("GET", "/v1/domains", { signedTarget: "/v2/domains" }), "authorization_hmac_invalid");
});

test("nonces of every form that clients draw are accepted", async () => {
  const nonces = [
    "5f0c3a1b2d4e7",
    "abcdefghijklmnopqrstuvwxyzABCDEF",
    "1700000001",
    "3F2504E0-4F89-11D3-9A0C-0305E82C3301",
    "5f0c3a1b2d4e7.nonce",
  ];
  for (const nonce of nonces) {
    assert.equal((await send("GET", "/v2/servicepacks", { nonce })).status, 200, nonce);
    assertError(await send("GET", "/v2/servicepacks", { nonce }), "authorization_nonce_reused");
  }
});

test("every answer has the rate limit's four headers and names in lower case, and every error its code at the top", async () => {
  const errors = [
    await send("GET", "/v2/domains", { authorization: null }),
    await send("GET", "/v2/domains", { authorization: "hmac x" }),
    await send("GET", "/v2/nothing"),
    await send("DELETE", "/v2/domains"),
    await send("GET", "/v2/domains?take=0"),
    await send("GET", "/v2"),
  ];
  for (const reply of errors) {
    assertFullForm(reply);
    const { error_code, error_text } = reply.body as Record<string, string>;
    assert.ok(error_code && error_text, reply.text);
  }
  assertFullForm(await send("GET", "/v2/domains"));
});

test("a take of 99999 is answered with 100 rows", async () => {
  const many = await gateway.addReseller();
  await insertDomains(
    databaseUrl,
    many,
    Array.from({ length: 130 }, (_, at) => `many-${at + 1}.example`),
  );
  const page = await send("GET", "/v2/domains?skip=0&take=99999", {}, many);
  assert.equal(page.status, 200);
  assert.equal((page.body as unknown[]).length, 100);
  const paging = ["skipped", "take", "totalresults"].map((name) => page.headers[`x-paging-${name}`]);
  assert.deepEqual(paging, ["0", "100", "130"]);
  const next = /<(\/v2\/domains\?[^>]+)>; rel="next"/.exec(page.headers.link ?? "")?.[1] ?? "";
  assert.equal(((await send("GET", next, {}, many)).body as unknown[]).length, 30);
});

test("a GET takes a content type without a body, and the body [] too", async () => {
  const headers = { "content-type": "application/json" };
  assert.equal((await send("GET", "/v2/domains", { headers })).status, 200);
  assert.equal((await send("GET", "/v2/domains", { body: "[]" })).status, 200);
});

test("there is no list of zones", async () => {
  for (const method of ["GET", "POST"]) assertError(await send(method, "/v2/dns"), "resource_not_found");
});

test("a header that got a 5xx is accepted again, unchanged", async (t) => {
  const broken = await startTestGateway(t, { worker: false });
  const caller = await broken.addReseller();
  const nonce = newNonce();
  const timestamp = unixSeconds(broken.context.clock);
  const read = () => broken.send(caller, "GET", "/v2/domains", { nonce, timestamp });
  await runSql(broken.databaseUrl, "ALTER TABLE domains RENAME TO elsewhere");
  assertError(await read(), "internal_error");
  await runSql(broken.databaseUrl, "ALTER TABLE elsewhere RENAME TO domains");
  assert.equal((await read()).status, 200);
});

test("a header that got a 429 is accepted again, unchanged, once the limit allows it", async (t) => {
  const clock = createManualClock(1_800_000_000);
  const limited = await startTestGateway(t, { clock, worker: false });
  const slow = await limited.addReseller({ rateLimit: 1 });
  assert.equal((await limited.send(slow, "GET", "/v2/domains")).status, 200);
  const nonce = newNonce();
  const timestamp = unixSeconds(clock);
  const read = () => limited.send(slow, "GET", "/v2/domains", { nonce, timestamp });
  assertError(await read(), "rate_limit_exceeded");
  clock.advance(60_000);
  assert.equal((await read()).status, 200);
});

const registrant = {
  first_name: "Ada",
  last_name: "Byron",
  address: "Mews 7",
  postal_code: "EC1A 1BB",
  city: "London",
  country_code: "GB",
  email: "ada@mail.example",
  fax: "",
  phone: "+44.2079460001",
  language_code: "en",
  company_name: "",
  enterprise_number: "",
};

test("a registration has the registrant that it names, and shows it to keys that may read contacts", async () => {
  const body = { domain_name: "given.example", name_servers: [], registrant: { ...registrant, extra_fields: [] } };
  const accepted = await send("POST", "/v2/domains/registrations", { body });
  assert.equal(accepted.status, 202, accepted.text);
  assert.equal((await followJob(accepted.headers.location ?? "")).status, 201);
  const shown = async (as: TestReseller) =>
    ((await send("GET", "/v2/domains/given.example", {}, as)).body as { registrant: object }).registrant;
  assert.deepEqual(await shown(reseller), registrant);
  const blind = await gateway.addKey(reseller, { scopes: ["domains:read"] });
  assert.deepEqual([...new Set(Object.values(await shown(blind)))], [""]);
});

test("a repeated registration with another registrant is refused while the first is in progress", async () => {
  const hold = gateway.registry.hold({ command: "domain:create", name: "twice.example", at: "before-execution" });
  const order = (first_name: string) =>
    send("POST", "/v2/domains/registrations", {
      body: { domain_name: "twice.example", registrant: { ...registrant, first_name } },
    });
  const accepted = await order("Ada");
  assert.equal((await order("Ada")).headers.location, accepted.headers.location);
  const refused = await order("Grace");
  assertError(refused, "bad_request");
  hold.release();
  assert.equal((await followJob(accepted.headers.location ?? "")).status, 201);
});
