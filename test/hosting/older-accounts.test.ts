import assert from "node:assert/strict";
import { test } from "node:test";
import { migrate } from "#db/migrate.ts";
import { runSql } from "../harness/sql.ts";
import { olderAccounts } from "./older-accounts.ts";

test("an account that is older than host names is served at its identifier if that is in its owner's portfolio", async (t) => {
  // The last schema without host names.
  const url = await olderAccounts(t, "0009", "status", [
    "('own.example', 'Ready')",
    "('www.own.example', 'Suspended')",
    "('old.own.example', 'Removed')",
    "('own.test', 'Ready')",
  ]);
  await runSql(
    url,
    `INSERT INTO resellers (name, kind, rate_limit, hosting_accounts_max, hosting_bytes_max, created_at)
       VALUES ('other', 'reseller', 1, 9, 9, now());
     INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
         will_renew, status)
       SELECT name || '.example', id, 'sandbox', now(), now(), now(), true, 'ok' FROM resellers`,
  );
  await migrate(url);
  const found = await runSql(
    url,
    `SELECT host_name, host_names.status, host_names.next_step_at <= now() AS is_due, account.identifier = host_name AS is_own
     FROM host_names JOIN hosting_accounts AS account ON account.id = account_id ORDER BY host_name`,
  );
  const waiting = { status: "Waiting", is_due: true, is_own: true };
  assert.deepEqual(found, [
    { host_name: "own.example", ...waiting },
    { host_name: "www.own.example", ...waiting },
  ]);
});
