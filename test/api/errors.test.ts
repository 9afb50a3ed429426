import assert from "node:assert/strict";
import { after, test } from "node:test";
import { routes } from "#api/routes.ts";
import { v2Routes } from "#api/v2/routes.ts";
import type { ErrorCode } from "#errors.ts";
import { assertError, type ErrorBody } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { newNonce } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";
import { authCodeRefusals, insertNamesWithoutCodes, registriesWithoutCodes } from "./auth-code-refusals.ts";
import { contactScenarios, wrongContact } from "./contact-scenarios.ts";
import { eventScenarios } from "./event-scenarios.ts";
import { goodAccountWith, hostingScenarios } from "./hosting-scenarios.ts";
import { paidErrors } from "./paid-errors.ts";
import { type Scenario, type Scenarios, wrongPaging } from "./scenario.ts";
import { v2Scenarios } from "./v2-scenarios.ts";
import { insertWebhook, webhookScenarios } from "./webhook-scenarios.ts";
import { insertZones, zoneScenarios, zones } from "./zone-scenarios.ts";

// Provokes every code that a use case lists in its documented condition, and checks that nothing changes.

const gateway = await startTestGateway({ after }, { moreRegistries: registriesWithoutCodes, context: { zones } });
const reseller = await gateway.addReseller();
const rival = await gateway.addReseller();
const plain = await gateway.addReseller({ kind: "plain" });
const incomplete = await gateway.addReseller({ profile: false });
const pack = await gateway.addPack();
const unofferedPack = await gateway.addPack({ offeredTo: [rival.id] });
const retiredPack = await gateway.addPack();
await runSql(gateway.databaseUrl, `UPDATE service_packs SET retired_at = now() WHERE id = ${retiredPack}`);
await runSql(gateway.databaseUrl, "INSERT INTO blocked_names VALUES ('listed', '', now()), ('whole.test', '', now())");

const packs = { offered: pack, unoffered: unofferedPack, retired: retiredPack };

const registrations = "/domains/registrations";
const register = (domain_name: unknown, more: Partial<Scenario> = {}): Scenario => {
  return { target: registrations, body: { domain_name }, ...more };
};
const goodAccount = goodAccountWith(pack);
const ownRenew = "/domains/own.example/renew";

/** What every call about a name of the caller's portfolio refuses. */
const foreignNames = (path: string, body?: object) => ({
  domain_not_valid: ["/domains/-a.example", "/domains/example"].map((of) => ({ target: `${of}/${path}`, body })),
  domain_not_found: [
    { target: `/domains/nobodys.example/${path}`, body },
    { as: rival, target: `/domains/own.example/${path}`, body },
  ],
});

/** What every order about a registered name refuses. @param mistakes bodies, each with the fields that are wrong in it */
const ordering = (path: string, body: object, mistakes: [body: object, ...fields: string[]][]) => ({
  bad_request: [
    { target: `/domains/own.example/${path}`, says: /empty/ },
    ...mistakes.map(([mistake, ...fields]) => ({ target: `/domains/own.example/${path}`, body: mistake, fields })),
  ],
  ...foreignNames(path, body),
  order_limit_reached: [
    {
      target: `/domains/own.example/${path}`,
      body,
      arrange: openOrders,
      tidy: () => query("DELETE FROM orders WHERE kind <> 'create'"),
    },
  ],
});

/** As many open orders as a reseller may have. */
const openOrders = () =>
  query(
    `INSERT INTO orders (order_code, reseller_id, domain_name, registry_id, kind, input, is_urgent, status, created_at, updated_at)
     SELECT 'CHG-' || n || is_urgent, ${reseller.id}, 'n' || n || '.example', 'none', 'transfer-lock', '{}', is_urgent, 'NotProvisioned',
       now(), now() FROM generate_series(1, 10000) AS n, (VALUES (true), (false)) AS kinds (is_urgent)`,
  );
const query = (text: string) => runSql(gateway.databaseUrl, text);
const paid = paidErrors({ reseller, rival, query, ordering, openOrders });

