/**
 * Holds orders at a kill point: many at once, each once, until it is released. At COMMIT a deferred trigger waits for the order's
 * row in a table of the test; at the registry a command's frame is held.
 */
import { Client } from "pg";
import type { Hold } from "../../sandbox/registry/holds.ts";
import type { TestGateway } from "../harness/gateway.ts";
import { eventually } from "../harness/running-system.ts";
import type { HeldCommit, KillPoint } from "./kill-points.ts";
import type { OrderTable } from "./order-tables.ts";

export interface HeldOrders {
  /** The names of the orders that are held now. */
  names(): Promise<string[]>;
  /** Before the kill: commits, for a point where the worker knows that its change is committed. */
  beforeKill(names: string[]): Promise<void>;
  /** After the kill: the names of the orders that the dead worker had at the point. @param names those seen before the kill */
  caught(names: string[]): Promise<string[]>;
  /** After the kill: commits the orders' changes, or rolls them back. */
  letGo(names: string[]): Promise<void>;
  /** Stops holding, and releases all held orders. */
  end(): Promise<void>;
}

const changedClass = 0x6d617478;
const waitingClass = changedClass + 1;

// A transaction may change several orders: when it waits for one of them, all are held.
const heldSql = ({
  isOne,
}: OrderTable) => `WITH own AS (SELECT pid, classid, objid FROM pg_locks WHERE locktype = 'advisory' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
  SELECT DISTINCT waiting.pid, domain_name AS name FROM own AS waiting
  JOIN own AS changed ON changed.pid = waiting.pid AND changed.classid = ${changedClass}
  JOIN orders ON id = changed.objid::int8 AND ${isOne}
  WHERE waiting.classid = ${waitingClass}`;

const functionsSql = `
  CREATE TABLE IF NOT EXISTS test_let_go (order_id bigint PRIMARY KEY);
  CREATE SEQUENCE IF NOT EXISTS test_commits;
  CREATE OR REPLACE FUNCTION test_mark_change() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock_shared(${changedClass}, (to_jsonb(NEW) ->> TG_ARGV[0])::int);
    RETURN NULL;
  END $$;
  CREATE OR REPLACE FUNCTION test_hold_commit() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE changed bigint := to_jsonb(NEW) ->> TG_ARGV[0];
  BEGIN
    -- A second argument other than 0 is the number of the only change to hold.
    IF TG_ARGV[1] <> '0' AND nextval('test_commits') <> TG_ARGV[1]::bigint THEN RETURN NULL; END IF;
    WHILE NOT EXISTS (SELECT FROM test_let_go WHERE order_id = changed) LOOP
      PERFORM pg_advisory_xact_lock_shared(${waitingClass}, 0);
      PERFORM pg_sleep(0.01);
    END LOOP;
    RETURN NULL;
  END $$`;

