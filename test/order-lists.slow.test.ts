import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { allStatements } from "#db/statement.ts";
import { orderStatuses } from "#domains/orders/states.ts";
import { testDatabase } from "./harness/database.ts";
import { seededRandom } from "./harness/seeded-random.ts";
import "#domains/orders/list.ts";

// The lists of orders count orders once, when they end. Whatever several connections do at once, the counts are what the rows
// say. And a page among very many orders reads as little as one among few.

const connectionsCount = 4;
const stepsPerConnection = 60;
const kinds = ["auth-code", "create", "delete", "nameservers", "renew", "transfer-lock"];
const ended = ["Errors", "Finished", "FailedValidation", "Cancelled"];
const pageRows = 26;

async function connect(t: TestContext, url: string): Promise<Client> {
  // As the program connects: plans stay on indexes.
  const client = new Client({ connectionString: url, options: "-c enable_seqscan=off -c enable_bitmapscan=off" });
  client.on("error", () => {});
  await client.connect();
  t.after(() => client.end());
  return client;
}

const addResellers = `INSERT INTO resellers (name, kind, rate_limit, hosting_accounts_max, hosting_bytes_max, created_at)
  VALUES ('one', 'reseller', 1, 1, 1, now()), ('two', 'reseller', 1, 1, 1, now())`;

/** Inserts `$2` orders of reseller `$1` that have not ended, from the number `$3` on. */
const insertRegistrations = `INSERT INTO orders (order_code, reseller_id, domain_name, suffix, registry_id,
    period_years, auth_info_sealed, status, created_at, updated_at)
  SELECT 'REG-' || n, $1, 'n' || n || '.example', 'example', 'none', 1, '', 'NotProvisioned',
    timestamptz '2026-01-01' + n * interval '7 s', now() FROM generate_series($3::int, $3::int + $2::int - 1) AS n`;
const insertChanges = `INSERT INTO orders (order_code, reseller_id, domain_name, registry_id, kind, input, is_urgent, status,
    created_at, updated_at)
  SELECT 'CHG-' || n, $1, 'n' || n || '.example', 'none', (ARRAY['auth-code', 'nameservers', 'transfer-lock'])[1 + n % 3], '{}', false,
    'NotProvisioned', timestamptz '2026-01-01' + n * interval '11 s', now() FROM generate_series($3::int, $3::int + $2::int - 1) AS n`;

/** Inserts and ends orders in any order; a fifth is rolled back. */
async function changeAtRandom(client: Client, number: number, random: (limit: number) => number): Promise<void> {
  let next = number * 1_000_000;
  for (let step = 0; step < stepsPerConnection; step++) {
    await client.query("BEGIN");
    for (let more = 1 + random(3); more > 0; more--) {
      const [table, insert] = (
        [
          ["orders", insertRegistrations],
          ["changes", insertChanges],
        ] as const
      )[random(2)]!;
      const size = [1, 1, 5, 40][random(4)]!;
      await client.query(insert, [1 + random(2), size, next]);
      next += size;
      // Rows of any reseller, but not those that another connection has locked.
      await client.query(
        `UPDATE ${table} SET status = $1, phase = NULL, ended_at = now() WHERE id IN (
           SELECT id FROM ${table} WHERE ended_at IS NULL ORDER BY md5(id::text || $2) LIMIT $3 FOR UPDATE SKIP LOCKED)`,
        [ended[random(4)], String(step), [1, 3, 30][random(3)]],
      );
      // The end of an order can be written again, with the same end.
      await client.query(`UPDATE ${table} SET updated_at = now() WHERE id IN (
        SELECT id FROM ${table} WHERE ended_at IS NOT NULL LIMIT 3 FOR UPDATE SKIP LOCKED)`);
    }
    await client.query(random(5) === 0 ? "ROLLBACK" : "COMMIT");
  }
}

