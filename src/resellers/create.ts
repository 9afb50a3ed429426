import type { Context } from "#context.ts";
import { isUniqueViolation } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { OperatorError } from "#operator-error.ts";

export const rateLimitDefault = 100;
const hostingAccountsMaxDefault = 1_000;
const hostingBytesMaxDefault = 1_000 * 1_000_000_000;

const insertReseller = statement(
  "reseller-insert",
  `INSERT INTO resellers (name, kind, rate_limit, hosting_accounts_max, hosting_bytes_max, created_at)
   VALUES ($1, $2, $3, $4, $5, $6) RETURNING id`,
  { id: "int8" },
);

const resellerByName = statement("reseller-by-name", "SELECT id FROM resellers WHERE name = $1", { id: "int8" });

const setRateLimit = statement("reseller-rate-limit", "UPDATE resellers SET rate_limit = $2 WHERE id = $1", {});

/** What the operator's use cases need: they run without an api or a worker. */
export type OperatorContext = Pick<Context, "database" | "clock" | "random" | "sealer">;

export interface NewReseller {
  name: string;
  /** Only a `reseller` may create hosting accounts. */
  kind: "reseller" | "plain";
  rateLimit?: number | undefined;
}

/** @throws OperatorError when the name is taken */
export async function createReseller(
  context: OperatorContext,
  { name, kind, rateLimit }: NewReseller,
): Promise<number> {
  const limits = [rateLimit ?? rateLimitDefault, hostingAccountsMaxDefault, hostingBytesMaxDefault];
  try {
    const [row] = await context.database.query(insertReseller, [name, kind, ...limits, context.clock.now()]);
    if (!row) throw new Error("the reseller was not inserted");
    return row.id;
  } catch (error) {
    if (isUniqueViolation(error)) {
      throw new OperatorError("refused", `there is an account named "${name}" already: choose another name`);
    }
    throw error;
  }
}

export async function findReseller(context: OperatorContext, name: string): Promise<number | undefined> {
  const [row] = await context.database.query(resellerByName, [name]);
  return row?.id;
}

/** @throws OperatorError that says how to find one, and how to make one */
export async function getReseller(context: OperatorContext, name: string): Promise<number> {
  const id = await findReseller(context, name);
  if (id === undefined) {
    const advice = "deedhouse account list shows those that there are, deedhouse account create makes one";
    throw new OperatorError("not-found", `there is no account named "${name}": ${advice}`);
  }
  return id;
}

export async function changeRateLimit(context: OperatorContext, resellerId: number, rateLimit: number): Promise<void> {
  await context.database.query(setRateLimit, [resellerId, rateLimit]);
}
