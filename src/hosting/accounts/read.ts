import { statement } from "#db/statement.ts";
import { waitForNotification } from "#db/wait.ts";
import { ApiError } from "#errors.ts";
import { newestFirst } from "#hosting/accounts/own-account.ts";
import {
  accountColumnNames,
  accountColumns,
  medianSeconds,
  presentAccount,
  shownAccounts,
} from "#hosting/accounts/present.ts";
import { canonicalForLookUp } from "#hosting/host-names/host-names.ts";
import { checkAfter } from "#use-case/check-after.ts";
import type { UseCase } from "#use-case/use-case.ts";

// A failed identifier is free for anyone, so the caller may have a live account and failed ones before it.
const accountByIdentifier = statement(
  "hosting-account-by-identifier",
  `SELECT ${accountColumnNames}, CASE WHEN status = 'Provisioning' THEN ${medianSeconds} END AS median_seconds
   FROM ${shownAccounts} WHERE reseller_id = $1 AND identifier = $2 AND status <> 'Removed'
   ORDER BY ${newestFirst} LIMIT 1`,
  { ...accountColumns, median_seconds: "int4?" },
);

/** GET /hostingaccounts/<identifier>; `Prefer: wait=N` holds the answer until the status changes. */
export const readHostingAccount: UseCase = {
  errors: ["hostingaccount_invalid_identifier"],
  scope: "hosting:read",

  async handle(context, request) {
    const identifier = canonicalForLookUp(request.params.identifier ?? "");
    const read = async () => {
      const [account] = await context.database.point(accountByIdentifier, [request.caller.resellerId, identifier]);
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
