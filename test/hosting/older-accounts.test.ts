import assert from "node:assert/strict";
import { test } from "node:test";
import { migrate } from "#db/migrate.ts";
import { olderDatabase } from "../harness/older-database.ts";
import { runSql } from "../harness/sql.ts";

/** The last schema in which no account had host names. */
const before = "0009";

test("an account that is older than host names answers at the name of its owner's portfolio that it is called by", async (t) => {
  const { url } = await olderDatabase(t, before);
  await runSql(
    url,
    `WITH owners AS (INSERT INTO resellers (name, kind, rate_limit, hosting_accounts_max, hosting_bytes_max, created_at)
         SELECT name, 'reseller', 1, 9, 9, now() FROM unnest('{own,other}'::text[]) AS name RETURNING id, name),
       pack AS (INSERT INTO service_packs (name, disk_quota_bytes, files_max, ftp_sessions_max, created_at)
         VALUES ('Test', 1, 1, 1, now()) RETURNING id),
       domain AS (INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date,
           registry_ex_date, will_renew, status)
         SELECT name || '.example', id, 'sandbox', now(), now(), now(), true, 'ok' FROM owners)
     INSERT INTO hosting_accounts (identifier, reseller_id, servicepack_id, password_hash_sealed, disk_quota_bytes, files_max,
         ftp_sessions_max, status, created_at, updated_at)
       SELECT identifier, owners.id, pack.id, '', 1, 1, 1, status, now(), now()
       FROM owners, pack, (VALUES ('own.example', 'Ready'), ('www.own.example', 'Suspended'), ('old.own.example', 'Removed'),
         ('own.test', 'Ready')) AS account (identifier, status) WHERE name = 'own'`,
  );
  await migrate(url);
  const found = await runSql(
    url,
    `SELECT host_name, host_names.status, host_names.next_step_at <= now() AS is_looked_at, account.identifier = host_name AS is_own
     FROM host_names JOIN hosting_accounts AS account ON account.id = account_id
     ORDER BY host_name`,
  );
  const waiting = { status: "Waiting", is_looked_at: true, is_own: true };
  assert.deepEqual(found, [
    { host_name: "own.example", ...waiting },
    { host_name: "www.own.example", ...waiting },
  ]);
});
