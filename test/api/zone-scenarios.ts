/** The requests that provoke the errors of zones and records, on the stage of errors.test.ts. */
import type { ErrorCode } from "#errors.ts";
import type { TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { type Scenario, type Scenarios, wrongPaging } from "./scenario.ts";

/** For the gateway's context. */
export const zones = {
  nameServers: ["ns1.dns.test"],
  hostmaster: "hostmaster.dns.test",
  host: "127.0.0.1",
  port: 1,
};

/** Names of the reseller: with a zone, without one, with a zone that is delegated or leaves, and with DS records. */
export async function insertZones(url: string, { id }: TestReseller): Promise<void> {
  const delegation = JSON.stringify([{ name: "ns1.dns.test" }]);
  await runSql(
    url,
    `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date, will_renew,
       status, delegation, dnssec)
     SELECT name, $1, 'sandbox', now(), '2099-01-01', '2099-01-01', true, 'ok', delegation::jsonb, dnssec::jsonb
     FROM (VALUES ('zoned.example', $2, NULL), ('bare.example', '[]', NULL), ('zone-left.example', $2, NULL),
       ('signed.example', '[]', '{"ds": [{"keyTag": 1}]}')) AS named (name, delegation, dnssec)`,
    [id, delegation],
  );
  await runSql(
    url,
    `INSERT INTO zone_sets (zone_id, owner, type, source, ttl, records, ids, updated_at)
     SELECT id, 'www', 'A', 'hosting', 300, '{192.0.2.80}', '{14}', now() FROM zones WHERE domain_name = 'zoned.example'`,
  );
  await runSql(
    url,
    "UPDATE zones SET state = 'Leaving', ends_at = now() + interval '1 year' WHERE domain_name = 'zone-left.example'",
  );
}

interface Stage {
  rival: TestReseller;
}

const www = { subname: "www", type: "A", records: ["192.0.2.1"] };
const changed = { headers: { "if-match": '"99"' } };

/** What every call about a zone refuses. */
const reading = ({ rival }: Stage, path: string, body?: unknown, prefix = "/domains"): Scenarios[string] => ({
  domain_not_valid: [{ target: `${prefix}/-a.example/${path}`, body }],
  domain_not_found: [
    { target: `${prefix}/nobodys.example/${path}`, body },
    { as: rival, target: `${prefix}/zoned.example/${path}`, body },
  ],
  zone_not_found: [{ target: `${prefix}/bare.example/${path}`, body }],
});

/** What every change of records refuses. @param mistakes paths or bodies that are wrong */
const changing = (
  stage: Stage,
  path: string,
  body: unknown,
  mistakes: Scenario[],
  prefix = "/domains",
): Scenarios[string] => ({
  ...reading(stage, path, body, prefix),
  bad_request: mistakes,
  zone_leaving: [{ target: `${prefix}/zone-left.example/${path}`, body }],
  zone_changed: [{ target: `${prefix}/zoned.example/${path}`, body, ...changed }],
});

const own = (path: string, body?: unknown, fields?: string[]): Scenario => ({
  target: `/domains/zoned.example/${path}`,
  body,
  ...(fields && { fields }),
});
const ownRecord = (id: string, body?: unknown): Scenario => ({ target: `/v2/dns/zoned.example/records/${id}`, body });

/** Without the codes that a call does not have. */
const except = (scenarios: Scenarios[string], ...codes: ErrorCode[]): Scenarios[string] =>
  Object.fromEntries(Object.entries(scenarios).filter(([code]) => !codes.includes(code as ErrorCode)));

export const zoneScenarios = (stage: Stage): Scenarios => ({
  ...wholeZones(stage),
  ...sets(stage),
  ...laterForm(stage),
});

const wholeZones = (stage: Stage): Scenarios => ({
  "GET /domains/:domain_name/dns": reading(stage, "dns"),
  "PUT /domains/:domain_name/dns": {
    ...except(changing(stage, "dns", {}, []), "zone_not_found"),
    zone_not_found: [{ target: "/domains/bare.example/dns", body: { restore: true } }],
    bad_request: [
      { target: "/domains/bare.example/dns", body: { sets: 1 }, fields: ["sets"] },
      { target: "/domains/bare.example/dns", body: { delegate: "yes" }, fields: ["delegate"] },
      { target: "/domains/bare.example/dns", body: { sets: [{ ...www, type: "SOA" }] }, fields: ["sets/0/type"] },
      { target: "/domains/bare.example/dns", body: { sets: [], restore: true }, fields: ["restore"] },
    ],
    zone_leaving: [{ target: "/domains/zone-left.example/dns", body: { delegate: true } }],
    zone_exists: [own("dns", {}), own("dns", { sets: [www], delegate: true }), own("dns", { restore: true })],
    domain_has_ds: [{ target: "/domains/signed.example/dns", body: { delegate: true } }],
    dns_not_offered: [
      {
        target: "/domains/bare.example/dns",
        body: {},
        arrange: async () => zones.nameServers.pop(),
        tidy: async () => zones.nameServers.push("ns1.dns.test"),
      },
    ],
  },
  "DELETE /domains/:domain_name/dns": {
    ...changing(stage, "dns?confirm=bare.example", undefined, [
      own("dns", undefined, ["confirm"]),
      own("dns?confirm=zone-left.example", undefined, ["confirm"]),
    ]),
    zone_delegated: [own("dns?confirm=zoned.example"), own("dns?confirm=zoned.example&force=false")],
  },
  "GET /domains/:domain_name/dns/changes": {
    ...reading(stage, "dns/changes"),
    invalid_paging_request: wrongPaging.map((query) => own(`dns/changes?${query}`)),
  },
  "GET /domains/:domain_name/dns/changes/:change_id": {
    ...reading(stage, "dns/changes/1"),
    zone_change_not_found: ["99", "x", "0"].map((id) => own(`dns/changes/${id}`)),
  },
});

const sets = (stage: Stage): Scenarios => ({
  "GET /domains/:domain_name/records": {
    ...reading(stage, "records"),
    invalid_paging_request: wrongPaging.map((query) => own(`records?${query}`)),
  },
  "PUT /domains/:domain_name/records": changing(
    stage,
    "records",
    [www],
    [
      { target: "/domains/zoned.example/records", says: /empty/ },
      own("records", {}, ["body"]),
      own("records", [www, www], ["1"]),
    ],
  ),
  "PATCH /domains/:domain_name/records": changing(
    stage,
    "records",
    [www],
    [
      { target: "/domains/zoned.example/records", says: /empty/ },
      own("records", [{ ...www, ttl: 1 }], ["0/ttl"]),
      own("records", [{ ...www, records: ["192.0.2.1", "x"] }], ["0/records/1"]),
      own("records?dry_run=perhaps", [www], ["dry_run"]),
    ],
  ),
  "GET /domains/:domain_name/records/:subname/:record_type": {
    ...reading(stage, "records/www/A"),
    record_not_found: [own("records/mail/A"), own("records/www/SOA"), own("records/-/A")],
  },
  "PUT /domains/:domain_name/records/:subname/:record_type": changing(
    stage,
    "records/www/A",
    { records: ["192.0.2.1"] },
    [
      own("records/www/A", {}, ["records"]),
      own("records/www/A", { records: [] }, ["records"]),
      own("records/@/NS", { records: ["ns1.dns.test"] }, ["type"]),
      own("records/a%20b/A", { records: ["192.0.2.1"] }, ["subname"]),
    ],
  ),
  "DELETE /domains/:domain_name/records/:subname/:record_type": {
    ...changing(stage, "records/mail/A", undefined, [own("records/mail/A?dry_run=1", undefined, ["dry_run"])]),
    record_not_found: [own("records/mail/A"), own("records/mail/SOA")],
    record_managed: [own("records/www/A")],
  },
});

const laterForm = (stage: Stage): Scenarios => ({
  "GET /v2/dns/:domain_name/records": {
    ...reading(stage, "records", undefined, "/v2/dns"),
    invalid_paging_request: wrongPaging.map((query) => ({ target: `/v2/dns/zoned.example/records?${query}` })),
  },
  "POST /v2/dns/:domain_name/records": changing(
    stage,
    "records",
    { type: "A", content: "192.0.2.1" },
    [
      { target: "/v2/dns/zoned.example/records", body: { type: "A" }, fields: ["content"] },
      { target: "/v2/dns/zoned.example/records", body: { type: "A", content: "x" }, fields: ["content"] },
      { target: "/v2/dns/zoned.example/records", body: { content: "x" }, fields: ["type"] },
    ],
    "/v2/dns",
  ),
  "GET /v2/dns/:domain_name/records/:record_id": {
    ...reading(stage, "records/1", undefined, "/v2/dns"),
    record_not_found: [ownRecord("99"), ownRecord("x")],
  },
  "PUT /v2/dns/:domain_name/records/:record_id": {
    ...changing(stage, "records/14", { content: "192.0.2.1" }, [ownRecord("14", { priority: -1 })], "/v2/dns"),
    record_not_found: [ownRecord("99", { content: "192.0.2.1" })],
    record_managed: [ownRecord("1", { content: "192.0.2.1" }), ownRecord("14", { content: "192.0.2.1" })],
  },
  "DELETE /v2/dns/:domain_name/records/:record_id": {
    ...except(changing(stage, "records/14", undefined, [], "/v2/dns"), "bad_request"),
    record_not_found: [ownRecord("99")],
    record_managed: [ownRecord("1"), ownRecord("14")],
  },
});