/** By method and path, and code: the requests that provoke it. */
const scenarios: Scenarios = {
  "GET /domains": {
    invalid_paging_request: wrongPaging.map((query) => ({ target: `/domains?${query}` })),
    bad_request: [
      ...["", "m%C3%BCn", "a_b", "a%00", "x".repeat(254), "a&name_prefix=b"].map((value) => ["name_prefix", value]),
      ...["", "x", "2027-02-30", "2027-1-1", "2027-01-01T25:00Z", "2027-01-01T12:00:00", "0", "infinity"].map(
        (value) => ["expires_before", value],
      ),
      ...["", "1", "yes", "true&will_renew=true"].map((value) => ["will_renew", value]),
    ].map(([name, value]) => ({ target: `/domains?${name}=${value}`, fields: [name!] })),
  },
  "GET /domains/availability": {
    bad_request: [
      ...["", "?names=", "?names=a.example&names=b.example", `?names=${"a.example,".repeat(50)}b.example`].map(
        (query) => ({ target: `/domains/availability${query}`, says: /1 to 50 names/, fields: ["names"] }),
      ),
      {
        target: "/domains/availability?names=a.example,,example,b.example",
        says: /Name 2/,
        fields: ["names", "names"],
      },
      { target: "/domains/availability?names=www.name.example", says: /Name 1: Only one label/, fields: ["names"] },
    ],
  },
  "GET /domains/:domain_name": {
    invalid_request: [{ target: "/domains/" }, { target: "/v1/domains/?x=1" }],
    domain_not_valid: [
      { target: "/domains/-a.example" },
      { target: "/domains/example" },
      { target: "/domains/1.2.3.4" },
    ],
    domain_not_found: [{ target: "/domains/nobodys.example" }],
  },
  "GET /domains/departures": {
    invalid_paging_request: wrongPaging.map((query) => ({ target: `/domains/departures?${query}` })),
  },
  "POST /domains/registrations": {
    bad_request: [
      { target: registrations, says: /empty/ },
      ...["nonsense", "[]", "null", '"text"', "1", "{", '{"domain_name": 1e999}', "[".repeat(60_000)].map((body) => {
        return { target: registrations, body };
      }),
      { target: registrations, body: "{}", fields: ["domain_name"] },
      ...[null, 1, 1e300, true, ["a.example"], { a: 1 }].map((name) => register(name, { fields: ["domain_name"] })),
      ...[
        "",
        " ",
        "example",
        "a..example",
        "a.example\0",
        "-a.example",
        "a b.example",
        `${"a".repeat(64)}.example`,
      ].map((name) => register(name, { fields: ["domain_name"] })),
      register("www.name.example", { says: /one label/i }),
      register("www.name.com", { says: /one label/i }),
      register("name.example", { as: incomplete, fields: ["profile"] }),
      wrongContact,
      ...[{ years: 0 }, { years: 11 }, { name_servers: "ns1.dns.net" }, { will_renew: 1 }, { dry_run: "yes" }].map(
        (more) => ({ target: registrations, body: { domain_name: "a.example", ...more }, fields: Object.keys(more) }),
      ),
    ],
    domain_availability_blocked: [
      register("name.com", { says: /\.example, \.test/ }),
      register("listed.example", { says: /blocked/ }),
      register("Listed.Test", { says: /blocked/ }),
      register("whole.test", { says: /blocked/ }),
      ...["reserved-a.example", "blocked-a.example", "premium-a.example"].map((name) => register(name)),
    ],
    order_limit_reached: [
      register("beyond.example", {
        arrange: () => paid.limit(0),
        tidy: () => paid.limit(100_000),
        says: /paid orders/,
      }),
    ],
    domain_availability_taken: [register("taken-a.example", { says: /not free/ })],
    domain_availability_lookuperror: [
      register("silent.example", {
        arrange: async () => gateway.registry.pause(),
        tidy: async () => gateway.registry.resume(),
      }),
    ],
    service_unavailable: [
      register("paused.example", {
        arrange: () => setRegistry("creates_paused_reason = 'credit: none left'"),
        tidy: () => setRegistry("creates_paused_reason = NULL"),
      }),
      register("open.example", {
        arrange: () => setRegistry("circuit_open_until = now() + interval '1 minute'"),
        tidy: () => setRegistry("circuit_open_until = NULL"),
      }),
    ],
  },
  "GET /domains/registrations/:order_code": {
    bad_request: ["", "x", "REG-00000000", "REG-0000000U-000"].map((code) => {
      return { target: `${registrations}/${code}`, fields: ["order_code"] };
    }),
    order_not_found: [{ target: `${registrations}/REG-00000000-000` }],
  },
  "GET /domains/:domain_name/auth-code": {
    ...foreignNames("auth-code"),
    auth_code_not_found: [{ target: "/domains/own.example/auth-code" }],
  },
  "POST /domains/:domain_name/auth-code": {
    ...foreignNames("auth-code"),
    order_limit_reached: ordering("auth-code", {}, []).order_limit_reached,
    ...authCodeRefusals(gateway),
  },
  "POST /domains/:domain_name/transfer-out": ordering("transfer-out", { answer: "approve" }, [
    [{}, "answer"],
    [{ answer: "perhaps" }, "answer"],
    [{ answer: "reject" }, "reason"],
    [{ answer: "approve", reason: "fraud" }, "reason"],
  ]),
  ...contactScenarios(rival, ordering),
  "PUT /domains/:domain_name/renew": {
    bad_request: [
      { target: ownRenew, says: /empty/ },
      { target: ownRenew, body: "{}", fields: ["will_renew"] },
      ...[null, 0, "true", "", []].map((will_renew) => {
        return { target: ownRenew, body: { will_renew }, fields: ["will_renew"] };
      }),
    ],
    domain_not_valid: ["/domains//renew", "/domains/-a.example/renew", "/domains/example/renew"].map((target) => {
      return { target, body: { will_renew: true } };
    }),
    domain_not_found: [
      { target: "/domains/nobodys.example/renew", body: { will_renew: true } },
      { as: rival, target: ownRenew, body: { will_renew: false } },
    ],
    domain_renewal_underway: [
      {
        target: ownRenew,
        body: { will_renew: false },
        arrange: paid.beginRenewal,
        tidy: paid.forgetRenewal,
      },
    ],
  },
  "PUT /domains/:domain_name/dnssec": ordering("dnssec", { ds: [] }, [
    [{}, "ds"],
    [{ ds: [], keys: [] }, "keys"],
    [{ ds: [{}] }, "ds/0/key_tag", "ds/0/algorithm", "ds/0/digest_type", "ds/0/digest"],
    [{ keys: "all" }, "keys"],
  ]),
  "PUT /domains/:domain_name/nameservers": ordering("nameservers", { name_servers: [] }, [
    [{}, "name_servers"],
    [{ name_servers: ["dns"] }, "name_servers/0"],
    [{ name_servers: [{ name: "ns1.dns.net", addresses: ["9.9.9.9"] }] }, "name_servers/0/addresses"],
  ]),
  "PUT /domains/:domain_name/transfer-lock": ordering("transfer-lock", { transfer_locked: true }, [
    [{}, "transfer_locked"],
    [{ transfer_locked: "true" }, "transfer_locked"],
  ]),
  "GET /domains/:domain_name/history": {
    invalid_paging_request: wrongPaging.map((query) => ({ target: `/domains/own.example/history?${query}` })),
    domain_not_valid: ["/domains//history", "/domains/-a.example/history", "/domains/example/history"].map((target) => {
      return { target };
    }),
    domain_not_found: [
      { target: "/domains/nobodys.example/history" },
      { as: rival, target: "/domains/own.example/history" },
    ],
  },
  "GET /orders": {
    invalid_paging_request: [...wrongPaging, "skip=10001"].map((query) => ({ target: `/orders?${query}` })),
    bad_request: Object.entries({
      domain_name: ["", "example", "-a.example", "own.example&domain_name=own.example"],
      kind: ["", "lost", "create&kind=create"],
      status: ["", "Lost", "Renewed", "Errors&status=Errors"],
    }).flatMap(([filter, values]) =>
      values.map((value) => ({ target: `/orders?${filter}=${value}`, fields: [filter] })),
    ),
  },
  "GET /orders/:order_code": {
    bad_request: ["", "x", "CHG-00000000", "ORD-00000000-000"].map((code) => {
      return { target: `/orders/${code}`, fields: ["order_code"] };
    }),
    order_not_found: ["REG", "REN", "CHG"].map((prefix) => ({ target: `/orders/${prefix}-11111111-111` })),
  },
  "GET /renewals": {
    invalid_paging_request: wrongPaging.map((query) => ({ target: `/renewals?${query}` })),
    bad_request: ["status=", "status=Lost", "status=Ended&status=Ended"].map((query) => {
      return { target: `/renewals?${query}`, fields: ["status"] };
    }),
  },
  ...eventScenarios,
  ...webhookScenarios({ rival, own: await insertWebhook(query, reseller) }),
  ...hostingScenarios({ rival, plain, incomplete, packs }),
  ...paid.scenarios,
  ...zoneScenarios({ rival }),
  "GET /account": {},
  "POST /signature-check": {
    bad_request: [
      { target: "/signature-check", says: /empty/ },
      { target: "/signature-check", body: {}, fields: ["method", "target", "headers"] },
      { target: "/signature-check", body: { method: "GET", target: "domains", headers: {} }, fields: ["target"] },
    ],
  },
};

