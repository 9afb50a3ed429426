import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { testDatabase } from "./harness/database.ts";
import { runSql } from "./harness/sql.ts";

const page = new URL("../docs/operating.md", import.meta.url);

test("the operator's page has every setting of api and worker, and none that there is not", async () => {
  const parts = ["config.ts", "config-alarms.ts", "config-nonces.ts", "config-zones.ts"].map((name) =>
    readFile(new URL(`../src/${name}`, import.meta.url), "utf8"),
  );
  const source = (await Promise.all(parts)).join();
  const isOfOthers = (name: string) => name.startsWith("DEEDHOUSE_NODE_");
  // NAME_FILE names a file that holds what NAME would; the page has either.
  const bare = (name: string) => name.replace(/_(KEY|CERTIFICATE|SMTP_URL|ALARMS_WEBHOOK|ALARMS_SLACK)_FILE$/, "_$1");
  const read = source.match(/(?<=")(DATABASE_URL|DEEDHOUSE_[A-Z_]+)(?=")|(?<=\.)DEEDHOUSE_[A-Z_]+/g) ?? [];
  const rows = (await readFile(page, "utf8")).match(/^\| `(DATABASE_URL|DEEDHOUSE_)[^|]*\|/gm) ?? [];
  const told = rows.flatMap((row) => {
    const names = [...row.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
    const stem = names[0]!.replace(names.length > 2 ? /_PORT$/ : "", "");
    return names.map((name) => bare(name.replace("…", stem)));
  });
  const settings = read.filter((name) => !isOfOthers(name)).map(bare);
  assert.deepEqual([...new Set(told)].toSorted(), [...new Set(settings)].toSorted());
});

test("what the operator's page deletes by hand is what is over and old, and nothing else", async (t) => {
  const { url } = await testDatabase(t);
  const sql = /```sql\n(.*?)```/s.exec(await readFile(page, "utf8"))?.[1] ?? assert.fail("the page has no SQL");
  const old = "now() - interval '3 years'";
  await runSql(
    url,
    `SET session_replication_role = replica;
     INSERT INTO hosting_accounts (identifier, reseller_id, servicepack_id, password_hash_sealed, disk_quota_bytes, files_max,
         ftp_sessions_max, status, created_at, updated_at)
       SELECT status || '.example', 1, 1, '', 1, 1, 1, status, ${old}, ${old} FROM unnest('{Ready,Removed}'::text[]) AS status;
     INSERT INTO hosting_history (account_id, at, event, status)
       SELECT id, ${old}, 'requested', status FROM hosting_accounts;
     INSERT INTO hosting_traffic (account_id, node_id, month, bytes)
       SELECT 1, 'web-1', to_char(at, 'YYYY-MM'), 1 FROM unnest(ARRAY[now(), ${old}]) AS at;
     INSERT INTO poll_messages (registry_id, message_id, received_at, needs_operator, payload, done_at)
       VALUES ('sandbox', 'open', ${old}, true, '', NULL), ('sandbox', 'done', ${old}, true, '', ${old}),
         ('sandbox', 'applied', ${old}, false, '', NULL), ('sandbox', 'new', now(), false, '', NULL);
     INSERT INTO alarms (kind, subject, note, since, last_at, count, resolved_at)
       VALUES ('hosting', 'open', '', ${old}, ${old}, 1, NULL), ('hosting', 'over', '', ${old}, ${old}, 1, ${old})`,
  );
  await runSql(url, sql);
  const left = await runSql<{ what: string }>(
    url,
    `SELECT 'history of ' || status AS what FROM hosting_history
     UNION ALL SELECT 'traffic of ' || CASE WHEN month = to_char(now(), 'YYYY-MM') THEN 'now' ELSE 'then' END FROM hosting_traffic
     UNION ALL SELECT 'message ' || message_id FROM poll_messages UNION ALL SELECT 'alarm ' || subject FROM alarms ORDER BY what`,
  );
  assert.deepEqual(
    left.map(({ what }) => what),
    ["alarm open", "history of Ready", "message new", "message open", "traffic of now"],
  );
});
