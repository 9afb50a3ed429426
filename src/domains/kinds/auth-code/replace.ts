/**
 * The periodic task of a registry's owner for auth codes: erases those that have expired, and places an order for each that
 * replaces it at the registry by a value that nobody keeps.
 */

import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { type AuthCodeInput, authCodeKind } from "#domains/kinds/auth-code/kind.ts";
import { insertOrder } from "#domains/orders/place.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { dayMs } from "#lib/clock.ts";
import { newOrderCode } from "#lib/order-code.ts";

const batchRows = 500;
/** If the registry refuses, the next order follows after this time. */
const repeatMs = dayMs;

/** SQL about a row `code`: an order that sets another code needs no replacement, unless it fails. */
const isUndisturbed = `(
       SELECT true FROM orders WHERE orders.domain_name = code.domain_name AND kind = 'auth-code' AND ended_at IS NULL
       LIMIT 1) IS NULL`;

const eraseExpired = statement(
  "auth-codes-erase",
  `UPDATE auth_codes SET code_sealed = NULL
   WHERE registry_id = $registry_id AND replace_at <= $now AND expires_at <= $now AND code_sealed IS NOT NULL`,
  {},
);

const spentCodes = statement(
  "auth-codes-spent",
  `SELECT domain_name, order_code FROM auth_codes AS code
   WHERE registry_id = $registry_id AND replace_at <= $now AND ${isUndisturbed} ORDER BY replace_at LIMIT $rows_max`,
  { domain_name: "text", order_code: "text" },
);
type SpentCode = NonNullable<(typeof spentCodes)["row"]>;

const lockName = statement(
  "auth-code-lock-name",
  "SELECT domain_name, registry_id, reseller_id FROM domains WHERE domain_name = $name FOR UPDATE",
  { domain_name: "text", registry_id: "text", reseller_id: "int8" },
);

const takeSpent = statement(
  "auth-code-take-spent",
  `UPDATE auth_codes AS code SET replace_at = $repeat_at
   WHERE domain_name = $name AND order_code = $order_code AND replace_at <= $now AND ${isUndisturbed}
   RETURNING order_code`,
  { order_code: "text" },
);

export async function replaceSpentCodes({ context, profile }: RegistrySessions): Promise<void> {
  const { database, clock } = context;
  await database.query(eraseExpired, { registry_id: profile.id, now: clock.now() });
  const now = clock.now();
  for (const spent of await database.query(spentCodes, { registry_id: profile.id, now, rows_max: batchRows })) {
    await placeReplacement(context, spent);
  }
}

async function placeReplacement(context: Context, { domain_name: name, order_code }: SpentCode): Promise<void> {
  const now = context.clock.now();
  const repeatAt = new Date(now.getTime() + repeatMs);
  await context.database.transaction(async (tx) => {
    // Requests about the name lock it too: none can place an order in between.
    const [locked] = await tx.query(lockName, { name });
    if (!locked) return;
    const [taken] = await tx.query(takeSpent, { name, order_code, now, repeat_at: repeatAt });
    if (!taken) return;
    await insertOrder(context, tx, locked, {
      code: newOrderCode(context.random, "CHG"),
      resellerId: locked.reseller_id,
      kind: authCodeKind,
      input: { replaces: order_code } satisfies AuthCodeInput,
      note: "the auth code has expired",
      isOwners: true,
    });
  });
}
