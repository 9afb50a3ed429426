import { statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";
import { canonicalForLookUp, hostNameColumns, presentHostName } from "#hosting/host-names/host-names.ts";
import { checkAfter } from "#use-case/check-after.ts";
import type { UseCase } from "#use-case/use-case.ts";

const hostNameOfAccount = statement(
  "host-name-of-account",
  `SELECT host_name, proof, host.status, proven_by, reason, host.created_at, checked_at, next_check_at
   FROM hosting_accounts AS account LEFT JOIN host_names AS host ON host.account_id = account.id AND host_name = $3
   WHERE account.reseller_id = $1 AND account.identifier = $2 AND account.status NOT IN ('Failed', 'Removed')`,
  { ...hostNameColumns, host_name: "text?", proof: "text?", status: "text?", created_at: "timestamptz?" },
);

/** GET /hostingaccounts/<identifier>/hosts/<host_name>: the record to set, and how far it is. */
export const readHostName: UseCase = {
  errors: ["hostingaccount_invalid_identifier", "host_name_not_found"],
  scope: "hosting:read",

  async handle(context, request) {
    const names = [request.params.identifier ?? "", request.params.host_name ?? ""].map(canonicalForLookUp);
    const [row] = await context.database.point(hostNameOfAccount, [request.caller.resellerId, ...names]);
    if (!row) throw new ApiError("hostingaccount_invalid_identifier");
    if (row.host_name === null) throw new ApiError("host_name_not_found");
    const waitsMs = row.status === "Waiting" && row.next_check_at ? untilMs(row.next_check_at, context.clock.now()) : 0;
    return {
      status: 200,
      ...(waitsMs > 0 && { headers: { "check-after": checkAfter(waitsMs / 1000) } }),
      body: presentHostName(row),
    };
  },
};

/** A look that is due is under way. */
const untilMs = (next: Date, now: Date) => Math.max(1_000, next.getTime() - now.getTime());
