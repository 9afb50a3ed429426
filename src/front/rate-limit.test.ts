import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createCounts } from "#front/counts.ts";
import { createRateLimiter, createSourceBudget, rateLimitHeaders } from "#front/rate-limit.ts";
import { createManualClock } from "../../test/harness/manual-clock.ts";

const windowMs = 60_000;

function limiterAt() {
  const clock = createManualClock(1700000000);
  return { clock, limiter: createRateLimiter({ clock, windowMs }) };
}

function budgetAt() {
  const clock = createManualClock(1700000000);
  const limits = { failuresMax: 3, knownGoodFailuresMax: 2 };
  return { clock, budget: createSourceBudget({ ...createCounts({ clock, windowMs }), ...limits }) };
}

test("counts this request, and stops counting at the limit", () => {
  const { limiter } = limiterAt();
  const answers = [1, 2, 3].map(() => limiter.take("a", 2));
  assert.deepEqual(answers, [
    { allowed: true, limit: 2, usage: 1, remaining: 1, resetSeconds: 60 },
    { allowed: true, limit: 2, usage: 2, remaining: 0, resetSeconds: 60 },
    { allowed: false, limit: 2, usage: 2, remaining: 0, resetSeconds: 60 },
  ]);
  assert.equal(limiter.take("b", 2).allowed, true, "another key has its own window");
});

test("counts several at once, or none of them if they exceed the limit", () => {
  const { limiter } = limiterAt();
  assert.equal(limiter.take("a", 5, 3).usage, 3);
  assert.deepEqual(limiter.take("a", 5, 3), { allowed: false, limit: 5, usage: 3, remaining: 2, resetSeconds: 60 });
  assert.deepEqual(limiter.take("a", 5, 2), { allowed: true, limit: 5, usage: 5, remaining: 0, resetSeconds: 60 });
});

test("begins a window with the first request of an idle key, and says in whole seconds when it ends", () => {
  const { clock, limiter } = limiterAt();
  clock.advance(59_000);
  limiter.take("a", 1);
  clock.advance(windowMs - 1);
  assert.deepEqual(limiter.take("a", 1), { allowed: false, limit: 1, usage: 1, remaining: 0, resetSeconds: 1 });
  clock.advance(1);
  assert.deepEqual(limiter.peek("a", 1), { allowed: true, limit: 1, usage: 0, remaining: 1, resetSeconds: 0 });
  assert.equal(limiter.take("a", 1).allowed, true);
});

test("looks without counting", () => {
  const { limiter } = limiterAt();
  assert.equal(limiter.peek("a", 1).resetSeconds, 0);
  limiter.take("a", 2);
  for (let look = 0; look < 3; look += 1) assert.equal(limiter.peek("a", 2).usage, 1);
  limiter.take("a", 2);
  assert.equal(limiter.peek("a", 2).allowed, false);
});

test("applies a limit that has changed in the meantime", () => {
  const { limiter } = limiterAt();
  for (let count = 0; count < 5; count += 1) limiter.take("a", 5);
  assert.deepEqual(limiter.take("a", 3), { allowed: false, limit: 3, usage: 3, remaining: 0, resetSeconds: 60 });
  assert.equal(limiter.take("a", 6).usage, 6);
  assert.deepEqual(limiter.take("b", 0), { allowed: false, limit: 0, usage: 0, remaining: 0, resetSeconds: 60 });
});

test("never moves with the time of day", () => {
  const { clock, limiter } = limiterAt();
  limiter.take("a", 1);
  clock.set(1800000000);
  assert.equal(limiter.take("a", 1).allowed, false);
});

test("allows at most the limit in any window, whatever the times and keys", () => {
  const steps = fc.array(fc.record({ waitMs: fc.integer({ min: 0, max: windowMs }), key: fc.constantFrom("a", "b") }));
  fc.assert(
    fc.property(steps, (requests) => {
      const { clock, limiter } = limiterAt();
      const begins = new Map<string, { atMs: number; count: number }>();
      for (const { waitMs, key } of requests) {
        clock.advance(waitMs);
        const nowMs = clock.monotonicMs();
        let own = begins.get(key);
        if (!own || nowMs - own.atMs >= windowMs) own = { atMs: nowMs, count: 0 };
        begins.set(key, own);
        own.count += 1;
        const { allowed, usage, remaining, resetSeconds } = limiter.take(key, 3);
        assert.equal(allowed, own.count <= 3);
        assert.deepEqual([usage, usage + remaining], [Math.min(own.count, 3), 3]);
        assert.equal(resetSeconds, Math.ceil((own.atMs + windowMs - nowMs) / 1000));
      }
    }),
  );
});

