import assert from "node:assert/strict";
import { after, test } from "node:test";
import { routes } from "#api/routes.ts";
import type { ErrorCode } from "#errors.ts";
import { assertError, type ErrorBody } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { newNonce } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

// Provokes every code that a use case lists in its documented condition, and checks that nothing changes.

const gateway = await startTestGateway({ after });
const reseller = await gateway.addReseller();
const rival = await gateway.addReseller();
const plain = await gateway.addReseller({ kind: "plain" });
const incomplete = await gateway.addReseller({ profile: false });
const pack = await gateway.addPack();
const unofferedPack = await gateway.addPack({ offeredTo: [rival.id] });
const retiredPack = await gateway.addPack();
await runSql(gateway.databaseUrl, `UPDATE service_packs SET retired_at = now() WHERE id = ${retiredPack}`);
await runSql(gateway.databaseUrl, "INSERT INTO blocked_names VALUES ('listed', '', now()), ('whole.test', '', now())");

interface Scenario {
  as?: TestReseller;
  target: string;
  body?: unknown;
  /** Checks the error's body, beyond the rules for all errors. */
  says?: RegExp;
  fields?: string[];
  arrange?(): Promise<unknown>;
  tidy?(): Promise<unknown>;
}

const registrations = "/domains/registrations";
const register = (domain_name: unknown, more: Partial<Scenario> = {}): Scenario => {
  return { target: registrations, body: { domain_name }, ...more };
};
const goodAccount = { servicepack_id: pack, identifier: "fresh.example", password: "correct horse battery" };
const create = (change: Record<string, unknown>, more: Partial<Scenario> = {}): Scenario => {
  return { target: "/hostingaccounts", body: { ...goodAccount, ...change }, ...more };
};
/** An unknown one, and a rival's. */
const notOwn = (path: string, body?: unknown): Scenario[] =>
  ["nobodys.example", "exists.example", "-"].map((name) => ({ target: `/hostingaccounts/${name}${path}`, body }));
const ownRenew = "/domains/own.example/renew";
const wrongPaging = ["skip=-1", "take=0", "take=x", "skip=1.0", "skip=0&skip=0", "cursor=00", "take=", "skip=1e3"];

const foreignAccounts = ["nobodys.example", "exists.example", "", "%00", "%2e%2e"];
const hostNameErrors = {
  hostingaccount_invalid_identifier: foreignAccounts.map((identifier) => {
    return { target: `/hostingaccounts/${identifier}/hosts/www.own.example` };
  }),
  host_name_not_found: ["www.own.example", "-", "", "%00"].map((host) => {
    return { as: rival, target: `/hostingaccounts/exists.example/hosts/${host}` };
  }),
};

