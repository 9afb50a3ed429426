/** Orders that an earlier release has carried out. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { migrate } from "#db/migrate.ts";
import { olderDatabase } from "../harness/older-database.ts";
import { runSql } from "../harness/sql.ts";

const insert = `INSERT INTO registration_orders (order_code, reseller_id, domain_name, suffix, registry_id, period_years,
    auth_info_sealed, status, created_at, updated_at, ended_at)
  VALUES ($1, 1, $1, 'example', 'none', 1, '', $2, now(), now(), CASE WHEN $2 <> 'NotProvisioned' THEN now() END)`;

test("orders that ended before the upgrade are counted, and those that a process of the earlier release ends after it", async (t) => {
  const { url } = await olderDatabase(t, "0034");
  await runSql(
    url,
    `INSERT INTO resellers (name, kind, rate_limit, hosting_accounts_max, hosting_bytes_max, created_at)
     VALUES ('one', 'reseller', 1, 1, 1, now())`,
  );
  for (const [code, status] of [
    ["a", "Finished"],
    ["b", "Finished"],
    ["c", "Errors"],
    ["d", "NotProvisioned"],
  ]) {
    await runSql(url, insert, [code, status]);
  }
  await migrate(url);
  await runSql(url, "UPDATE registration_orders SET status = 'Finished', ended_at = now() WHERE order_code = 'd'");
  const counted = "SELECT kind, status, sum(row_count)::int AS count FROM order_counts GROUP BY 1, 2 ORDER BY 2";
  assert.deepEqual(await runSql(url, counted), [
    { kind: "create", status: "Errors", count: 1 },
    { kind: "create", status: "Finished", count: 3 },
  ]);
});
