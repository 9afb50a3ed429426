import assert from "node:assert/strict";
import { test } from "node:test";
import { unixSeconds } from "#lib/clock.ts";
import { createSteadyTime } from "#lib/steady-time.ts";
import { createManualClock } from "../../test/harness/manual-clock.ts";

const startSeconds = 1_900_000_000;
const settleMs = 300_000;

test("the steady time continues while the time of day has jumped, in either direction", () => {
  const clock = createManualClock(startSeconds);
  const steadySeconds = createSteadyTime(clock, settleMs);
  for (const jump of [3600, -3600]) {
    clock.set(startSeconds + jump);
    assert.equal(steadySeconds(), startSeconds);
  }
  clock.advance(10_000);
  assert.equal(steadySeconds(), startSeconds + 10);
});

test("the steady time follows a time of day that stays where it jumped to", () => {
  const clock = createManualClock(startSeconds);
  const steadySeconds = createSteadyTime(clock, settleMs);
  clock.set(startSeconds + 3600);
  steadySeconds();
  clock.advance(settleMs - 1_000);
  assert.equal(steadySeconds(), startSeconds + settleMs / 1000 - 1);
  clock.advance(1_000);
  assert.equal(steadySeconds(), unixSeconds(clock));
});

test("the steady time does not confuse a second short jump with the first one", () => {
  const clock = createManualClock(startSeconds);
  const steadySeconds = createSteadyTime(clock, settleMs);
  clock.set(startSeconds + 3600);
  steadySeconds();
  clock.set(startSeconds);
  steadySeconds();
  clock.advance(settleMs);
  clock.set(startSeconds + settleMs / 1000 + 3600);
  assert.equal(steadySeconds(), startSeconds + settleMs / 1000);
});

test("the steady time follows a time of day that is slewed", () => {
  const clock = createManualClock(startSeconds);
  const steadySeconds = createSteadyTime(clock, settleMs);
  for (let second = 1; second <= 60; second++) {
    clock.advance(1_000);
    clock.set(startSeconds + second + Math.floor(second / 2));
    assert.equal(steadySeconds(), unixSeconds(clock));
  }
});
