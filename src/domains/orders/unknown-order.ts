import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { ApiError, unavailable } from "#errors.ts";

const commitsLost = statement(
  "order-commits-lost",
  "SELECT EXISTS (SELECT FROM alarms WHERE kind = 'commits-lost' AND resolved_at IS NULL) AS is_open",
  { is_open: "bool" },
);

const lookLaterSeconds = 300;

/**
 * The answer for a code that the caller has no order with. While commits are known to be lost it does not say so: a program that reads
 * 404 pays its customer back, perhaps for a name that the registry holds.
 */
export async function unknownOrder({ database }: Pick<Context, "database">): Promise<ApiError> {
  const [lost] = await database.query(commitsLost, {});
  return lost?.is_open ? unavailable(lookLaterSeconds) : new ApiError("order_not_found");
}