/** @param nth holds only the n-th such change; 0: the first of each order */
export async function holdCommits(
  { databaseUrl }: TestGateway,
  orders: OrderTable,
  { table, on, when, orderColumn, isCommitted, isFrozenFirst }: HeldCommit,
  nth = 0,
): Promise<HeldOrders> {
  const client = new Client({ connectionString: databaseUrl });
  client.on("error", () => {});
  await client.connect();
  await client.query(functionsSql);
  await client.query("TRUNCATE test_let_go");
  await client.query("ALTER SEQUENCE test_commits RESTART");
  await client.query(`
    CREATE TRIGGER test_mark_change AFTER ${on} ON ${table}
      FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION test_mark_change('${orderColumn}');
    CREATE CONSTRAINT TRIGGER test_hold_commit AFTER ${on} ON ${table} DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION test_hold_commit('${orderColumn}', '${nth}')`);
  const held = async () => (await client.query<{ pid: number; name: string }>(heldSql(orders))).rows;
  const pidsOf = async (names: string[]) =>
    (await held()).filter(({ name }) => names.includes(name)).map(({ pid }) => pid);
  // Only these transactions, because the next owner may be at the same point with the same order already.
  const areOver = (pids: number[]) =>
    eventually("the held commits are over", async () => !(await held()).some(({ pid }) => pids.includes(pid)));
  const letPass = (names: string[]) =>
    client.query(
      `INSERT INTO test_let_go SELECT id FROM orders WHERE ${orders.isOne} AND domain_name = ANY($1) ON CONFLICT DO NOTHING`,
      [names],
    );
  const commit = async (names: string[]) => {
    const pids = await pidsOf(names);
    await letPass(names);
    await areOver(pids);
  };
  const rollBack = async (names: string[]) => {
    const pids = await pidsOf(names);
    await client.query("SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid", [pids]);
    await areOver(pids);
    await letPass(names);
  };
  return {
    names: async () => [...new Set((await held()).map(({ name }) => name))],
    beforeKill: async (names) => (isFrozenFirst ? commit(names) : undefined),
    caught: async (names) => names,
    letGo: (names) => (isCommitted ? commit(names) : rollBack(names)),
    async end() {
      await client.query(`INSERT INTO test_let_go SELECT id FROM orders ON CONFLICT DO NOTHING`);
      await client.query(`DROP TRIGGER test_hold_commit ON ${table}; DROP TRIGGER test_mark_change ON ${table}`);
      await client.end();
    },
  };
}

/**
 * On a busy machine the kill may be late, and the living worker abandons a held frame. That counts as a lost create, and after
 * five of them only a person can help. So after this many the order is not held again, and is not a case.
 */
const givenUpMax = 3;

/**
 * Holds the first such command of each name.
 * @param canKill whether a kill would come at once: an abandoned order is held again only then
 */
export function holdFrames(
  { registry }: TestGateway,
  { command, at, isExecuted }: NonNullable<KillPoint["frame"]>,
  names: string[],
  canKill: () => boolean,
): HeldOrders {
  const { name: commandName, about = (name: string) => name } = command;
  const nameOf = new Map(names.map((name) => [about(name), name]));
  const holds = new Map<string, Hold>();
  const givenUp = new Map<string, number>();
  /** Orders seen before the kill in progress: they are released after it. */
  let dying: string[] = [];
  // At once, because no registry keeps a command longer than the settle time. The journal has an entry when it is dropped.
  const dropWhenGivenUp = async (name: string, hold: Hold) => {
    await hold.abandoned(1);
    if (dying.includes(name)) return;
    hold.release({ execute: false });
    holds.delete(name);
    givenUp.set(name, (givenUp.get(name) ?? 0) + 1);
  };
  const place = (name: string) => {
    const hold = registry.hold({ command: commandName, name: about(name), at, times: 1 });
    holds.set(name, hold);
    // Rejects when the hold is released.
    dropWhenGivenUp(name, hold).catch(() => {});
  };
  for (const name of names) place(name);
  const namesHeld = (isConnected: boolean) =>
    registry.holds
      .list()
      .filter((hold) => hold.command === commandName && holds.has(nameOf.get(hold.name ?? "") ?? ""))
      .filter(({ frames }) => frames.some(({ connected }) => connected === isConnected))
      .map(({ name }) => nameOf.get(name!)!);
  const letGo = async (held: string[]) => {
    for (const name of held) {
      await holds.get(name)?.abandoned(1);
      holds.get(name)?.release({ execute: isExecuted });
      holds.delete(name);
      givenUp.delete(name);
    }
    dying = [];
  };
  return {
    async names() {
      const isAgain = ([name, times]: [string, number]) => times < givenUpMax && !holds.has(name);
      if (canKill()) for (const [name] of [...givenUp].filter(isAgain)) place(name);
      return namesHeld(true);
    },
    async beforeKill(seen) {
      dying = seen;
    },
    async caught(seen) {
      for (const name of seen) await holds.get(name)?.abandoned(1);
      return namesHeld(false);
    },
    letGo,
    async end() {
      for (const hold of holds.values()) hold.release();
    },
  };
}
