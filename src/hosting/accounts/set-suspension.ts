import Type from "typebox";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { ApiError, invalidField } from "#errors.ts";
import { requestChange } from "#hosting/accounts/accounts.ts";
import { getCallersAccount } from "#hosting/accounts/find-account.ts";
import { parseBody } from "#use-case/body.ts";
import type { UseCase } from "#use-case/use-case.ts";

const reasonCharsMax = 200;

const requestBody = Type.Object({
  suspended: Type.Boolean({ examples: [true] }),
  reason: Type.Optional(
    Type.String({
      maxLength: reasonCharsMax,
      description: "With `suspended: true`: why, in one line. You and the operator read it.",
      examples: ["invoice 4711 is unpaid"],
    }),
  ),
});

const lockSuspensions = statement(
  "hosting-account-lock-suspensions",
  `SELECT suspended_at, reseller_suspended_at, reseller_suspended_reason FROM hosting_accounts WHERE id = $id FOR UPDATE`,
  { suspended_at: "timestamptz?", reseller_suspended_at: "timestamptz?", reseller_suspended_reason: "text?" },
);

const setResellersSuspension = statement(
  "hosting-account-reseller-suspended",
  `UPDATE hosting_accounts SET reseller_suspended_at = $suspended_at, reseller_suspended_reason = $reason WHERE id = $id`,
  {},
);

const notYet = "This account is still being created. Suspend it once it is Ready.";

/**
 * PUT /hostingaccounts/<identifier>/suspension: 202. The caller's suspension is independent of the operator's: the account is
 * served only while neither holds, and each of them lifts only the suspension that they made.
 */
export const setHostingSuspension: UseCase = {
  errors: [
    "bad_request",
    "hostingaccount_invalid_identifier",
    "hostingaccount_not_changeable",
    "hostingaccount_suspended_by_operator",
  ],
  scope: "hosting:update",
  docs: {
    operation: "setHostingSuspension",
    summary: "Suspends a hosting account, or lifts your suspension.",
    description:
      "Within seconds FTP logins are refused, open FTP sessions are closed and the site answers 503. Nothing is deleted. " +
      "`changes_pending` of the account is false once it is so.",
    body: requestBody,
    answers: { 202: { description: "It is being applied; a repeat changes nothing.", headers: ["location"] } },
  },

  async handle(context, request) {
    const { suspended, reason } = parseSuspension(request.rawBody);
    return context.database.transaction(async (tx) => {
      const { id, identifier, status, removal_requested_at } = await getCallersAccount(tx, request);
      if (status === "Failed" || removal_requested_at) throw new ApiError("hostingaccount_not_changeable");
      const before = await lock(tx, id);
      if (!suspended && before.reseller_suspended_at === null && before.suspended_at !== null) {
        throw new ApiError("hostingaccount_suspended_by_operator");
      }
      const isAsBefore =
        suspended === (before.reseller_suspended_at !== null) && reason === before.reseller_suspended_reason;
      if (!isAsBefore) {
        const change = suspended ? "reseller-suspend-wanted" : "reseller-resume-wanted";
        const note = [`by key ${request.caller.keyId}`, ...(reason === null ? [] : [reason])].join(": ");
        const isAccepted = await requestChange(context, tx, id, change, note);
        if (!isAccepted) throw new ApiError("hostingaccount_not_changeable", { text: notYet });
        const since = before.reseller_suspended_at ?? context.clock.now();
        await tx.query(setResellersSuspension, { id, suspended_at: suspended ? since : null, reason });
      }
      const answer = { status: 202, headers: { location: `${request.prefix}/hostingaccounts/${identifier}` } };
      await request.commit(tx, answer);
      return answer;
    });
  },
};

/** @returns without a reason that says nothing: panels send an empty text for none */
function parseSuspension(rawBody: Buffer): { suspended: boolean; reason: string | null } {
  const { suspended, reason = "" } = parseBody(requestBody, rawBody);
  const text = reason.trim();
  if (/\p{C}/u.test(text)) throw invalidField("reason", "Give one line, without control characters.");
  if (!suspended && text !== "") throw invalidField("reason", "Leave it out: it belongs to a suspension.");
  return { suspended, reason: text === "" ? null : text };
}

async function lock(tx: Pick<Transaction, "query">, id: number) {
  const [account] = await tx.query(lockSuspensions, { id });
  if (!account) throw new Error("the account's row is gone");
  return account;
}
