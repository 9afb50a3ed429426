/** Names that left under an earlier release. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { migrate } from "#db/migrate.ts";
import { olderDatabase } from "../harness/older-database.ts";
import { runSql } from "../harness/sql.ts";

/** As every release before the list of departures has written a departure. */
const leave = `WITH owner AS (
    INSERT INTO resellers (name, kind, rate_limit, hosting_accounts_max, hosting_bytes_max, created_at)
    VALUES ($1, 'reseller', 1, 99, 99, now()) RETURNING id),
  renewal AS (
    INSERT INTO renewals (renewal_code, reseller_id, domain_name, registry_id, period_years, term_ends_at, due_at, status,
      next_step_at, list_key, created_at, updated_at, ended_at)
    SELECT $1, id, $1, 'sandbox', 1, now(), now(), 'Ended', now(), $1, now(), now(), now() FROM owner
    RETURNING id, reseller_id)
  INSERT INTO domains_ended (domain_name, reseller_id, renewal_id, registry_id, registration_date, expiration_date,
    registry_ex_date, ended_at, reason)
  SELECT $1, reseller_id, id, 'sandbox', now(), now(), now(), now(), 'the registry does not hold the name' FROM renewal`;

test("names that left before the upgrade, or during it under a process of the earlier release, are listed", async (t) => {
  const { url } = await olderDatabase(t, "0030");
  await runSql(url, leave, ["before.example"]);
  await migrate(url);
  await runSql(url, leave, ["during.example"]);
  const counted = `SELECT domain_name, reason, row_count FROM domains_ended AS departure
    JOIN list_chunks AS chunk ON list = 'departures' AND chunk.reseller_id = departure.reseller_id ORDER BY domain_name`;
  const reason = "the registry does not hold the name";
  assert.deepEqual(await runSql(url, counted), [
    { domain_name: "before.example", reason, row_count: 1 },
    { domain_name: "during.example", reason, row_count: 1 },
  ]);
});