/** By method and path, and code: the requests that provoke it. */
const scenarios: Record<string, Partial<Record<ErrorCode, Scenario[]>>> = {
  "GET /domains": { invalid_paging_request: wrongPaging.map((query) => ({ target: `/domains?${query}` })) },
  "GET /domains/:domain_name": {
    invalid_request: [{ target: "/domains/" }, { target: "/v1/domains/?x=1" }],
    domain_not_valid: [
      { target: "/domains/-a.example" },
      { target: "/domains/example" },
      { target: "/domains/1.2.3.4" },
    ],
    domain_not_found: [{ target: "/domains/nobodys.example" }],
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
    ],
    domain_availability_blocked: [
      register("name.com", { says: /\.example, \.test/ }),
      register("listed.example", { says: /blocked/ }),
      register("Listed.Test", { says: /blocked/ }),
      register("whole.test", { says: /blocked/ }),
      ...["reserved-a.example", "blocked-a.example", "premium-a.example"].map((name) => register(name)),
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
        arrange: () => setRenewal("status = 'Processing', phase = 'verify', verify_cause = 'lost'"),
        tidy: () => setRenewal("status = 'Scheduled', phase = NULL, verify_cause = NULL"),
      },
    ],
  },
  "GET /renewals": {
    invalid_paging_request: wrongPaging.map((query) => ({ target: `/renewals?${query}` })),
    bad_request: ["status=", "status=Lost", "status=Ended&status=Ended"].map((query) => {
      return { target: `/renewals?${query}`, fields: ["status"] };
    }),
  },
  "GET /hostingaccounts": {
    invalid_paging_request: wrongPaging.map((query) => ({ target: `/hostingaccounts?${query}` })),
  },
  "GET /hostingaccounts/:identifier": {
    hostingaccount_invalid_identifier: ["nobodys.example", "", "%00", "-", "x".repeat(300), "%2e%2e"].map(
      (identifier) => {
        return { target: `/hostingaccounts/${identifier}` };
      },
    ),
  },
  "DELETE /hostingaccounts/:identifier": { hostingaccount_invalid_identifier: notOwn("") },
  "GET /hostingaccounts/:identifier/history": { hostingaccount_invalid_identifier: notOwn("/history") },
  "PUT /hostingaccounts/:identifier/password": {
    bad_request: [
      { target: "/hostingaccounts/failed.example/password", says: /empty/ },
      { target: "/hostingaccounts/failed.example/password", body: "{}", fields: ["password"] },
      { target: "/hostingaccounts/failed.example/password", body: { password: "short" }, fields: ["password"] },
    ],
    hostingaccount_invalid_identifier: notOwn("/password", { password: goodAccount.password }),
    hostingaccount_not_changeable: [
      { target: "/hostingaccounts/failed.example/password", body: { password: goodAccount.password } },
      { target: "/hostingaccounts/leaving.example/password", body: { password: goodAccount.password } },
    ],
  },
  "POST /hostingaccounts": {
    missing_reseller: [create({}, { as: plain })],
    missing_reseller_profile: [create({}, { as: incomplete })],
    bad_request: [
      { target: "/hostingaccounts", says: /empty/ },
      { target: "/hostingaccounts", body: "[]" },
      { target: "/hostingaccounts", body: "{}", fields: ["servicepack_id", "identifier", "password"] },
      create(
        { servicepack_id: 14490, identifier: [], password: null },
        {
          fields: ["servicepack_id", "identifier", "password"],
        },
      ),
      ...["www", "a.localhost", "127.0.0.1", "panel.deedhouse.test"].map((identifier) => {
        return create({ identifier }, { fields: ["identifier"] });
      }),
      create({ password: "short" }, { fields: ["password"] }),
    ],
    invalid_service_pack: ["0", "", "1", "x", "9".repeat(40), unofferedPack, retiredPack, `0${pack}`].map((id) => {
      return create({ servicepack_id: id });
    }),
    hosting_already_exist: [create({ identifier: "exists.example" }), create({ identifier: "Exists.EXAMPLE." })],
    service_unavailable: [],
  },
  "GET /hostingaccounts/:identifier/hosts": {
    hostingaccount_invalid_identifier: foreignAccounts.map((identifier) => {
      return { target: `/hostingaccounts/${identifier}/hosts` };
    }),
  },
  "GET /hostingaccounts/:identifier/hosts/:host_name": hostNameErrors,
  "PUT /hostingaccounts/:identifier/hosts/:host_name": {
    hostingaccount_invalid_identifier: hostNameErrors.hostingaccount_invalid_identifier,
    bad_request: ["www", "a.localhost", "127.0.0.1", "panel.deedhouse.test", "%00", ""].map((host) => {
      return { as: rival, target: `/hostingaccounts/exists.example/hosts/${host}`, fields: ["host_name"] };
    }),
    host_name_not_available: ["own.example", "www.own.example"].map((host) => {
      return { as: rival, target: `/hostingaccounts/exists.example/hosts/${host}` };
    }),
  },
  "DELETE /hostingaccounts/:identifier/hosts/:host_name": hostNameErrors,
  "GET /servicepacks": {},
};

const setRegistry = (assignment: string) =>
  runSql(gateway.databaseUrl, `UPDATE registries SET ${assignment} WHERE id = 'sandbox'`);

const setRenewal = (assignment: string) =>
  runSql(gateway.databaseUrl, `UPDATE renewals SET ${assignment}, next_step_at = 'infinity'`);

async function everythingStored(): Promise<unknown> {
  const [row] = await runSql(
    gateway.databaseUrl,
    `SELECT (SELECT json_agg(o) FROM registration_orders AS o) AS orders, (SELECT count(*) FROM order_history) AS history,
       (SELECT json_agg(d) FROM domains AS d) AS domains, (SELECT count(*) FROM domain_history) AS domain_history, (SELECT json_agg(a) FROM hosting_accounts AS a) AS accounts,
       (SELECT count(*) FROM committed_requests) AS answers`,
  );
  return row;
}

await runSql(
  gateway.databaseUrl,
  `INSERT INTO hosting_accounts (identifier, reseller_id, servicepack_id, password_hash_sealed, disk_quota_bytes,
     files_max, ftp_sessions_max, status, applied_version, created_at, updated_at)
   VALUES ('exists.example', ${rival.id}, ${pack}, '', 1, 1, 1, 'Ready', 1, now(), now()),
     ('failed.example', ${reseller.id}, ${pack}, '', 1, 1, 1, 'Failed', 1, now(), now()),
     ('leaving.example', ${reseller.id}, ${pack}, '', 1, 1, 1, 'Ready', 1, now(), now())`,
);
await runSql(
  gateway.databaseUrl,
  "UPDATE hosting_accounts SET removal_requested_at = now() WHERE identifier = 'leaving.example'",
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
   SELECT 'own.example', ${reseller.id}, 'sandbox', now(), now(), now(), true, 'ok', id FROM renewal`,
);

for (const { method, path, useCase } of routes) {
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
      for (const { as = reseller, target, body, says, fields, arrange, tidy } of requests) {
        await arrange?.();
        const before = await everythingStored();
        const reply = await gateway.send(as, method, target, { body });
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
