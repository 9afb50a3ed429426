import { statement } from "#db/statement.ts";
import { domainColumns, presentDomain } from "#domains/portfolio/present.ts";
import { ApiError } from "#errors.ts";
import { InvalidDomainName, parseDomainName } from "#lib/domain-name.ts";
import type { UseCase } from "#use-case/use-case.ts";

const domainByName = statement(
  "domain-by-name",
  `SELECT domain_name, expiration_date, will_renew, registration_date, status, name_servers
   FROM domains WHERE reseller_id = $reseller_id AND domain_name = $name`,
  domainColumns,
);

/** GET /domains/<domain_name>: one database query. */
export const readDomain: UseCase = {
  errors: ["invalid_request", "domain_not_valid", "domain_not_found"],
  scope: "domains:read",

  async handle(context, request) {
    const text = request.params.domain_name ?? "";
    if (text === "") throw new ApiError("invalid_request");
    const name = parsePathName(text);
    const [domain] = await context.database.point(domainByName, { reseller_id: request.caller.resellerId, name });
    if (!domain) throw new ApiError("domain_not_found");
    return { status: 200, body: presentDomain(domain) };
  },
};

/** The name in a path. @throws ApiError `domain_not_valid` */
export function parsePathName(text: string): string {
  try {
    return parseDomainName(text);
  } catch (error) {
    if (!(error instanceof InvalidDomainName)) throw error;
    throw new ApiError("domain_not_valid", { text: `This is not a valid domain name: ${error.message}` });
  }
}
