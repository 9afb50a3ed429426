/** The requests that provoke the errors of hosting accounts. */
import type { TestReseller } from "../harness/gateway.ts";
import { type Scenario, type Scenarios, wrongPaging } from "./scenario.ts";

/** An account that can be created. @param servicepack_id of a pack that is on offer */
export const goodAccountWith = (servicepack_id: string) => ({
  servicepack_id,
  identifier: "fresh.example",
  password: "correct horse battery",
});

interface Given {
  rival: TestReseller;
  /** Of the kind that has no hosting. */
  plain: TestReseller;
  /** Without a profile. */
  incomplete: TestReseller;
  packs: { offered: string; unoffered: string; retired: string };
}

export function hostingScenarios({ rival, plain, incomplete, packs }: Given): Scenarios {
  const { offered: pack, unoffered: unofferedPack, retired: retiredPack } = packs;
  const goodAccount = goodAccountWith(pack);
  const create = (change: Record<string, unknown>, more: Partial<Scenario> = {}): Scenario => {
    return { target: "/hostingaccounts", body: { ...goodAccount, ...change }, ...more };
  };
  /** An unknown one, and a rival's. */
  const notOwn = (path: string, body?: unknown): Scenario[] =>
    ["nobodys.example", "exists.example", "-"].map((name) => ({ target: `/hostingaccounts/${name}${path}`, body }));

  return {
    "GET /servicepacks": {},
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
    "PUT /hostingaccounts/:identifier/suspension": suspensionErrors(notOwn),
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
            fields: ["password", "servicepack_id", "identifier"],
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
    ...hostNameScenarios(rival),
  };
}

function suspensionErrors(notOwn: (path: string, body: unknown) => Scenario[]): Scenarios[string] {
  const put = (identifier: string, body: unknown, more: Partial<Scenario> = {}): Scenario => {
    return { target: `/hostingaccounts/${identifier}/suspension`, body, ...more };
  };
  return {
    bad_request: [
      put("suspended.example", undefined, { says: /empty/ }),
      put("suspended.example", "{}", { fields: ["suspended"] }),
      put("suspended.example", { suspended: "yes" }, { fields: ["suspended"] }),
      ...["x".repeat(201), "two\nlines", "\u001b[2J", "\0", 7].map((reason) => {
        return put("suspended.example", { suspended: true, reason }, { fields: ["reason"] });
      }),
      put("suspended.example", { suspended: false, reason: "paid" }, { fields: ["reason"] }),
    ],
    hostingaccount_invalid_identifier: notOwn("/suspension", { suspended: true }),
    hostingaccount_not_changeable: ["failed.example", "leaving.example"].map((name) => put(name, { suspended: true })),
    hostingaccount_suspended_by_operator: [
      put("suspended.example", { suspended: false }, { says: /only the operator can resume it: ask them/ }),
    ],
  };
}

function hostNameScenarios(rival: TestReseller): Scenarios {
  const foreignAccounts = ["nobodys.example", "exists.example", "", "%00", "%2e%2e"];
  const hostNameErrors = {
    hostingaccount_invalid_identifier: foreignAccounts.map((identifier) => {
      return { target: `/hostingaccounts/${identifier}/hosts/www.own.example` };
    }),
    host_name_not_found: ["www.own.example", "-", "", "%00"].map((host) => {
      return { as: rival, target: `/hostingaccounts/exists.example/hosts/${host}` };
    }),
  };

  return {
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
  };
}
