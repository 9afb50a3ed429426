/** Which processes run which release: each writes its row, so that a contract of the schema waits for those that it would break. */
import { hostname } from "node:os";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { sleep } from "#lib/clock.ts";
import { release } from "#lib/release.ts";

/** Several times in the two minutes for which a contract waits. */
const beatMs = 20_000;

const beat = statement(
  "process-beat",
  `INSERT INTO processes (host, role, pid, release, started_at, seen_at) VALUES ($host, $role, $pid, $release, now(), now())
   ON CONFLICT (host, role, pid) DO UPDATE SET seen_at = excluded.seen_at, release = excluded.release,
     started_at = CASE WHEN $is_first::bool THEN excluded.started_at ELSE processes.started_at END`,
  {},
);
const remove = statement(
  "process-ended",
  "DELETE FROM processes WHERE host = $host AND role = $role AND pid = $pid",
  {},
);
const dropOld = statement("processes-drop-old", "DELETE FROM processes WHERE seen_at < now() - interval '1 day'", {});
const list = statement(
  "processes-list",
  `SELECT host, role, pid, release, started_at, seen_at, seen_at > now() - interval '2 minutes' AS running
   FROM processes ORDER BY host, role, pid`,
  {
    host: "text",
    role: "text",
    pid: "int4",
    release: "text",
    started_at: "timestamptz",
    seen_at: "timestamptz",
    running: "bool",
  },
);

export interface ProcessRow {
  /** Removes it, if the database is available. */
  close(): Promise<void>;
}

/** @returns once the row is written @throws DatabaseUnavailable */
export async function recordProcess(
  { database, log }: Pick<Context, "database" | "log">,
  role: string,
): Promise<ProcessRow> {
  const own = { host: hostname(), role, pid: process.pid };
  const stopped = new AbortController();
  const failed = (error: unknown) => log.debug({ err: error }, "the release of this process could not be written");
  await database.query(beat, { ...own, release, is_first: true });
  await database.query(dropOld, {}).catch(failed);

  async function run(): Promise<void> {
    for (;;) {
      await sleep(beatMs, stopped.signal);
      if (stopped.signal.aborted) return;
      await database.query(beat, { ...own, release, is_first: false }).catch(failed);
    }
  }

  const running = run();
  return {
    async close() {
      stopped.abort();
      await running;
      await database.query(remove, own).catch(failed);
    },
  };
}

export const listProcesses = ({ database }: Pick<Context, "database">) => database.query(list, {});
