/**
 * Apis and workers of two releases side by side on one database, while the newer one's `deedhouse migrate` changes the schema below
 * them: replaced in either order, killed, and judged by the registry's journal and by PostgreSQL's log of waits for locks.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { migrate } from "#db/migrate.ts";
import { Secret } from "#lib/secret.ts";
import { type ApiProcess, startApiProcess } from "../harness/api-process.ts";
import { masterKey, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { nextRelease, type ReleaseTree, releaseBefore, tagBefore } from "../harness/release-trees.ts";
import { eventually } from "../harness/running-system.ts";
import { countSessions, runSql } from "../harness/sql.ts";
import { type OwnServer, startOwnServer } from "../harness/standby.ts";
import { assertEnds, until } from "./judge.ts";
import { type PersistentClients, startPersistentClients } from "./persistent-clients.ts";
import { startWithWorkers, type WorkerProcess, type Workers } from "./worker-process.ts";

const namesCount = 200_000;
/** Between two replacements, and at both ends. */
const ordersBetween = 12;
const before = tagBefore();
const nameOf = (number: number) => `seeded-${1 + (number % namesCount)}.example`;

/** What a next release may do to a schema: db/README.md. */
const nextMigrations = {
  "9001-next.sql": `-- expand
    CREATE TABLE next_things (id bigint PRIMARY KEY, reseller_id bigint NOT NULL REFERENCES resellers);
    ALTER TABLE orders ADD COLUMN next_note text;
    ALTER TABLE domains ADD COLUMN next_count int NOT NULL DEFAULT 0;
    ALTER TABLE domains ADD CONSTRAINT next_count_positive CHECK (next_count >= 0) NOT VALID;`,
  "9002-next-index.sql": `-- expand, without a transaction
    CREATE INDEX CONCURRENTLY domains_next ON domains (next_count, domain_name);`,
  "9003-next-valid.sql": `-- expand, without a transaction
    ALTER TABLE domains VALIDATE CONSTRAINT next_count_positive;`,
};
const nextFunctions = ["list-new-domains.sql", "orders-ended.sql"];

/** It logs each wait for a lock that takes longer than a request may wait, and each request that gave up before. */
const startLoggingServer = (t: TestContext) =>
  startOwnServer(t, {
    max_connections: "200",
    log_lock_waits: "on",
    deadlock_timeout: "500ms",
    log_min_messages: "error",
    log_line_prefix: "%a: ",
  });

/** By application: what waited for a lock for too long. */
async function lockWaits({ dataDir }: OwnServer): Promise<string[]> {
  const lines = (await readFile(join(dataDir, "postgres.log"), "utf8")).split("\n");
  return lines.filter((line) => /still waiting for|canceling statement due to lock timeout/.test(line));
}

/** An account with all that a registration needs, made by a release for its own schema. */
async function addAccount(release: ReleaseTree, url: string): Promise<TestReseller> {
  const env = { DATABASE_URL: url, DEEDHOUSE_MASTER_KEY: `1:${masterKey.toString("hex")}` };
  const operate = async (...args: string[]) => JSON.parse(await release.operate(env, ...args, "--json"));
  const { id } = await operate("account", "create", "load", "--rate-limit", "1000000");
  await operate("account", "limit", "load", "--orders-per-day", "100000");
  const person = ["--full-name", "Ann Acme", "--email", "ann@acme.example", "--phone", "+32.25550100"];
  const place = ["--street", "Main Street 1", "--city", "Brussels", "--postal-code", "1000", "--country-code", "BE"];
  await operate("account", "profile", "load", ...person, ...place);
  const { api_key, api_secret } = await operate("key", "create", "--account", "load");
  return { id: Number(id), name: "load", key: { id: api_key, secret: new Secret(api_secret) } };
}

/** Names that were registered by orders long ago. */
async function seed(url: string, { id }: TestReseller): Promise<void> {
  await runSql(
    url,
    `SET session_replication_role = replica;
     INSERT INTO orders (order_code, reseller_id, domain_name, suffix, registry_id, kind, input, is_urgent, status, created_at,
       updated_at, ended_at)
     SELECT 'REG-' || n, ${id}, 'seeded-' || n || '.example', 'example', 'sandbox', 'create', '{}', false, 'Finished', '2026-01-01',
         '2026-01-01', '2026-01-01' FROM generate_series(1, ${namesCount}) AS n;
     SET session_replication_role = origin;
     INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date, will_renew,
       status, statuses, looked_at)
     SELECT 'seeded-' || n || '.example', ${id}, 'sandbox', '2026-01-01', '2099-01-01', '2099-01-01', true, 'ok', '{ok}', now()
       FROM generate_series(1, ${namesCount}) AS n;
     ANALYZE orders, domains`,
  );
}

