/** Plays batches on several stages at once, and adds up their results. */
import type { Scope } from "../harness/database.ts";
import { type Batch, type Case, playBatch } from "./batch.ts";
import { type Stage, type StageOptions, startStage } from "./stage.ts";

export interface RunResult {
  cases: Case[];
  /** The judge's findings. */
  faults: string[];
  /** How often orders have passed each row of the order table. */
  rows: Map<string, number>;
  kills: number;
  seconds: number;
}

export interface RunOptions extends StageOptions {
  /** The number of concurrent gateways. */
  stages: number;
  /** Called when a batch ends, with the judge's findings. */
  onBatch?: (batch: Batch, about: string, faults: string[]) => void;
}

/** @throws Error when orders neither end nor reach their kill point */
export async function runBatches(scope: Scope, batches: Batch[], options: RunOptions): Promise<RunResult> {
  const result: RunResult = { cases: [], faults: [], rows: new Map(), kills: 0, seconds: 0 };
  const startedMs = performance.now();
  const secondsSince = (ms: number) => Math.round((performance.now() - ms) / 1000);
  const queue = batches.values();

  async function play(stage: Stage, batch: Batch): Promise<void> {
    const beganMs = performance.now();
    const { cases, faults, rows, kills } = await playBatch(stage, batch);
    result.cases.push(...cases);
    result.faults.push(...faults);
    result.kills += kills;
    for (const [row, count] of rows) result.rows.set(row, (result.rows.get(row) ?? 0) + count);
    const reached = cases.filter(({ isReached }) => isReached).length;
    const about = `${reached} cases of ${cases.length} orders, ${kills} kills, ${secondsSince(beganMs)} s`;
    options.onBatch?.(batch, about, faults);
  }

  async function work(): Promise<void> {
    const stage = await startStage(scope, options);
    for (const batch of queue) await play(stage, batch);
  }

  await Promise.all(Array.from({ length: Math.min(options.stages, batches.length) }, work));
  result.seconds = secondsSince(startedMs);
  return result;
}
