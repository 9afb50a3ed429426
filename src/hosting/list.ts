import { answerPage, pagedList } from "#api/paging.ts";
import type { UseCase } from "#api/use-case.ts";
import { accountColumns, presentAccount } from "#hosting/present.ts";

const accounts = pagedList("hosting", "identifier", "FROM hosting_accounts WHERE status <> 'Failed'", accountColumns);

/** GET /hostingaccounts: the caller's accounts by identifier, paged; failed ones are read directly. */
export const listHostingAccounts: UseCase = {
  errors: ["invalid_paging_request"],
  scope: "hosting:read",
  handle: (context, request) =>
    answerPage(context, request, accounts, "/hostingaccounts", (row) => presentAccount(context, row)),
};