/** Two apis and two workers; each can be replaced by one of another release. */
async function startProcesses(t: TestContext, { gateway, start }: Workers, first: ReleaseTree) {
  const startApi = ({ entry }: ReleaseTree) =>
    startApiProcess(t, gateway, gateway.databaseUrl, { DEEDHOUSE_NONCES: "database" }, entry);
  const startWorker = ({ entry }: ReleaseTree) => start({ entry });
  const apis: ApiProcess[] = [await startApi(first), await startApi(first)];
  const workers: WorkerProcess[] = [await startWorker(first), await startWorker(first)];
  const replace = async <Process extends ApiProcess | WorkerProcess>(
    processes: Process[],
    place: number,
    startOther: () => Promise<Process>,
    how: "kill" | "stop",
  ) => {
    await processes[place]![how]();
    processes[place] = await startOther();
  };
  return {
    urls: () => apis.filter(({ pid }) => pid !== undefined).map(({ url }) => url),
    /** Api and worker take turns, and so do both ways to end. */
    async replaceAll(release: ReleaseTree, someMore: () => Promise<void>) {
      for (const place of [0, 1]) {
        const how = place === 0 ? "kill" : "stop";
        await replace(apis, place, () => startApi(release), how);
        await someMore();
        await replace(workers, place, () => startWorker(release), how === "kill" ? "stop" : "kill");
        await someMore();
      }
    },
  };
}

/** Migrates while a backup reads a table that changes: it has to wait, and nobody waits behind it. */
async function migrateDuringBackup(next: ReleaseTree, url: string, someMore: () => Promise<void>): Promise<void> {
  const backup = new Client({ connectionString: url, application_name: "backup" });
  await backup.connect();
  await backup.query("BEGIN; LOCK TABLE domains IN ACCESS SHARE MODE");
  const migrated = next.operate({ DATABASE_URL: url }, "migrate");
  migrated.catch(() => {});
  const session = `deedhouse-migrate ${next.version}`;
  await eventually("the migration has begun", async () => (await countSessions(url, session)) > 0);
  await someMore();
  await backup.query("COMMIT");
  await backup.end();
  await migrated;
}

async function judge(t: TestContext, gateway: TestGateway, reseller: TestReseller, clients: PersistentClients) {
  const { placed, unexpected, counts } = clients;
  assert.deepEqual(unexpected, []);
  await Promise.all(placed.map((order) => assertEnds(gateway, reseller, order, "Finished")));
  const orders = "SELECT count(*)::int AS orders FROM orders WHERE domain_name LIKE '%side-%'";
  assert.deepEqual(await runSql(gateway.databaseUrl, orders), [{ orders: placed.length }], "no order has a twin");
  t.diagnostic(`${placed.length} registrations, 0 lost, 0 doubled; requests: ${JSON.stringify(counts)}`);
}

const older = before ?? "this commit, because there is no tag of a release before it";
test(`apis and workers of two releases (the older one is ${older}) replace each other while the schema changes: no registration is lost or doubled, no request waits long for a lock`, async (t) => {
  const server = await startLoggingServer(t);
  const { url } = server;
  const [old, next] = [await releaseBefore(t), await nextRelease(t, nextMigrations, nextFunctions)];
  await migrate(url, { folder: old.schema });
  const workers = await startWithWorkers(t, { databaseUrl: url });
  const { gateway } = workers;
  const reseller = await addAccount(old, url);
  await seed(url, reseller);
  const processes = await startProcesses(t, workers, old);
  const clients = startPersistentClients({ gateway, reseller, urls: processes.urls, nameOf });
  t.after(() => clients.stop());
  const someMore = () => {
    const target = clients.placed.length + ordersBetween;
    return until("more names are registered", () => clients.placed.length >= target || clients.unexpected.length > 0);
  };
  await someMore();
  await migrateDuringBackup(next, url, someMore);
  await processes.replaceAll(next, someMore);
  await processes.replaceAll(old, someMore);
  await clients.stop();

  await judge(t, gateway, reseller, clients);
  const releases = await runSql<{ release: string }>(url, "SELECT DISTINCT release FROM processes ORDER BY release");
  assert.deepEqual(new Set(releases.map(({ release }) => release)), new Set([old.version, next.version]));
  const applied = await runSql<{ name: string }>(
    url,
    "SELECT name FROM migrations WHERE number > 9000 ORDER BY number",
  );
  assert.deepEqual(
    applied.map(({ name }) => name),
    Object.keys(nextMigrations),
  );
  const waits = await lockWaits(server);
  assert.ok(
    waits.some((line) => line.startsWith("deedhouse-migrate ")),
    "the migration has waited for the backup",
  );
  assert.deepEqual(
    waits.filter((line) => line.startsWith("deedhouse-api ")),
    [],
  );
});
