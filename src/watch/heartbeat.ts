/** A worker records every few seconds that it is alive, and its steps in progress. A worker that hangs cannot. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { sleep } from "#lib/clock.ts";

const beatMs = 5_000;
const stepsShownMax = 3;

const beat = statement(
  "worker-beat",
  `INSERT INTO workers (worker, seen_at, doing) VALUES ($worker, now(), $doing)
   ON CONFLICT (worker) DO UPDATE SET seen_at = excluded.seen_at, stopped_at = NULL, doing = excluded.doing`,
  {},
);
const stop = statement(
  "worker-stopped",
  "UPDATE workers SET seen_at = now(), stopped_at = now(), doing = NULL WHERE worker = $worker",
  {},
);
const dropOld = statement("workers-drop-old", "DELETE FROM workers WHERE seen_at < now() - interval '1 day'", {});

export interface Heartbeat {
  /** Records a clean stop, if the database is available. */
  close(): Promise<void>;
}

interface StepInProgress {
  machine: string;
  row: number | string;
  since: Date;
}

/**
 * @param worker the process, as operators know it: "process 4711 on host"
 * @param doing its steps in progress
 */
export function startHeartbeat(
  { database, log }: Pick<Context, "database" | "log">,
  worker: string,
  doing: () => StepInProgress[] = () => [],
): Heartbeat {
  const stopped = new AbortController();
  const failed = (error: unknown) => log.debug({ err: error }, "the heartbeat could not be written");
  const recordBeat = () => database.query(beat, { worker, doing: inWords(doing()) }).catch(failed);

  async function run(): Promise<void> {
    await recordBeat();
    await database.query(dropOld, {}).catch(() => {});
    while (!stopped.signal.aborted) {
      await sleep(beatMs, stopped.signal);
      if (!stopped.signal.aborted) await recordBeat();
    }
  }

  const running = run();
  return {
    async close() {
      stopped.abort();
      await running;
      await database.query(stop, { worker }).catch(failed);
    },
  };
}

/** The steps that have been in progress for the longest time. */
function inWords(steps: StepInProgress[]): string | null {
  if (steps.length === 0) return null;
  const oldest = steps.sort((one, other) => one.since.getTime() - other.since.getTime()).slice(0, stepsShownMax);
  const text = oldest.map(({ machine, row, since }) => `${machine} ${row} since ${since.toISOString()}`).join(", ");
  return steps.length > oldest.length ? `${text}, and ${steps.length - oldest.length} more` : text;
}