const setRegistry = (assignment: string) =>
  runSql(gateway.databaseUrl, `UPDATE registries SET ${assignment} WHERE id = 'sandbox'`);

async function everythingStored(): Promise<unknown> {
  const [row] = await runSql(
    gateway.databaseUrl,
    `SELECT (SELECT json_agg(o) FROM orders AS o WHERE kind = 'create') AS orders, (SELECT count(*) FROM order_history) AS history,
       (SELECT json_agg(d ORDER BY domain_name) FROM domains AS d) AS domains, (SELECT count(*) FROM domain_history) AS domain_history, (SELECT json_agg(a) FROM hosting_accounts AS a) AS accounts,
       (SELECT count(*) FROM orders WHERE kind <> 'create') AS changes, (SELECT json_agg(c) FROM auth_codes AS c) AS codes,
       (SELECT count(*) FROM committed_requests) AS answers, (SELECT json_agg(r ORDER BY r.zone_id, owner) FROM zone_sets AS r) AS records,
       (SELECT json_agg(json_build_array(domain_name, state, revision, serial) ORDER BY id) FROM zones) AS zones`,
  );
  return row;
}

await runSql(
  gateway.databaseUrl,
  `INSERT INTO hosting_accounts (identifier, reseller_id, servicepack_id, password_hash_sealed, disk_quota_bytes,
     files_max, ftp_sessions_max, status, applied_version, created_at, updated_at, removal_requested_at, suspended_at,
     suspended_reason)
   VALUES ('exists.example', ${rival.id}, ${pack}, '', 1, 1, 1, 'Ready', 1, now(), now(), NULL, NULL, NULL),
     ('failed.example', ${reseller.id}, ${pack}, '', 1, 1, 1, 'Failed', 1, now(), now(), NULL, NULL, NULL),
     ('leaving.example', ${reseller.id}, ${pack}, '', 1, 1, 1, 'Ready', 1, now(), now(), now(), NULL, NULL),
     ('suspended.example', ${reseller.id}, ${pack}, '', 1, 1, 1, 'Suspended', 1, now(), now(), NULL, now(), 'phishing')`,
);

