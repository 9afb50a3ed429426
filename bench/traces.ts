/**
 * What tracing costs a signed read while nobody records: the calls that such a read makes, beside the same read without them, in turns.
 * The work between them takes no time here, because differences of a thousandth cannot be seen in a whole api.
 */
import { createLog, logOfRequest } from "#lib/log.ts";
import { inSpan, inStatement, traceparentFor } from "#lib/measure/tracing.ts";
import { printTable, summaryCells } from "./statistics.ts";

const roundsCount = 21;
const readsCount = 200_000;
const warmupsCount = 3;

const log = createLog("bench", "silent");
const requestId = "5f0c3a1b2d4e85f0c3a1b2d4";
const row = Promise.resolve("a row");
/** Keeps what is made, so that the compiler cannot leave it out. */
const kept: unknown[] = [undefined];

async function readTraced(): Promise<void> {
  const attributes = { "deedhouse.request_id": requestId };
  await inSpan({ name: "request", kind: "server", parent: null, attributes }, async (span) => {
    kept[0] = { log: logOfRequest(log, requestId), traceparent: () => traceparentFor(undefined), span };
    await inStatement("domain-read", () => row);
  });
}

const begin = (work: () => Promise<void>) => work();

async function readPlain(): Promise<void> {
  await begin(async () => {
    kept[0] = { log };
    await row;
  });
}

async function nanosecondsOf(read: () => Promise<void>): Promise<number> {
  const beganAtMs = performance.now();
  for (let reads = 0; reads < readsCount; reads++) await read();
  return ((performance.now() - beganAtMs) * 1_000_000) / readsCount;
}

export async function benchTraces(): Promise<void> {
  const rounds: { plain: number; traced: number }[] = [];
  for (let round = 0; round < roundsCount + warmupsCount; round++) {
    rounds.push({ plain: await nanosecondsOf(readPlain), traced: await nanosecondsOf(readTraced) });
  }
  const counted = rounds.slice(warmupsCount);
  printTable(
    ["nanoseconds a read", "median", "p95", "min", "max"],
    [
      ["without the calls", ...summaryCells(counted.map(({ plain }) => plain))],
      ["with them", ...summaryCells(counted.map(({ traced }) => traced))],
      ["difference", ...summaryCells(counted.map(({ plain, traced }) => traced - plain))],
    ],
  );
}
