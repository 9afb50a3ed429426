import { accountColumns, presentAccount, shownAccounts } from "#hosting/accounts/present.ts";
import { answerPage, pagedList } from "#use-case/paging.ts";
import type { UseCase } from "#use-case/use-case.ts";

const listed = `FROM ${shownAccounts} WHERE status NOT IN ('Failed', 'Removed')`;
const accounts = pagedList("hosting", "identifier", listed, accountColumns);

/** GET /hostingaccounts: the caller's accounts by identifier, paged; failed ones are read directly. */
export const listHostingAccounts: UseCase = {
  errors: ["invalid_paging_request"],
  scope: "hosting:read",
  handle: (context, request) =>
    answerPage(context, request, accounts, "/hostingaccounts", (row) => presentAccount(context, row)),
};
