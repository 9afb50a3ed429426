/** For tests of the engine, in one process or several: a table whose rows have work to do, and a machine for it. */
import type { Context } from "#context.ts";
import { createDatabase, type Database } from "#db/database.ts";
import { createListener } from "#db/listener.ts";
import { type Clock, systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import { type RowLocks, startRowLocks } from "#locks/row-locks.ts";
import { type Machine, type RunningMachine, startMachine } from "#progress/engine.ts";
import { progressRows } from "#progress/rows.ts";

export const machineName = "things";
const lockClass = 0x7468;

export const thingsTable = `
  CREATE TABLE things (
    id bigint PRIMARY KEY, owner text NOT NULL DEFAULT 'nobody', next_step_at timestamptz, version bigint NOT NULL DEFAULT 0,
    wanted int NOT NULL DEFAULT 1, reached int NOT NULL DEFAULT 0);
  CREATE TRIGGER count_version BEFORE UPDATE ON things FOR EACH ROW EXECUTE FUNCTION count_version();
  CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at ON things FOR EACH ROW
    WHEN (NEW.next_step_at <= clock_timestamp() + interval '1 second') EXECUTE FUNCTION row_is_due('${machineName}');
  CREATE INDEX things_next_step ON things (next_step_at) WHERE next_step_at IS NOT NULL;
  CREATE TABLE steps (id bigint NOT NULL, pid int NOT NULL, began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz)`;

const idColumn = { column: "id", type: "int8" } as const;
const longestWait = "interval '1 hour'";
const thingRows = progressRows("test-things", { table: "things", id: idColumn, longestWait });
const ownedRows = progressRows("test-owned-things", { table: "things", id: idColumn, longestWait, owner: "owner" });

export interface Stage {
  context: Pick<Context, "database" | "listener" | "clock" | "random" | "log">;
  locks: RowLocks;
  start(step: Machine<number>["step"], options?: { rowsMax?: number }): RunningMachine;
  startOwned(owner: string, until: AbortSignal, step: Machine<number>["step"]): RunningMachine;
  close(): Promise<void>;
}

/** @param locksUrl the server for the connection for locks, when it is not `url` */
export function openStage(
  url: string,
  { clock = systemClock, locksUrl = url, pingMs }: { clock?: Clock; locksUrl?: string; pingMs?: number } = {},
): Stage {
  const log = createLog("test", "silent");
  const database: Database = createDatabase({ url, transactionsMax: 5, applicationName: "deedhouse-test", log });
  const listener = createListener({ url, clock: systemClock, log, heartbeatMs: 50 });
  const context = { database, listener, clock, random: systemRandom, log };
  const locks = startRowLocks({ log, databaseUrl: locksUrl, ...(pingMs !== undefined && { pingMs }) });
  const running: RunningMachine[] = [];
  const begin = (machine: Machine<number>) => {
    const started = startMachine(context, machine);
    running.push(started);
    return started;
  };
  return {
    context,
    locks,
    start: (step, { rowsMax = 3 } = {}) =>
      begin({ name: machineName, rows: thingRows(context), rowsMax, exclusion: { locks, lockClass }, step }),
    startOwned: (owner, until, step) =>
      begin({ name: machineName, rows: ownedRows(context, owner), rowsMax: 10, exclusion: { until }, step }),
    async close() {
      await Promise.all(running.map((machine) => machine.stop()));
      await Promise.all([locks.close(), listener.close(), database.close()]);
    },
  };
}