for (const seed of [1, 2, 3]) {
  test(`the counts of orders stay what count(*) says, and no transaction waits for ever, seed ${seed}`, async (t) => {
    const { url } = await testDatabase(t);
    const clients = await Promise.all(Array.from({ length: connectionsCount }, () => connect(t, url)));
    const [first] = clients;
    await first!.query(addResellers);
    await Promise.all(clients.map((client, index) => changeAtRandom(client, index, seededRandom(seed * 100 + index))));
    const counted = await first!.query(
      `SELECT reseller_id, kind, status, sum(row_count) AS count FROM order_counts GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
    );
    const rows = await first!.query(
      `SELECT reseller_id, kind, status, count(*) FROM (
         SELECT reseller_id, 'create' AS kind, status FROM orders WHERE ended_at IS NOT NULL
         UNION ALL SELECT reseller_id, kind, status FROM orders WHERE ended_at IS NOT NULL) AS ended
       GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
    );
    assert.ok(rows.rows.length > 20, "too few kinds of ends to prove anything");
    assert.deepEqual(counted.rows, rows.rows);
  });
}

const manyOrders = 150_000;
const rareOrders = 3;

/** Blocks of 8 KiB that a page may read, wherever it is: some for each kind and status, and for each row. */
const blocksMax = 1_000;

test("a page of very many orders reads no more than a thousand blocks: first, deep, of a rare status, of one kind", async (t) => {
  const { url } = await testDatabase(t);
  const client = await connect(t, url);
  await client.query(addResellers);
  await client.query(insertRegistrations, [1, manyOrders, 1]);
  await client.query(
    `UPDATE orders SET status = CASE WHEN id <= ${rareOrders} THEN 'Errors' ELSE 'Finished' END, ended_at = now()`,
  );
  await client.query(insertChanges, [1, manyOrders / 2, 1]);
  await client.query("UPDATE orders SET status = 'Finished', ended_at = now()");
  await client.query(insertChanges, [1, 100, manyOrders]);
  await client.query(
    `INSERT INTO orders (order_code, reseller_id, domain_name, registry_id, kind, input, is_urgent, status, created_at,
       updated_at)
     SELECT 'REN-' || n, 1, 'n' || n || '.example', 'none', 'renew', '{}', true, 'NotProvisioned',
       timestamptz '2026-01-01' + n * interval '20 s', now() FROM generate_series(1, ${manyOrders / 3}) AS n`,
  );
  await client.query("UPDATE orders SET status = 'Finished', ended_at = now() WHERE kind = 'renew'");
  for (const table of ["orders", "changes", "order_counts"]) {
    await client.query(`VACUUM ANALYZE ${table}`);
  }
  const micros = BigInt(Date.parse("2026-01-07T00:00:00Z")) * 1_000n;
  const middle = `100000 ${micros} REG-5`;
  const all = { kinds, statuses: [...orderStatuses] };
  const total = manyOrders + manyOrders / 2 + 100 + manyOrders / 3;
  const pages = [
    { kind: "skip", at: 0, total, rows: pageRows, filter: all },
    { kind: "next", at: middle, total, rows: pageRows, filter: all },
    { kind: "prev", at: middle, total, rows: pageRows, filter: all },
    { kind: "skip", at: 0, total: rareOrders, rows: rareOrders, filter: { ...all, statuses: ["Errors"] } },
    { kind: "next", at: middle, total: manyOrders / 3, rows: pageRows, filter: { ...all, kinds: ["renew"] } },
    { kind: "skip", at: 0, total: 0, rows: 0, filter: { kinds: ["delete"], statuses: ["Cancelled"] } },
  ];
  for (const { kind, at, total: totalWanted, rows: rowsWanted, filter } of pages) {
    const { text, parameters } = allStatements().find(({ name }) => name === `orders-page-${kind}`)!;
    const given: Record<string, unknown> = { ...filter, at, reseller_id: 1, limit: pageRows };
    const values = parameters.map((parameter) => given[parameter]);
    const { rows } = await client.query(text, values);
    const what = `${kind} ${at} ${JSON.stringify(filter)}`;
    assert.equal(Number(rows[0].total_), totalWanted, what);
    assert.equal(rows.filter(({ order_code }) => order_code !== null).length, rowsWanted, what);
    // As the program runs it: planned once for all values.
    await client.query(`SET plan_cache_mode = force_generic_plan; DEALLOCATE ALL; PREPARE page AS ${text}`);
    const literals = values.map((value) => client.escapeLiteral(Array.isArray(value) ? `{${value}}` : String(value)));
    const explained = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE page (${literals})`);
    const [{ Plan: plan }] = explained.rows[0]["QUERY PLAN"];
    const blocks = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
    assert.ok(blocks <= blocksMax, `${what}: ${blocks} blocks`);
  }
});
