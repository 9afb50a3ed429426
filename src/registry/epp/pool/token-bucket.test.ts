import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TokenBucket } from "#registry/epp/pool/token-bucket.ts";

/** A clock that advances only when it is read, so that the machine's speed does not matter. */
function createAskedClock(stepMs: number) {
  let nowMs = 0;
  return {
    now: () => new Date(nowMs),
    monotonicMs: () => {
      nowMs += stepMs;
      return nowMs;
    },
  };
}

describe("the token bucket", () => {
  for (const [perSecond, stepMs] of [
    [1000, 0.25],
    [500, 1],
    [200, 7],
  ] as const) {
    test(`lets no more than ${perSecond} pass in any second, after one second's worth at once`, async () => {
      const clock = createAskedClock(stepMs);
      const bucket = new TokenBucket(perSecond, clock);
      const takes = Array.from({ length: perSecond + 50 }, async () => {
        await bucket.take();
        return clock.monotonicMs();
      });
      const passedAtMs = await Promise.all(takes);
      for (const [index, atMs] of passedAtMs.entries()) {
        const allowed = perSecond + (atMs / 1000) * perSecond;
        assert.ok(index + 1 <= allowed, `${index + 1} had passed after ${atMs} ms`);
      }
    });
  }

  test("lets callers pass in the order in which they came", async () => {
    const bucket = new TokenBucket(1000, createAskedClock(0.1));
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 1_010 }, async (_, index) => {
        await bucket.take();
        order.push(index);
      }),
    );
    assert.deepEqual(
      order,
      order.toSorted((one, other) => one - other),
    );
  });

  test("lets earlier ranks pass first, and equal ranks in order", async () => {
    let nowMs = 0;
    const bucket = new TokenBucket(100, { now: () => new Date(nowMs), monotonicMs: () => nowMs });
    await Promise.all(Array.from({ length: 100 }, () => bucket.take()));
    const order: string[] = [];
    const takes = ["late 2", "late 2b", "early 1", "late 2c", "early 1b"].map(async (who) => {
      await bucket.take({ rankMs: Number(/\d/.exec(who)?.[0]) });
      order.push(who);
    });
    nowMs = 1_000;
    await Promise.all(takes);
    assert.deepEqual(order, ["early 1", "early 1b", "late 2", "late 2b", "late 2c"]);
  });

  test("keeps a fifth of a burst back from patient callers, until they have waited for two seconds", async () => {
    let nowMs = 0;
    const bucket = new TokenBucket(10, { now: () => new Date(nowMs), monotonicMs: () => nowMs });
    let patientCount = 0;
    let othersCount = 0;
    const patient = Array.from({ length: 10 }, () => bucket.take({ isPatient: true }).then(() => patientCount++));
    await Promise.all(patient.slice(0, 8));
    await Promise.all([bucket.take(), bucket.take()].map((taken) => taken.then(() => othersCount++)));
    assert.deepEqual({ patientCount, othersCount }, { patientCount: 8, othersCount: 2 });
    // Everything is used up again and again, and still they pass.
    nowMs = 2_000;
    for (let left = 8; left > 0; left--) await bucket.take();
    await Promise.all(patient);
    assert.equal(patientCount, 10);
  });

  test("saves up at most one second's worth", async () => {
    let nowMs = 0;
    const bucket = new TokenBucket(10, { now: () => new Date(nowMs), monotonicMs: () => nowMs });
    nowMs = 60_000;
    let passed = 0;
    const takes = Array.from({ length: 11 }, () => bucket.take().then(() => passed++));
    await Promise.all(takes.slice(0, 10));
    assert.equal(passed, 10);
    nowMs += 100;
    await Promise.all(takes);
    assert.equal(passed, 11);
  });
});
