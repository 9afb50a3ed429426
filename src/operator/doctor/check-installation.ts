/** What an operator would check first: database, workers, registries, hosting nodes and alarms. */
import { listAlarms } from "#alarms.ts";
import { DatabaseUnavailable, UnfitDatabase } from "#db/errors.ts";
import { listPendingFiles } from "#db/migrate.ts";
import { MigrationError } from "#db/migration-files.ts";
import { statement } from "#db/statement.ts";
import { listRegistries } from "#domains/registry/report.ts";
import { listNodes } from "#hosting/nodes/manage.ts";
import { findDatabase, type OpenOperatorContext, openOperatorContext } from "#operator/context.ts";
import { lookAround } from "#watch/look-around.ts";
import type { Finding } from "../../../client/cli/check-service.ts";
import { CommandFailure } from "../../../client/cli/failures.ts";

/** Leases and signatures tolerate more; a difference of this size is not a network's delay. */
const skewMsMax = 2_000;
const alarmsShownMax = 100;

const databaseTime = statement("doctor-now", "SELECT clock_timestamp() AS now", { now: "timestamptz" });
const workersAlive = statement(
  "doctor-workers",
  `SELECT count(*) AS alive FROM workers WHERE stopped_at IS NULL AND seen_at > now() - interval '1 minute'`,
  { alive: "int8" },
);

/** @param dataDir the data folder of `deedhouse start` */
export async function checkInstallation(dataDir: string): Promise<Finding[]> {
  try {
    const pending = await listPendingFiles(findDatabase(dataDir));
    if (pending.length > 0) {
      const text = `the schema lacks ${pending.length} of this version's files, the first is ${pending[0]}`;
      return [fault("database", text, "Run deedhouse migrate, or restart deedhouse start.")];
    }
    await using context = openOperatorContext(dataDir);
    return [
      { check: "database", result: "ok", text: "it answers, and has this version's schema, or the next one's" },
      await checkDatabaseClock(context),
      await checkWorkers(context),
      ...(await checkRegistries(context)),
      ...(await checkNodes(context)),
      ...(await checkAlarms(context)),
    ];
  } catch (error) {
    if (error instanceof CommandFailure) return [fault("database", error.message, error.advice)];
    if (error instanceof MigrationError || error instanceof UnfitDatabase) return [fault("database", error.message)];
    if (!(error instanceof DatabaseUnavailable)) throw error;
    return [fault("database", error.message, "Check that PostgreSQL runs, and DATABASE_URL if it is set.")];
  }
}

function fault(check: string, text: string, advice?: string): Finding {
  return { check, result: "fault", text, ...(advice !== undefined && { advice }) };
}

async function checkDatabaseClock({ database, clock }: OpenOperatorContext): Promise<Finding> {
  const beforeMs = clock.now().getTime();
  const [row] = await database.query(databaseTime, {});
  const serverMs = row?.now.getTime() ?? beforeMs;
  const skewMs = Math.max(beforeMs - serverMs, serverMs - clock.now().getTime(), 0);
  if (skewMs < skewMsMax) return { check: "database clock", result: "ok", text: "its clock agrees with this server's" };
  const text = `its clock and this server's differ by ${Math.round(skewMs / 1000)} s`;
  return {
    check: "database clock",
    result: "warning",
    text,
    advice: "Keep both right with NTP: timedatectl set-ntp true",
  };
}

async function checkWorkers({ database }: OpenOperatorContext): Promise<Finding> {
  const [row] = await database.query(workersAlive, {});
  const alive = row?.alive ?? 0;
  if (alive > 0) return { check: "workers", result: "ok", text: `${alive} running` };
  return fault(
    "workers",
    "none is running: nothing is registered or provisioned",
    "Start deedhouse worker, or deedhouse start.",
  );
}

async function checkRegistries(context: OpenOperatorContext): Promise<Finding[]> {
  const registries = await listRegistries(context);
  if (registries.length === 0) {
    return [{ check: "registries", result: "skipped", text: "no worker has had sessions with one yet" }];
  }
  return registries.map(({ registry, owner, circuit, paused, maintenance, live_orders, open_messages }) => {
    const check = `registry ${registry}`;
    if (owner !== "alive")
      return fault(check, `its session holder: ${owner}`, "Start deedhouse worker, or deedhouse start.");
    if (circuit !== "closed") {
      return fault(check, `it is away: its circuit is ${circuit}`, `See why: deedhouse registry probe ${registry}`);
    }
    const text = `${live_orders} orders in progress, ${open_messages} messages for you; maintenance: ${maintenance}`;
    if (paused === "no") return { check, result: "ok", text };
    const advice = `Continue with: deedhouse registry resume ${registry}`;
    return { check, result: "warning", text: `registrations are paused: ${paused}; ${text}`, advice };
  });
}

async function checkNodes(context: OpenOperatorContext): Promise<Finding[]> {
  const nodes = await listNodes(context);
  if (nodes.length === 0) return [{ check: "nodes", result: "skipped", text: "there is no hosting node" }];
  const away = new Set(
    (await openAlarms(context)).filter(({ kind }) => kind === "hosting-node-away").map(({ subject }) => subject),
  );
  return nodes.map(({ id, state, accounts_count, accounts_max, last_seen_at }) => {
    const check = `node ${id}`;
    const seen = last_seen_at ? `last seen ${last_seen_at.toISOString()}` : "never seen";
    if (away.has(id))
      return fault(check, `it is away, ${seen}`, `Check its server and agent: deedhouse node show ${id}`);
    return { check, result: "ok", text: `${state}, ${accounts_count} of ${accounts_max} accounts, ${seen}` };
  });
}

async function checkAlarms(context: OpenOperatorContext): Promise<Finding[]> {
  // Without a worker or an api, the last check may be old.
  await lookAround(context);
  const alarms = await openAlarms(context);
  if (alarms.length === 0) return [{ check: "alarms", result: "ok", text: "none is open" }];
  return alarms.map(({ id, kind, subject, note }) => ({
    check: "alarm",
    result: "warning",
    text: `${kind} ${subject}: ${note}`,
    advice: `docs/operating.md says what to do. To close it: deedhouse alarms resolve ${id}`,
  }));
}

const openAlarms = (context: OpenOperatorContext) => listAlarms(context, { all: false, limit: alarmsShownMax });
