/**
 * `npm run test:faults`: the whole fault matrix (docs/faults.md).
 *
 *   npm run test:faults                                    every kill point with every fault
 *   npm run test:faults -- --seed 7                        the same in another order, with other moments
 *   npm run test:faults -- --seed 7 --case claimed.2       one batch again; a case's id names its batch
 *   npm run test:faults -- --case renew                    all batches of one kind of orders; registrations are "create"
 *   npm run test:faults -- --mutations                     workers with deliberate faults, which the judge must find
 *   npm run test:faults -- --mutations --case renew-again  one of them
 *   npm run test:faults -- --random                        random calls for 20 minutes; --seed 7, --minutes 2
 *   npm run test:faults -- --page                          prints the results into docs/faults.md; also --mutations --page
 */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import type { Scope } from "../harness/database.ts";
import { startTestServer } from "../harness/server.ts";
import type { Batch } from "./batch.ts";
import { type Mutation, mutationArguments, mutationLabels, mutations } from "./mutations.ts";
import { type MutationResult, printMutations, printParts, printRun } from "./page.ts";
import { planWhole } from "./plan.ts";
import { models } from "./random/play.ts";
import { type RandomResult, runRandom } from "./random/run-random.ts";
import { allRows, changeRows } from "./rows.ts";
import { type RunResult, runBatches } from "./run-batches.ts";

const page = new URL("../../docs/faults.md", import.meta.url);
const seedDefault = 1;
const roundsDefault = 2;
const stagesDefault = 3;
/** Long enough that a busy machine alone does not make an answer late. */
const transformTimeoutMs = 1_500;
const waiting = 2;
const patienceMs = 180_000;
/** For mutated workers: an undo must follow their first info even on a busy machine, and some lose orders. */
const mutationTimes = { transformTimeoutMs: 4_000, patienceMs: 60_000 };
/** Rows that need a person's decision: no fault leads there. */
const rowsOfPeople = ["16"];
const randomMinutesDefault = 20;
/** Of each mutation: the faults are common enough. */
const randomMutationSeconds = 120;

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(seedDefault) },
    case: { type: "string" },
    rounds: { type: "string", default: String(roundsDefault) },
    stages: { type: "string", default: String(stagesDefault) },
    random: { type: "boolean", default: false },
    minutes: { type: "string", default: String(randomMinutesDefault) },
    mutations: { type: "boolean", default: false },
    page: { type: "boolean", default: false },
  },
});
const seed = Number(values.seed);
const stages = Number(values.stages);
const plan = planWhole(seed, Number(values.rounds));

const server = await startTestServer();
process.env.DEEDHOUSE_TEST_DATABASE_URL = server.templateUrl;
try {
  if (values.random) await playAllRandom(Number(values.minutes));
  else await playMatrix();
} finally {
  await server.stop();
}

async function playMatrix(): Promise<void> {
  const parts = values.mutations
    ? printMutations(await playMutations(values.case))
    : printRun(await playAll(values.case), seed);
  if (values.page) await writeFile(page, printParts(await readFile(page, "utf8"), parts));
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function fail(text: string): void {
  say(text);
  process.exitCode = 1;
}

/** Stops everything that the work has started before it returns. */
async function inScope<Result>(work: (scope: Scope) => Promise<Result>): Promise<Result> {
  const closers: (() => unknown)[] = [];
  try {
    return await work({ after: (hook) => void closers.push(hook) });
  } finally {
    for (let close = closers.pop(); close; close = closers.pop()) await close();
  }
}

function play(batches: Batch[], mutation?: Mutation): Promise<RunResult> {
  return inScope((scope) =>
    runBatches(scope, batches, {
      transformTimeoutMs,
      patienceMs,
      waiting,
      stages,
      ...(mutation && { ...mutationTimes, nodeArguments: mutationArguments(mutation) }),
      onBatch(batch, about, faults) {
        if (mutation) return;
        say(`${batch.id}: ${about}`);
        for (const fault of faults) say(`  ${fault}`);
        if (faults.length > 0) fail(`  again: npm run test:faults -- --seed ${seed} --case ${batch.id}`);
      },
    }),
  );
}

/** The time is shared by the models of registries. */
async function playAllRandom(minutes: number): Promise<void> {
  const seconds = (minutes * 60) / models.length;
  for (const [index, own] of models.entries()) {
    const { about, faults, log } = await inScope((scope) => runRandom(scope, { seed: seed + index, own, seconds }));
    say(about);
    if (faults.length === 0) continue;
    for (const fault of [...log, ...faults]) say(`  ${fault}`);
    fail(`  ${faults.length} faults; again: npm run test:faults -- --random --seed ${seed} --minutes ${minutes}`);
  }
}

function playRandomMutation(mutation: Mutation): Promise<RandomResult> {
  const [own] = models;
  const nodeArguments = mutationArguments(mutation);
  return inScope((scope) => runRandom(scope, { seed, own: own!, seconds: randomMutationSeconds, nodeArguments }));
}

async function playAll(wanted: string | undefined): Promise<RunResult> {
  const isWanted = ({ id, subject }: Batch) =>
    wanted === undefined || subject === wanted || id === wanted.split("/")[0];
  const batches = plan.filter(isWanted);
  if (batches.length === 0) throw new Error(`there is no case "${wanted}"; a batch is ${plan[0]?.id}, for example`);
  const run = await play(batches);
  const reached = run.cases.filter(({ isReached }) => isReached).length;
  say(
    `${reached} cases, ${run.cases.length} orders, ${run.kills} kills, ${run.faults.length} faults, ${run.seconds} s`,
  );
  const missing = [...allRows, ...changeRows].filter((row) => !run.rows.has(row) && !rowsOfPeople.includes(row));
  if (wanted === undefined && missing.length > 0) fail(`no order has passed row ${missing.join(", ")}`);
  return run;
}

/** The judge must find each mutation. */
async function playMutations(wanted: string | undefined): Promise<MutationResult[]> {
  const results: MutationResult[] = [];
  for (const mutation of mutations.filter(({ id }) => wanted === undefined || id === wanted)) {
    const batches = plan
      .filter(({ id }) => id === mutation.batch)
      .map((batch) => ({ ...batch, labels: batch.labels.filter((label) => mutationLabels.includes(label)) }));
    const isRandom = mutation.batch === "random";
    const { faults } = isRandom ? await playRandomMutation(mutation) : await play(batches, mutation);
    const expected = faults.filter((fault) => mutation.verdict.test(fault));
    say(`a worker that ${mutation.means}: ${expected.length} of ${faults.length} sentences are about it`);
    if (expected.length === 0) fail(["  the judge did not find it", ...faults].join("\n  "));
    else say(`  ${expected[0]}`);
    results.push({ means: mutation.means, batch: mutation.batch, faults: expected });
  }
  return results;
}
