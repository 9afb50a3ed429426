import type { Context } from "#context.ts";
import { isUniqueViolation } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { OperatorError } from "#operator-error.ts";

export const rateLimitDefault = 100;
/** Orders that cost money, in a UTC day. */
export const paidOrdersDayMaxDefault = 1_000;
const hostingAccountsMaxDefault = 1_000;
const hostingBytesMaxDefault = 1_000 * 1_000_000_000;

const insertReseller = statement(
  "reseller-insert",
  `INSERT INTO resellers (name, kind, rate_limit, paid_orders_day_max, hosting_accounts_max, hosting_bytes_max, created_at)
   VALUES ($name, $kind, $rate_limit, $paid_orders_day_max, $hosting_accounts_max, $hosting_bytes_max, $now) RETURNING id`,
  { id: "int8" },
);

const resellerByName = statement("reseller-by-name", "SELECT id FROM resellers WHERE name = $name", { id: "int8" });

const setRateLimit = statement(
  "reseller-rate-limit",
  "UPDATE resellers SET rate_limit = $rate_limit WHERE id = $reseller_id",
  {},
);

const setPaidOrdersMax = statement(
  "reseller-paid-orders-max",
  "UPDATE resellers SET paid_orders_day_max = $paid_orders_day_max WHERE id = $reseller_id",
  {},
);

/** What an operator's use case needs: it runs without an api or a worker. */
export type OperatorContext = Pick<Context, "database" | "clock" | "random" | "sealer">;

export interface NewReseller {
  name: string;
  /** Only a `reseller` may create hosting accounts. */
  kind: "reseller" | "plain";
  rateLimit?: number | undefined;
  paidOrdersDayMax?: number | undefined;
}

/** @throws OperatorError when the name is taken */
export async function createReseller(
  context: OperatorContext,
  { name, kind, rateLimit, paidOrdersDayMax }: NewReseller,
): Promise<number> {
  try {
    const [row] = await context.database.query(insertReseller, {
      name,
      kind,
      rate_limit: rateLimit ?? rateLimitDefault,
      paid_orders_day_max: paidOrdersDayMax ?? paidOrdersDayMaxDefault,
      hosting_accounts_max: hostingAccountsMaxDefault,
      hosting_bytes_max: hostingBytesMaxDefault,
      now: context.clock.now(),
    });
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
  const [row] = await context.database.query(resellerByName, { name });
  return row?.id;
}

/** @throws OperatorError that says how to list accounts and how to create one */
export async function getReseller(context: OperatorContext, name: string): Promise<number> {
  const id = await findReseller(context, name);
  if (id === undefined) {
    const advice = "deedhouse account list lists the accounts, deedhouse account create creates one";
    throw new OperatorError("not-found", `there is no account named "${name}": ${advice}`);
  }
  return id;
}

export async function changeRateLimit(context: OperatorContext, resellerId: number, rateLimit: number): Promise<void> {
  await context.database.query(setRateLimit, { reseller_id: resellerId, rate_limit: rateLimit });
}

/** @param max registrations, renewals on request and restores in a UTC day */
export async function changePaidOrdersMax(context: OperatorContext, resellerId: number, max: number): Promise<void> {
  await context.database.query(setPaidOrdersMax, { reseller_id: resellerId, paid_orders_day_max: max });
}
