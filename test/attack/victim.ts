/** The victim's process: node victim.ts <kind> <ready file> <milliseconds>; sends its Measured to the parent. */
import { readFileSync } from "node:fs";
import { sleep, systemClock } from "#lib/clock.ts";
import type { ReadyDocument } from "../harness/running-system.ts";
import type { VictimKind } from "./attack.ts";
import { victims } from "./victims.ts";

/** Between two turns, so that the victim is a customer and not a second attack. */
const pauseMs = 10;

export interface Measured {
  latenciesMs: number[];
  /** What went wrong, one sentence for each turn that was not served. */
  failures: string[];
}

const [kind = "", readyFile = "", lengthMs = ""] = process.argv.slice(2);
const ready = JSON.parse(readFileSync(readyFile, "utf8")) as ReadyDocument;
const take = victims[kind as VictimKind];
const measured: Measured = { latenciesMs: [], failures: [] };
const endMs = systemClock.monotonicMs() + Number(lengthMs);
while (systemClock.monotonicMs() < endMs) {
  const startedMs = systemClock.monotonicMs();
  await take(ready).catch((error: Error) => measured.failures.push(error.message));
  measured.latenciesMs.push(systemClock.monotonicMs() - startedMs);
  await sleep(pauseMs);
}
process.send?.(measured, () => process.disconnect());