test("forgets the oldest windows rather than grow without end", () => {
  const { limiter } = limiterAt();
  for (let count = 0; count <= 200_000; count += 1) limiter.take(`key ${count}`, 1);
  assert.equal(limiter.peek("key 0", 1).allowed, true);
  assert.equal(limiter.peek("key 200000", 1).allowed, false);
  assert.equal(limiter.peek("key 100000", 1).allowed, false);
});

test("writes the four headers in lower case", () => {
  const rateLimit = { allowed: true, limit: 100, usage: 1, remaining: 99, resetSeconds: 60 };
  assert.deepEqual(rateLimitHeaders(rateLimit), {
    "x-ratelimit-limit": "100",
    "x-ratelimit-usage": "1",
    "x-ratelimit-remaining": "99",
    "x-ratelimit-reset": "60",
  });
});

test("refuses a source after too many failures, for the rest of its window", () => {
  const { clock, budget } = budgetAt();
  assert.deepEqual(budget.check("192.0.2.1"), { allowed: true, limit: 3, usage: 0, remaining: 3, resetSeconds: 0 });
  assert.equal(budget.noteFailure("192.0.2.1").usage, 1);
  budget.noteFailure("192.0.2.1", "key");
  budget.noteFailure("192.0.2.1");
  assert.equal(budget.check("192.0.2.1").allowed, false);
  assert.equal(budget.check("192.0.2.1", "key").allowed, false);
  assert.equal(budget.check("192.0.2.2").allowed, true);
  clock.advance(windowMs);
  assert.equal(budget.check("192.0.2.1").allowed, true);
});

test("keeps a small budget for a key that was good from a source whose budget is spent", () => {
  const { budget } = budgetAt();
  budget.noteGood("192.0.2.1", "good");
  for (let count = 0; count < 10; count += 1) budget.noteFailure("192.0.2.1", "guessed");
  assert.equal(budget.check("192.0.2.1").allowed, false);
  assert.equal(budget.check("192.0.2.1", "guessed").allowed, false);
  assert.deepEqual(budget.check("192.0.2.1", "good"), {
    allowed: true,
    limit: 2,
    usage: 0,
    remaining: 2,
    resetSeconds: 0,
  });
  budget.noteFailure("192.0.2.1", "good");
  assert.equal(budget.check("192.0.2.1", "good").remaining, 1);
  budget.noteFailure("192.0.2.1", "good");
  assert.equal(budget.check("192.0.2.1", "good").allowed, false);
});

test("calls a key good only from the source where it was good, and only recently", () => {
  const { clock, budget } = budgetAt();
  budget.noteGood("192.0.2.1", "good");
  const spend = () => {
    for (const address of ["192.0.2.1", "192.0.2.2"])
      for (let count = 0; count < 3; count += 1) budget.noteFailure(address);
  };
  spend();
  assert.equal(budget.check("192.0.2.1", "good").allowed, true);
  assert.equal(budget.check("192.0.2.2", "good").allowed, false);
  clock.advance(24 * 60 * 60 * 1000);
  spend();
  assert.equal(budget.check("192.0.2.1", "good").allowed, false);
});

test("counts an IPv6 source by its /64, and an IPv4-mapped one as IPv4", () => {
  const same: [string, string][] = [
    ["2001:db8::1", "2001:db8:0:0:ffff::2"],
    ["2001:db8:1:2:3:4:5:6", "2001:0DB8:0001:0002::"],
    ["fe80::1%eth0", "fe80::2"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::ffff:c000:201", "192.0.2.1"],
    ["64:ff9b::192.0.2.1", "64:ff9b::192.0.2.2"],
    ["::1", "::2"],
  ];
  const different: [string, string][] = [
    ["2001:db8:0:1::1", "2001:db8:0:2::1"],
    ["::ffff:192.0.2.1", "192.0.2.2"],
    ["::1", "0.0.0.1"],
  ];
  const isCountedTogether = (first: string, second: string) => {
    const { budget } = budgetAt();
    budget.noteFailure(first);
    return budget.check(second).usage === 1;
  };
  for (const [first, second] of same) assert.ok(isCountedTogether(first, second), `${first} ${second}`);
  for (const [first, second] of different) assert.ok(!isCountedTogether(first, second), `${first} ${second}`);
});
