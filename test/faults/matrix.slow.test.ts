/**
 * The fault matrix in a reduced form: orders with several faults, whose worker is killed at most of the points. The whole matrix is
 * `npm run test:faults`; its results are in docs/faults.md.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { planReduced } from "./plan.ts";
import { runBatches } from "./run-batches.ts";

const seed = 1;
const casesMin = 40;

test("whatever a registry does, and wherever workers are killed, each order is carried out once or not at all", async (t) => {
  const times = { transformTimeoutMs: 600, patienceMs: 120_000 };
  const run = await runBatches(t, planReduced(seed), { ...times, waiting: 1, stages: 2 });
  assert.deepEqual(run.faults, []);
  const reached = run.cases.filter(({ isReached }) => isReached).length;
  t.diagnostic(`${reached} cases, ${run.kills} workers killed`);
  assert.ok(reached >= casesMin, `only ${reached} orders were at the point where their worker was killed`);
});