await runSql(
  gateway.databaseUrl,
  `WITH renewal AS (
     INSERT INTO renewals (renewal_code, reseller_id, domain_name, registry_id, period_years, term_ends_at, due_at, status,
       next_step_at, list_key, created_at, updated_at)
     VALUES ('REN-00000000-000', ${reseller.id}, 'own.example', 'sandbox', 1, now(), now(), 'Scheduled', 'infinity',
       'own.example', now(), now()) RETURNING id)

   INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
     will_renew, status, renewal_id)
   SELECT 'own.example', ${reseller.id}, 'sandbox', now(), '${paid.ownEnd}', '${paid.ownEnd}', true, 'ok', id FROM renewal`,
);
await paid.prepare();

await insertNamesWithoutCodes(gateway, reseller);
await insertZones(gateway.databaseUrl, reseller);

Object.assign(scenarios, v2Scenarios({ packs, rival, plain, incomplete, wrongPaging, v1: scenarios }));

for (const { method, path, useCase } of [...routes, ...v2Routes]) {
  const cases = scenarios[`${method} ${path}`] ?? {};

  // An unavailable database and the full queue of hashes have their own files.
  const elsewhere = (code: ErrorCode) => code === "service_unavailable" && (cases[code] ?? []).length === 0;

  test(`${method} ${path}: each of its errors has a request here, and no other error has one`, () => {
    const listed = useCase.errors.filter((code) => !elsewhere(code)).toSorted();
    const provoked = Object.keys(cases)
      .filter((code) => !elsewhere(code as ErrorCode))
      .toSorted();
    assert.deepEqual(provoked, listed);
  });

  for (const [code, requests] of Object.entries(cases) as [ErrorCode, Scenario[]][]) {
    if (elsewhere(code)) continue;
    test(`${method} ${path}: answers ${code} in its condition and changes nothing`, async () => {
      for (const { as = reseller, target, body, headers, says, fields, arrange, tidy } of requests) {
        const before = await everythingStored();
        await arrange?.();
        const reply = await gateway.send(as, method, target, { body, ...(headers && { headers }) });
        await tidy?.();
        const error: ErrorBody = assertError(reply, code);
        const shown = `${target} ${JSON.stringify(body)?.slice(0, 100)} → ${reply.text}`;
        if (says) assert.match(error.error_text, says, shown);
        if (fields)
          assert.deepEqual(
            error.validation_errors?.map(({ field }) => field),
            fields,
            shown,
          );
        assert.equal(error.validation_errors !== undefined, code === "bad_request", shown);
        assert.deepEqual(await everythingStored(), before, shown);
      }
    });
  }
}

