import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";

// This lock does not block the foreign keys that point at the row.
const lock = statement("reseller-lock", "SELECT id FROM resellers WHERE id = $reseller_id FOR NO KEY UPDATE", {
  id: "int8",
});

/**
 * Until the transaction ends, no other one counts what the reseller has: what both count and write stays within a limit. A
 * statement counts what was committed before the lock only if it runs after it.
 */
export async function lockReseller(tx: Pick<Transaction, "query">, resellerId: number): Promise<void> {
  await tx.query(lock, { reseller_id: resellerId });
}
