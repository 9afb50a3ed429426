import { statement } from "#db/statement.ts";
import { waitForNotification } from "#db/wait.ts";
import { ApiError } from "#errors.ts";
import { liveThenNewest } from "#hosting/accounts/find-account.ts";
import {
  accountColumnNames,
  accountColumns,
  medianSeconds,
  presentAccount,
  shownAccounts,
} from "#hosting/accounts/present.ts";
import { canonicalForLookUp } from "#lib/host-identifier.ts";
import { checkAfter } from "#use-case/check-after.ts";
import { answerPage, pagedList } from "#use-case/paging.ts";
import type { UseCase } from "#use-case/use-case.ts";

const accountByIdentifier = statement(
  "hosting-account-by-identifier",
  `SELECT ${accountColumnNames}, CASE WHEN status = 'Provisioning' THEN ${medianSeconds} END AS median_seconds
   FROM ${shownAccounts} WHERE reseller_id = $reseller_id AND identifier = $identifier AND status <> 'Removed'
   ORDER BY ${liveThenNewest} LIMIT 1`,
  { ...accountColumns, median_seconds: "int4?" },
);

/** GET /hostingaccounts/<identifier>; `Prefer: wait=N` holds the answer until the status changes. */
export const readHostingAccount: UseCase = {
  errors: ["hostingaccount_invalid_identifier"],
  scope: "hosting:read",

  async handle(context, request) {
    const identifier = canonicalForLookUp(request.params.identifier ?? "");
    const values = { reseller_id: request.caller.resellerId, identifier };
    const read = async () => {
      const [account] = await context.database.point(accountByIdentifier, values);
      if (!account) throw new ApiError("hostingaccount_invalid_identifier");
      return account;
    };
    let account = await read();
    if (request.waitSeconds > 0 && account.status === "Provisioning") {
      account = await waitForNotification(context, "account_changed", identifier, {
        read,
        isAwaited: (now) => now.status !== "Provisioning",
        waitMs: request.waitSeconds * 1000,
        signal: request.signal(),
      });
    }
    const elapsedSeconds = (context.clock.now().getTime() - account.created_at.getTime()) / 1000;
    return {
      status: 200,
      ...(account.median_seconds !== null && {
        headers: { "check-after": checkAfter(account.median_seconds - elapsedSeconds) },
      }),
      body: presentAccount(context, account),
    };
  },
};

const listed = `FROM ${shownAccounts} WHERE status NOT IN ('Failed', 'Removed')`;
const accounts = pagedList("hosting", "identifier", listed, accountColumns);

/** GET /hostingaccounts: the caller's accounts by identifier, paged. Failed ones are read one by one. */
export const listHostingAccounts: UseCase = {
  errors: ["invalid_paging_request"],
  scope: "hosting:read",
  handle: (context, request) =>
    answerPage(context, request, accounts, "/hostingaccounts", (row) => presentAccount(context, row)),
};