test("an error never repeats a secret", async () => {
  for (const password of ["s3cret", "x".repeat(65), `ctrl\r\n${"S3CRET"}`, "my fresh.example is S3CRET", 12345678]) {
    const reply = await gateway.send(reseller, "POST", "/hostingaccounts", { body: { ...goodAccount, password } });
    const { validation_errors } = assertError(reply, "bad_request");
    assert.deepEqual(
      validation_errors?.map(({ field }) => field),
      ["password"],
    );
    assert.ok(!reply.text.includes(String(password)) && !/s3cret/i.test(reply.text), reply.text);
  }
});

test("unknown fields and a byte order mark are ignored, and bytes that are not UTF-8 are refused", async () => {
  const extra = { ...goodAccount, password: "short", domain_name: "x", __proto__: 1, "": [] };
  assertError(await gateway.send(reseller, "POST", "/hostingaccounts", { body: extra }), "bad_request");
  const marked = await gateway.send(reseller, "POST", "/domains/registrations", {
    body: `\ufeff{"domain_name":"taken-b.example","more":{"deep":[1]},"domain_name":"taken-c.example"}`,
  });
  assertError(marked, "domain_availability_taken");
  const broken = Buffer.concat([Buffer.from('{"domain_name":"'), Buffer.from([0xff]), Buffer.from('.example"}')]);
  assertError(await gateway.send(reseller, "POST", "/domains/registrations", { body: broken }), "bad_request");
});

test("an unexpected fault is a bare 500 with the request id, and its nonce is free again", async (t) => {
  const broken = await startTestGateway(t, { worker: false });
  const caller = await broken.addReseller();
  const nonce = newNonce();
  const read = () => broken.send(caller, "GET", "/domains/a.example", { nonce });
  await runSql(broken.databaseUrl, "ALTER TABLE domains RENAME TO elsewhere");
  const { error_text } = assertError(await read(), "internal_error");
  assert.doesNotMatch(error_text, /relation|select|\.ts|elsewhere/i);
  await runSql(broken.databaseUrl, "ALTER TABLE elsewhere RENAME TO domains");
  assertError(await read(), "domain_not_found");
});
