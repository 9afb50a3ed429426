import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { allStatements } from "#db/statement.ts";
import { testDatabase } from "./harness/database.ts";
import { seededRandom } from "./harness/seeded-random.ts";
import "#domains/portfolio/list.ts";
import "#domains/schedule/list.ts";
import "#hosting/accounts/read.ts";

// Whatever several connections do to the lists at once, list_chunks says what the rows say: how many there are, in which
// chunk, and so where each position is. Every failure is repeated by its seed.

const connectionsCount = 4;
const stepsPerConnection = 25;
const namesCount = 4_000;
const pageChecks = 60;
const pageRows = 25;
/** What list_chunk_split promises. */
const chunkRowsMax = 1_000;
const deadlockDetected = "40P01";
/** Over the 1,000 rows from which a statement counts the list again, and below it. */
const bulkSizes = [30, 300, 1_200];

interface List {
  list: string;
  table: string;
  column: string;
  /** Which rows are listed. */
  listed: string;
  /** Inserts the names $2 for reseller $1; those that are there already stay. */
  insert: string;
  /** A change of rows among the names $2 that moves them into the list, out of it, or within it. */
  change: string;
}

const lists: List[] = [
  {
    list: "domains",
    table: "domains",
    column: "domain_name",
    listed: "true",
    insert: `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date,
               registry_ex_date, will_renew, status)
             SELECT name, $1, 'sandbox', now(), now(), now(), true, 'ok' FROM unnest($2::text[]) AS name
             ORDER BY name ON CONFLICT DO NOTHING`,
    // To the other reseller: out of one list, into another.
    change: `UPDATE domains SET reseller_id = 3 - reseller_id WHERE reseller_id = $1 AND domain_name = ANY ($2::text[])`,
  },
  {
    ...{
      list: "hosting",
      table: "hosting_accounts",
      column: "identifier",
      listed: "status NOT IN ('Failed', 'Removed')",
    },
    insert: `INSERT INTO hosting_accounts (identifier, reseller_id, servicepack_id, password_hash_sealed,
               disk_quota_bytes, files_max, ftp_sessions_max, status, created_at, updated_at)
             SELECT name, $1, 14490, '', 1, 1, 1, 'Provisioning', now(), now() FROM unnest($2::text[]) AS name
             ORDER BY name ON CONFLICT DO NOTHING`,
    change: `UPDATE hosting_accounts
             SET status = CASE status WHEN 'Provisioning' THEN 'Ready' WHEN 'Ready' THEN 'Failed' ELSE 'Removed' END
             WHERE reseller_id = $1 AND identifier = ANY ($2::text[])`,
  },
  {
    list: "renewals/Lapsing",
    table: "renewals",
    column: "list_key",
    listed: "status = 'Lapsing'",
    insert: `INSERT INTO renewals (renewal_code, reseller_id, domain_name, registry_id, period_years, term_ends_at, due_at,
               status, phase, next_step_at, list_key, created_at, updated_at)
             SELECT gen_random_uuid(), $1, gen_random_uuid(), 'sandbox', 1, now(), now(), 'Lapsing', 'wait', now(), name,
               now(), now() FROM unnest($2::text[]) AS name ORDER BY name ON CONFLICT DO NOTHING`,
    change: `UPDATE renewals SET status = 'Attention', phase = NULL
             WHERE reseller_id = $1 AND list_key = ANY ($2::text[]) AND status = 'Lapsing'`,
  },
];

for (const list of lists) {
  for (const seed of [1, 2]) {
    test(`the chunks of ${list.list} stay what count(*) and OFFSET say, seed ${seed}`, async (t) => {
      const { url } = await testDatabase(t);
      const clients = await Promise.all(Array.from({ length: connectionsCount }, () => connect(t, url)));
      const [first] = clients;
      await addResellersAndPack(first!);
      await Promise.all(clients.map((client, index) => changeAtRandom(client, list, seededRandom(seed * 100 + index))));
      for (const resellerId of [1, 2]) {
        const names = await readNames(first!, list, resellerId);
        assert.ok(names.length > namesCount / 20, `${names.length} rows are too few to prove anything`);
        await assertChunksMatch(first!, list, resellerId, names);
        await assertPagesMatch(first!, list, resellerId, names, seededRandom(seed));
      }
    });
  }
}

async function connect(t: TestContext, url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  t.after(() => client.end());
  return client;
}

