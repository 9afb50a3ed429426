/** A worker records every few seconds that it is alive. A worker that hangs cannot. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { sleep } from "#lib/clock.ts";

const beatMs = 5_000;

const beat = statement(
  "worker-beat",
  `INSERT INTO workers (worker, seen_at) VALUES ($worker, now())
   ON CONFLICT (worker) DO UPDATE SET seen_at = excluded.seen_at, stopped_at = NULL`,
  {},
);
const stop = statement(
  "worker-stopped",
  "UPDATE workers SET seen_at = now(), stopped_at = now() WHERE worker = $worker",
  {},
);
const dropOld = statement("workers-drop-old", "DELETE FROM workers WHERE seen_at < now() - interval '1 day'", {});

export interface Heartbeat {
  /** Records a clean stop, if the database is available. */
  close(): Promise<void>;
}

/** @param worker the process, as operators know it: "process 4711 on host" */
export function startHeartbeat({ database, log }: Pick<Context, "database" | "log">, worker: string): Heartbeat {
  const stopped = new AbortController();
  const record = (what: typeof beat) =>
    database
      .query(what, { worker })
      .catch((error: unknown) => log.debug({ err: error }, "the heartbeat could not be written"));

  async function run(): Promise<void> {
    await record(beat);
    await database.query(dropOld, []).catch(() => {});
    while (!stopped.signal.aborted) {
      await sleep(beatMs, stopped.signal);
      if (!stopped.signal.aborted) await record(beat);
    }
  }

  const running = run();
  return {
    async close() {
      stopped.abort();
      await running;
      await record(stop);
    },
  };
}
