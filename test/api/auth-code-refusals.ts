/** Requests for auth codes that are refused because of the name's registry or statuses. */
import type { TestGateway, TestReseller } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { runSql } from "../harness/sql.ts";

export const registriesWithoutCodes = [
  { id: "young", suffixes: ["young"], profile: { transferProhibitedDays: 60 } },
  { id: "mailing", suffixes: ["mailing"], profile: { authInfo: "registry" as const } },
  { id: "open", suffixes: ["open"], profile: { authInfo: "none" as const } },
];

/** Gives the reseller a name, registered now, at each of these registries. */
export async function insertNamesWithoutCodes({ databaseUrl }: TestGateway, reseller: TestReseller): Promise<void> {
  const domains = registriesWithoutCodes.map(({ id }) => ({
    name: `own.${id}`,
    registryId: id,
    expiresAt: "2099-01-01",
  }));
  await insertDomains(databaseUrl, reseller, domains);
}

/** By code. */
export function authCodeRefusals({ databaseUrl }: TestGateway) {
  const setStatuses = (statuses: string) =>
    runSql(databaseUrl, "UPDATE domains SET statuses = $1 WHERE domain_name = 'own.example'", [statuses]);
  const of = (name: string, says: RegExp) => ({ target: `/domains/${name}/auth-code`, says });
  const ofStatus = (status: string, says: RegExp) => {
    const target = "/domains/own.example/auth-code";
    return { target, says, arrange: () => setStatuses(`{${status}}`), tidy: () => setStatuses("{}") };
  };
  return {
    auth_code_not_issued: [of("own.mailing", /registrant/), of("own.open", /without one/)],
    domain_locked: [ofStatus("clientTransferProhibited", /transfer-lock/)],
    domain_transfer_prohibited: [
      ofStatus("serverTransferProhibited", /serverTransferProhibited/),
      of("own.young", /before 20/),
    ],
  };
}
