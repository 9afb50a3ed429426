/** A worker says every few seconds that it is at work, and on what. One that hangs cannot. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { sleep } from "#lib/clock.ts";

const beatMs = 5_000;
const stepsToldMax = 3;

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
  /** Says that the worker ends as it should, if the database can be told. */
  close(): Promise<void>;
}

interface StepUnderWay {
  machine: string;
  row: number | string;
  since: Date;
}

/**
 * @param worker the process, as operators know it: "process 4711 on host"
 * @param doing the steps that it is at work on
 */
export function startHeartbeat(
  { database, log }: Pick<Context, "database" | "log">,
  worker: string,
  doing: () => StepUnderWay[] = () => [],
): Heartbeat {
  const stopped = new AbortController();
  const failed = (error: unknown) => log.debug({ err: error }, "the heartbeat was not written");
  const sayBeat = () => database.query(beat, { worker, doing: inWords(doing()) }).catch(failed);

  async function run(): Promise<void> {
    await sayBeat();
    await database.query(dropOld, []).catch(() => {});
    while (!stopped.signal.aborted) {
      await sleep(beatMs, stopped.signal);
      if (!stopped.signal.aborted) await sayBeat();
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

/** The ones that have been under way longest. */
function inWords(steps: StepUnderWay[]): string | null {
  if (steps.length === 0) return null;
  const oldest = steps.sort((one, other) => one.since.getTime() - other.since.getTime()).slice(0, stepsToldMax);
  const told = oldest.map(({ machine, row, since }) => `${machine} ${row} since ${since.toISOString()}`).join(", ");
  return steps.length > oldest.length ? `${told}, and ${steps.length - oldest.length} more` : told;
}
