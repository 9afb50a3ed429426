/** The requests that provoke the errors of /v2, on the stage of errors.test.ts. */
import type { ErrorCode } from "#errors.ts";
import type { TestReseller } from "../harness/gateway.ts";
import type { Scenario, Scenarios } from "./scenario.ts";

/** What a registration and a renewal answer behind one door, they answer behind the other. */
const underV2 = (errors: Partial<Record<ErrorCode, Scenario[]>> | undefined) =>
  Object.fromEntries(
    Object.entries(errors ?? {}).map(([code, requests]) => [
      code,
      requests.map((scenario) => ({ ...scenario, target: `/v2${scenario.target}` })),
    ]),
  );
const notOwnHosting = (path: string, body?: unknown): Scenario[] =>
  ["nobodys.example", "exists.example", "-"].map((name) => ({ target: `/v2/linuxhostings/${name}${path}`, body }));
const ftpOf = (identifier: string) => `/v2/linuxhostings/${identifier}/ftp/configuration`;

interface Stage {
  packs: { offered: string; unoffered: string; retired: string };
  rival: TestReseller;
  /** No reseller. */
  plain: TestReseller;
  /** Without a profile. */
  incomplete: TestReseller;
  wrongPaging: readonly string[];
  v1: Scenarios;
}

export function v2Scenarios(stage: Stage): Scenarios {
  return { ...domainScenarios(stage), ...accountScenarios(stage), ...hostingScenarios(stage) };
}

const domainScenarios = ({ rival, v1 }: Stage): Scenarios => ({
  "GET /v2/domains": underV2(v1["GET /domains"]),
  "GET /v2/domains/:domain_name": {
    invalid_request: [{ target: "/v2/domains/" }, { target: "/v2/domains/?x=1" }],
    domain_not_valid: [{ target: "/v2/domains/-a.example" }, { target: "/v2/domains/example" }],
    domain_not_found: [{ target: "/v2/domains/nobodys.example" }, { as: rival, target: "/v2/domains/own.example" }],
  },
  "POST /v2/domains/registrations": underV2(v1["POST /domains/registrations"]),
  "PUT /v2/domains/:domain_name/renew": underV2(v1["PUT /domains/:domain_name/renew"]),
  "PUT /v2/domains/:domain_name/nameservers": underV2(v1["PUT /domains/:domain_name/nameservers"]),
  "GET /v2/provisioningjobs/:job_id": {
    bad_request: [
      ...["", "x", "0a1b2c3d-0000-4000-8000-000000000000"],
      ...["01000000-0000-8000-80ff-ffffffffffff", "02000000-0000-8000-80ff-ffffffffffff"],
    ].map((id) => ({ target: `/v2/provisioningjobs/${id}`, fields: ["job_id"] })),
    order_not_found: ["01000000-0000-8000-8000-000000000000", "02000000-0000-8000-8000-000000000001"].map((id) => {
      return { target: `/v2/provisioningjobs/${id}` };
    }),
  },
});

const accountScenarios = ({ packs, plain, incomplete, wrongPaging }: Stage): Scenarios => {
  const create = (change: Record<string, unknown>, more: Partial<Scenario> = {}): Scenario => {
    const body = { servicepack_id: Number(packs.offered), identifier: "fresh.example", ...change };
    return { target: "/v2/accounts", body, ...more };
  };
  return {
    "GET /v2/servicepacks": {},
    "GET /v2/accounts": {
      invalid_paging_request: ["", "asset_type=domain&", "identifier=own.example&"].flatMap((filter) =>
        wrongPaging.map((query) => ({ target: `/v2/accounts?${filter}${query}` })),
      ),
      bad_request: [
        { target: "/v2/accounts?asset_type=windows_hosting", fields: ["asset_type"] },
        { target: "/v2/accounts?asset_type=", fields: ["asset_type"] },
        { target: "/v2/accounts?identifier=a.example&identifier=b.example", fields: ["identifier"] },
      ],
    },
    "POST /v2/accounts": {
      missing_reseller: [create({}, { as: plain })],
      missing_reseller_profile: [create({}, { as: incomplete })],
      bad_request: [
        { target: "/v2/accounts/", says: /empty/ },
        { target: "/v2/accounts", body: "{}", fields: ["servicepack_id", "identifier"] },
        ...[1.5, null, true, [], 1e300].map((id) => create({ servicepack_id: id }, { fields: ["servicepack_id"] })),
        create({ identifier: "www" }, { fields: ["identifier"] }),
        create({ ftp_password: "short" }, { fields: ["ftp_password"] }),
        create({ ftp_password: "" }, { fields: ["ftp_password"] }),
      ],
      invalid_service_pack: [0, -1, 1, "", "x", Number(packs.unoffered), packs.retired].map((id) => {
        return create({ servicepack_id: id });
      }),
      hosting_already_exist: [create({ identifier: "exists.example" }), create({ identifier: "Exists.EXAMPLE." })],
      service_unavailable: [],
    },
    "GET /v2/accounts/:account_id": {
      hostingaccount_invalid_identifier: ["0", "x", "99999999999999", "9".repeat(40), "%00"].map((id) => {
        return { target: `/v2/accounts/${id}` };
      }),
    },
  };
};

const hostingScenarios = ({ rival, wrongPaging }: Stage): Scenarios => ({
  "GET /v2/linuxhostings": underV2({
    invalid_paging_request: wrongPaging.map((query) => ({ target: `/linuxhostings?${query}` })),
  }),
  "GET /v2/linuxhostings/:identifier": { hostingaccount_invalid_identifier: notOwnHosting("") },
  "PUT /v2/linuxhostings/:identifier/ftp/configuration": {
    bad_request: [
      { target: ftpOf("exists.example"), says: /empty/ },
      { target: ftpOf("exists.example"), body: { enabled: "true" }, fields: ["enabled"] },
      { as: rival, target: ftpOf("exists.example"), body: { enabled: true }, says: /no password/, fields: ["enabled"] },
    ],
    hostingaccount_invalid_identifier: notOwnHosting("/ftp/configuration", { enabled: false }),
    hostingaccount_not_changeable: ["failed.example", "leaving.example"].map((identifier) => {
      return { target: ftpOf(identifier), body: { enabled: false } };
    }),
  },
});
