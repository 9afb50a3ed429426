/** Plays random calls for some time, and judges them. */
import type { Scope } from "../../harness/database.ts";
import { judgePlay } from "./judge.ts";
import type { EndedOrder } from "./judge-names.ts";
import { type Models, type Play, playFor, startPlay } from "./play.ts";

export interface RandomOptions {
  seed: number;
  own: Models;
  seconds: number;
  /** Arguments of the workers' Node, for a mutation. */
  nodeArguments?: string[];
}

export interface RandomResult {
  faults: string[];
  /** What was done and how it ended, in one line. */
  about: string;
  log: string[];
  counts: Play["counts"];
}

/** Everything that it starts ends with the scope. */
export async function runRandom(scope: Scope, options: RandomOptions): Promise<RandomResult> {
  const { seed, own, seconds } = options;
  const play = await startPlay(scope, options);
  await playFor(play, seconds);
  const { ended, faults } = await judgePlay(play);
  const { calls, kills, cuts, faults: spoiled } = play.counts;
  const model = `${own.dataModel}, hosts as ${own.hostModel}`;
  const about = `seed ${seed}, ${model}: ${calls} calls, ${kills} kills, ${cuts} cuts, ${spoiled} faults, ${seconds} s; ${describe(ended)}`;
  return { faults, about, log: play.log, counts: play.counts };
}

/** How many orders ended how. */
function describe(ended: readonly EndedOrder[]): string {
  const ends = Map.groupBy(ended, ({ kind, status }) => `${kind} ${status}`);
  return [...ends.keys()]
    .toSorted()
    .map((end) => `${end} ${ends.get(end)!.length}`)
    .join(", ");
}
