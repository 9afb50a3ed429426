/** Triggers make rows due that have work to do, by whatever statement they are written. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "../harness/database.ts";
import { runSql } from "../harness/sql.ts";

test("an account whose desired state is not applied is due, even if the statement that changes it names no time", async (t) => {
  const { url } = await testDatabase(t);
  await runSql(
    url,
    `WITH owner AS (INSERT INTO resellers (name, kind, rate_limit, hosting_accounts_max, hosting_bytes_max, created_at)
         VALUES ('own', 'reseller', 1, 99, 99, now()) RETURNING id),
       pack AS (INSERT INTO service_packs (name, disk_quota_bytes, files_max, ftp_sessions_max, created_at)
         VALUES ('Test', 1, 1, 1, now()) RETURNING id)
     INSERT INTO hosting_accounts (reseller_id, servicepack_id, password_hash_sealed, disk_quota_bytes, files_max,
         ftp_sessions_max, created_at, updated_at, identifier, status, applied_version)
       SELECT owner.id, pack.id, '', 1, 1, 1, now(), now(), identifier, status, 1
       FROM owner, pack, (VALUES ('rests.example', 'Ready'), ('failed.example', 'Failed')) AS account (identifier, status)`,
  );
  const dueOnes = async () =>
    (
      await runSql<{ identifier: string }>(
        url,
        "SELECT identifier FROM hosting_accounts WHERE next_step_at <= clock_timestamp()",
      )
    ).map(({ identifier }) => identifier);
  assert.deepEqual(await dueOnes(), []);
  await runSql(url, "UPDATE hosting_accounts SET wanted_version = wanted_version + 1, updated_at = clock_timestamp()");
  assert.deepEqual(await dueOnes(), ["rests.example"]);
  await runSql(url, "UPDATE hosting_accounts SET next_step_at = NULL");
  assert.deepEqual(await dueOnes(), ["rests.example"], "it still is");
  const counted = "SELECT identifier FROM hosting_accounts WHERE version > 0 ORDER BY identifier";
  assert.deepEqual(await runSql(url, counted), [{ identifier: "failed.example" }, { identifier: "rests.example" }]);
});