async function addResellersAndPack(client: Client): Promise<void> {
  await client.query(
    `INSERT INTO resellers (name, kind, rate_limit, hosting_accounts_max, hosting_bytes_max, created_at)
     VALUES ('one', 'reseller', 1, 1, 1, now()), ('two', 'reseller', 1, 1, 1, now())`,
  );
  await client.query(
    `INSERT INTO service_packs (name, disk_quota_bytes, files_max, ftp_sessions_max, created_at)
     VALUES ('Test', 1, 1, 1, now())`,
  );
}

/** Half of the steps change one name, as the service does, the others many; some are rolled back. */
async function changeAtRandom(client: Client, list: List, random: (limit: number) => number): Promise<void> {
  const { table, column, insert, change } = list;
  const remove = `DELETE FROM ${table} WHERE reseller_id = $1 AND ${column} = ANY ($2::text[])`;
  for (let step = 0; step < stepsPerConnection; step++) {
    const size = random(2) === 0 ? 1 : bulkSizes[random(bulkSizes.length)]!;
    const start = random(namesCount);
    const names = Array.from({ length: size }, (_, index) => nameOf((start + index * (1 + (step % 3))) % namesCount));
    const text = [insert, insert, remove, change][random(4)]!;
    const end = random(5) === 0 ? "ROLLBACK" : "COMMIT";
    await runToEnd(client, text, [1 + random(2), names], end);
  }
}

/** Spread over the alphabet, so that a run of numbers falls into many chunks. */
const nameOf = (number: number) => `${((number * 2_654_435_761) % 2 ** 32).toString(36)}-${number}.example`;

/** Two bulk changes may wait for each other's rows, which PostgreSQL ends for one of them; that one is run again. */
async function runToEnd(client: Client, text: string, values: unknown[], end: string): Promise<void> {
  for (;;) {
    try {
      await client.query("BEGIN");
      await client.query(text, values);
      await client.query(end);
      return;
    } catch (error) {
      await client.query("ROLLBACK");
      if ((error as { code?: string }).code !== deadlockDetected) throw error;
    }
  }
}

/** In the order that is promised: bytes, which is how JavaScript compares ASCII. */
async function readNames(client: Client, { table, column, listed }: List, resellerId: number): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT ${column} AS name FROM ${table} WHERE reseller_id = $1 AND ${listed}`,
    [resellerId],
  );
  return rows.map(({ name }) => name).sort();
}

async function assertChunksMatch(client: Client, { list }: List, resellerId: number, names: string[]): Promise<void> {
  const { rows: chunks } = await client.query<{ first_name: string; row_count: number }>(
    "SELECT first_name, row_count FROM list_chunks WHERE list = $1 AND reseller_id = $2 ORDER BY first_name",
    [list, resellerId],
  );
  const counted = chunks.map(({ first_name }, index) => {
    const end = chunks[index + 1]?.first_name;
    const held = names.filter((name) => name >= first_name && (end === undefined || name < end));
    return { first_name, row_count: held.length };
  });
  assert.deepEqual(chunks, counted);
  assert.ok(
    chunks.every(({ row_count }) => row_count <= chunkRowsMax),
    "no chunk is too long to walk",
  );
}

/** The statements that answer pages, at random places and at both ends, against the whole list. */
async function assertPagesMatch(
  client: Client,
  { list, column }: List,
  resellerId: number,
  names: string[],
  random: (limit: number) => number,
): Promise<void> {
  const page = async (kind: string, at: number | string) => {
    const { text } = allStatements().find(({ name }) => name === `${list}-page-${kind}`)!;
    const { rows } = await client.query(text, [resellerId, at, pageRows]);
    const found = rows.map((row) => row[column]).filter((name) => name !== null);
    return { names: found, total: Number(rows[0].total_), skipped: Number(rows[0].skipped_) };
  };
  const total = names.length;
  const places = Array.from({ length: pageChecks }, () => random(total));
  for (const skipped of [0, total - 1, ...places]) {
    const shown = names.slice(skipped, skipped + pageRows);
    assert.deepEqual(await page("skip", skipped), { names: shown, total, skipped });
    const after = names.slice(skipped + 1, skipped + 1 + pageRows);
    assert.deepEqual(await page("next", names[skipped]!), { names: after, total, skipped: skipped + 1 });
    const before = names.slice(Math.max(0, skipped - pageRows), skipped).reverse();
    assert.deepEqual(await page("prev", names[skipped]!), { names: before, total, skipped });
  }
  assert.deepEqual((await page("skip", total)).names, []);
}
