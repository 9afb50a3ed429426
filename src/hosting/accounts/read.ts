import Type, { type Static, type TSchema } from "typebox";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { waitForNotification } from "#db/wait.ts";
import { ApiError } from "#errors.ts";
import { liveThenNewest } from "#hosting/accounts/find-account.ts";
import {
  type AccountRow,
  accountColumns,
  accountDetails,
  accountShape,
  medianSeconds,
  presentAccount,
  shownAccounts,
} from "#hosting/accounts/present.ts";
import { canonicalForLookUp } from "#lib/host-identifier.ts";
import { checkAfter } from "#use-case/check-after.ts";
import { pageOf, pagingQuery } from "#use-case/docs.ts";
import { answerPage, pagedList } from "#use-case/paging.ts";
import type { UseCase, UseCaseRequest } from "#use-case/use-case.ts";
import { waitApplied } from "#use-case/wait-applied.ts";

const accountDetailNames = Object.keys(accountDetails).join(", ");

const accountByIdentifier = statement(
  "hosting-account-by-identifier",
  `SELECT ${accountDetailNames}, CASE WHEN status = 'Provisioning' THEN ${medianSeconds} END AS median_seconds
   FROM ${shownAccounts} WHERE reseller_id = $reseller_id AND identifier = $identifier AND status <> 'Removed'
   ORDER BY ${liveThenNewest} LIMIT 1`,
  { ...accountDetails, median_seconds: "int4?" },
);

export type AccountDetails = NonNullable<(typeof accountByIdentifier)["row"]>;

const isBeingCreated = ({ status }: AccountDetails) => status === "Provisioning";

/**
 * The account that `find` reads, once nothing is underway if the request waits for that.
 * @returns with the seconds until it is usually ready; undefined when it is not being created
 * @throws ApiError `hostingaccount_invalid_identifier`
 */
export async function followAccount(
  context: Context,
  request: UseCaseRequest,
  find: () => Promise<readonly AccountDetails[]>,
  isUnderway: (account: AccountDetails) => boolean = isBeingCreated,
) {
  const read = async () => {
    const [account] = await find();
    if (!account) throw new ApiError("hostingaccount_invalid_identifier");
    return account;
  };
  let account = await read();
  if (request.waitSeconds > 0 && isUnderway(account)) {
    account = await waitForNotification(context, "account_changed", account.identifier, {
      read,
      isAwaited: (now) => !isUnderway(now),
      waitMs: request.waitSeconds * 1000,
      signal: request.signal(),
    });
  }
  const elapsedSeconds = (context.clock.now().getTime() - account.created_at.getTime()) / 1000;
  return {
    account,
    secondsLeft: account.median_seconds === null ? undefined : account.median_seconds - elapsedSeconds,
  };
}

const accountById = statement(
  "hosting-account-by-number",
  `SELECT ${accountDetailNames}, CASE WHEN status = 'Provisioning' THEN ${medianSeconds} END AS median_seconds
   FROM ${shownAccounts} WHERE reseller_id = $reseller_id AND id = $id`,
  { ...accountDetails, median_seconds: "int4?" },
);

/** The caller's account, also one that is removed. */
export const findAccountById = ({ database }: Context, { caller }: UseCaseRequest, id: number) =>
  database.point(accountById, { reseller_id: caller.resellerId, id });

/** Reads the caller's account with the identifier in the path; `Prefer: wait=N` holds the answer until no change is pending. */
export const accountReader = <Shape extends TSchema>(
  operation: string,
  shape: Shape,
  present: (context: Context, account: AccountDetails) => Static<Shape>,
): UseCase => ({
  errors: ["hostingaccount_invalid_identifier"],
  scope: "hosting:read",
  docs: {
    operation,
    summary: "Reads a hosting account, as soon as its creation is answered.",
    description: "`Prefer: wait=N` holds the answer while it is being created, or a change is pending.",
    answers: {
      200: { description: "The account.", body: shape, headers: ["look-again?", "preference-applied?"] },
    },
  },

  async handle(context, request) {
    const identifier = canonicalForLookUp(request.params.identifier ?? "");
    const values = { reseller_id: request.caller.resellerId, identifier };
    const { account, secondsLeft } = await followAccount(
      context,
      request,
      () => context.database.point(accountByIdentifier, values),
      (now) => isBeingCreated(now) || now.changes_pending,
    );
    return {
      status: 200,
      headers: {
        ...waitApplied(request),
        ...(secondsLeft !== undefined && { [request.door.lookAgainHeader]: checkAfter(secondsLeft) }),
      },
      body: present(context, account),
    };
  },
});

/** GET /hostingaccounts/<identifier> */
export const readHostingAccount = accountReader("readHostingAccount", accountShape, presentAccount);

/** SQL: the accounts that lists show. */
export const listedAccounts = `FROM ${shownAccounts} WHERE status NOT IN ('Failed', 'Removed')`;
const accounts = pagedList("hosting", "identifier", listedAccounts, accountColumns);

/**
 * Lists the caller's accounts by identifier, paged. Failed ones are read one by one.
 * @param path of the list, below the request's prefix
 */
export const accountsLister = <Shape extends TSchema>(
  operation: string,
  path: string,
  shape: Shape,
  present: (context: Context, row: AccountRow) => Static<Shape>,
): UseCase => ({
  errors: ["invalid_paging_request"],
  scope: "hosting:read",
  docs: {
    operation,
    summary: "Lists your hosting accounts by identifier, without failed ones.",
    query: Type.Object(pagingQuery),
    answers: { 200: pageOf(shape) },
  },
  handle: (context, request) => answerPage(context, request, accounts, path, (row) => present(context, row)),
});

/** GET /hostingaccounts */
export const listHostingAccounts = accountsLister(
  "listHostingAccounts",
  "/hostingaccounts",
  accountShape,
  presentAccount,
);
