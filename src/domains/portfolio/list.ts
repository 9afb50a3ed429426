import { domainColumns, presentDomain } from "#domains/portfolio/present.ts";
import { answerPage, pagedList } from "#use-case/paging.ts";
import type { UseCase } from "#use-case/use-case.ts";

const portfolio = pagedList("domains", "domain_name", "FROM domains WHERE true", domainColumns);

/** GET /domains: the caller's portfolio by name, paged. */
export const listDomains: UseCase = {
  errors: ["invalid_paging_request"],
  scope: "domains:read",
  handle: (context, request) => answerPage(context, request, portfolio, "/domains", presentDomain),
};
