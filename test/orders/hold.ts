/**
 * Holds a certain change at its COMMIT: a deferred trigger waits for a lock that the test holds. So a
 * worker can be killed exactly there, and the test decides whether the change was committed before it died.
 */
import type { TestContext } from "node:test";
import { Client } from "pg";
import { runSql } from "../harness/sql.ts";
import { until } from "./judge.ts";

export interface HeldChange {
  table:
    | "registries"
    | "orders"
    | "attempts"
    | "registry_contacts"
    | "poll_messages"
    | "hosting_accounts"
    | "hosting_moves"
    | "node_states"
    | "node_questions"
    | "renewals"
    | "changes";
  on: "INSERT" | "UPDATE";
  /** SQL on the row NEW (and OLD). */
  when: string;
}

export interface Hold {
  /** Resolves when this many transactions are about to commit the change. */
  reached(count?: number): Promise<void>;
  /** Lets the change be committed, and later ones pass. */
  release(): Promise<void>;
  /** Rolls back the change that waits, and lets later ones pass. */
  rollBack(): Promise<void>;
}

const lockClass = 0x686f6c64;
const waiting = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = ${lockClass} AND NOT granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** One at a time per database, of one change or of several. */
export async function holdAt(t: TestContext, databaseUrl: string, ...changes: HeldChange[]): Promise<Hold> {
  const client = new Client({ connectionString: databaseUrl });
  client.on("error", () => {});
  await client.connect();
  t.after(() => client.end());
  await client.query(`SELECT pg_advisory_lock(${lockClass}, 0)`);
  await client.query(`
    CREATE OR REPLACE FUNCTION test_hold() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock_shared(${lockClass}, 0); RETURN NULL; END $$`);
  for (const [index, { table, on, when }] of changes.entries()) {
    await client.query(`
      CREATE CONSTRAINT TRIGGER test_hold_${index} AFTER ${on} ON ${table} DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION test_hold()`);
  }
  const letPass = async () => {
    await client.query(`SELECT pg_advisory_unlock(${lockClass}, 0)`);
    // Waits for the transactions that were held.
    for (const [index, { table }] of changes.entries()) {
      await client.query(`DROP TRIGGER test_hold_${index} ON ${table}`);
    }
  };
  return {
    reached: (count = 1) =>
      until(
        `${changes.map(({ table }) => table).join(", ")} changed`,
        async () => (await client.query(waiting)).rows.length >= count,
      ),
    release: letPass,
    async rollBack() {
      const terminated = `SELECT pid, pg_terminate_backend(pid) FROM (${waiting}) AS waiting`;
      const { rows: undone } = await client.query<{ pid: number }>(terminated);
      const pids = new Set(undone.map(({ pid }) => pid));
      // Others may be about to commit the change by then: the successor of a killed worker is quick.
      const left = async () => (await client.query<{ pid: number }>(waiting)).rows.filter(({ pid }) => pids.has(pid));
      await until("the change is undone", async () => (await left()).length === 0);
      await letPass();
    },
  };
}

/** Makes every new order wait before its first step, so that the test can act in between. */
export async function delayOrders(databaseUrl: string, delayMs: number): Promise<void> {
  const sql = `
    CREATE FUNCTION test_delay() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN NEW.next_step_at := now() + interval '${delayMs} milliseconds'; RETURN NEW; END $$;
    CREATE TRIGGER test_delay BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION test_delay()`;
  await runSql(databaseUrl, sql);
}
