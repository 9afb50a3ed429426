import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import { domainCheck } from "#registry/epp/commands/domain/check.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { EppNotSent, EppUnanswered } from "#registry/epp/errors.ts";
import type { CircuitStatus } from "#registry/epp/pool/circuit.ts";
import type { EppPool } from "#registry/epp/pool/pool.ts";
import { count, startFixture } from "#registry/epp/pool/test-pool.ts";
import type { StandIn } from "#registry/epp/test-stand-in-server.ts";
import { responseXml } from "#registry/epp/test-stand-in-server.ts";

const waitMs = 5_000;

/** Leaves commands of this name unanswered. */
function ignore(standIn: StandIn, name: string): void {
  standIn.script = (request) => (request.name === name ? "silence" : undefined);
}

/** Sends a command that is never answered, and waits until it fails. */
async function provoke(pool: EppPool, clTRID: string): Promise<void> {
  using lease = await pool.acquire("transform", { waitMs });
  await lease.request(domainInfo("example.com"), { clTRID, timeoutMs: 10 }).catch(() => undefined);
}

/** Sends a command that is answered with this code. */
async function answered(pool: EppPool, code: number): Promise<void> {
  using lease = await pool.acquire("transform", { waitMs });
  assert.equal((await lease.request(domainInfo("example.com"), { clTRID: `info-${code}` })).code, code);
}

describe("lending sessions", () => {
  test("a session is reused instead of opening another", async (context) => {
    const { standIn, pool } = await startFixture(context);
    for (const clTRID of ["one-1", "two-1", "three-1"]) {
      using lease = await pool.acquire("check", { waitMs });
      assert.equal((await lease.request(domainCheck("example.com"), { clTRID })).code, 1000);
    }
    assert.equal(count(standIn, "login"), 1);
  });

  test("one session is reserved for checks while slow work holds the others", async (context) => {
    const { pool } = await startFixture(context, { sessionsMax: 2 });
    using slow = await pool.acquire("transform", { waitMs });
    await assert.rejects(pool.acquire("poll", { waitMs: 20 }), { reason: "pool-full" });
    using check = await pool.acquire("check", { waitMs });
    assert.equal((await check.request(domainCheck("example.com"), { clTRID: "check-1" })).code, 1000);
    assert.ok(slow);
  });

  test("changes and renewals leave one session to orders that do not have time", async (context) => {
    const { pool } = await startFixture(context, { sessionsMax: 4 });
    using change = await pool.acquire("change", { waitMs });
    using renewal = await pool.acquire("renewal", { waitMs });
    await assert.rejects(pool.acquire("change", { waitMs: 20 }), { reason: "pool-full" });
    using create = await pool.acquire("transform", { waitMs });
    using check = await pool.acquire("check", { waitMs });
    assert.ok(change && renewal && create && check);
  });

  test("never opens more sessions than the registry allows, and serves waiting callers in order", async (context) => {
    const { standIn, pool } = await startFixture(context, { sessionsMax: 3 });
    const order: number[] = [];
    const work = async (index: number) => {
      using lease = await pool.acquire("check", { waitMs });
      order.push(index);
      await lease.request(domainCheck("example.com"), { clTRID: `check-${index}` });
    };
    await Promise.all(Array.from({ length: 12 }, (_, index) => work(index)));
    assert.deepEqual(
      order,
      order.toSorted((one, other) => one - other),
    );
    assert.equal(count(standIn, "login"), 3);
  });

  test("a check precedes other waiting work, but not work that has waited for a second", async (context) => {
    let nowMs = 0;
    const clock = { ...systemClock, monotonicMs: () => nowMs };
    const { pool } = await startFixture(context, { sessionsMax: 1, clock });
    const order: string[] = [];
    const work = async (what: string, purpose: "check" | "transform") => {
      using _ = await pool.acquire(purpose, { waitMs });
      order.push(what);
    };
    const first = await pool.acquire("check", { waitMs });
    const works = [work("create", "transform")];
    nowMs += 999;
    works.push(work("check", "check"));
    nowMs += 2;
    works.push(work("late check", "check"));
    first.release();
    await Promise.all(works);
    assert.deepEqual(order, ["check", "create", "late check"]);
  });

  test("other work precedes waiting renewals, unless it comes three seconds after them", async (context) => {
    let nowMs = 0;
    const clock = { ...systemClock, monotonicMs: () => nowMs };
    const { pool } = await startFixture(context, { sessionsMax: 1, clock });
    const order: string[] = [];
    const work = async (what: string, purpose: "check" | "transform" | "renewal") => {
      using _ = await pool.acquire(purpose, { waitMs });
      order.push(what);
    };
    const first = await pool.acquire("check", { waitMs });
    const works = [work("renewal", "renewal"), work("other renewal", "renewal")];
    nowMs += 2_999;
    works.push(work("create", "transform"));
    nowMs += 2;
    works.push(work("late create", "transform"), work("check", "check"));
    first.release();
    await Promise.all(works);
    assert.deepEqual(order, ["check", "create", "renewal", "other renewal", "late create"]);
  });

  test("a check precedes slow work also when both wait for the rate limit", async (context) => {
    const { standIn, pool } = await startFixture(context, { sessionsMax: 5, commandsPerSecond: 2 });
    const kept = await pool.acquire("check", { waitMs });
    const leases = await Promise.all(Array.from({ length: 4 }, () => pool.acquire("transform", { waitMs })));
    kept.release();
    const slow = leases.map((lease, index) =>
      lease.request(domainInfo("example.com"), { clTRID: `slow-${index}` }).finally(() => lease.release()),
    );
    await Promise.all([...slow, pool.checkDomain("a.example", { budgetMs: waitMs })]);
    const sent = standIn.requests.map(({ name }) => name).filter((name) => name.startsWith("domain:"));
    assert.deepEqual(sent, ["domain:info", "domain:info", "domain:check", "domain:info", "domain:info"]);
  });

  test("a single session serves every purpose", async (context) => {
    const { pool } = await startFixture(context, { sessionsMax: 1 });
    for (const purpose of ["transform", "poll", "check"] as const) (await pool.acquire(purpose, { waitMs })).release();
  });

  test("a lease that is released while its command is unanswered closes the session", async (context) => {
    const { standIn, pool } = await startFixture(context, { sessionsMax: 1 });
    ignore(standIn, "domain:info");
    const lease = await pool.acquire("transform", { waitMs });
    const answer = lease.request(domainInfo("example.com"), { clTRID: "info-1" });
    while (count(standIn, "domain:info") === 0) await delay(5);
    lease.release();
    await assert.rejects(answer, EppUnanswered);
    using next = await pool.acquire("check", { waitMs });
    assert.equal((await next.request(domainCheck("example.com"), { clTRID: "check-1" })).code, 1000);
    await assert.rejects(lease.request(domainInfo("example.com"), { clTRID: "info-2" }), EppNotSent);
  });

  test("believes a registry that allows fewer sessions than the settings say", async (context) => {
    const { standIn, pool } = await startFixture(context, { sessionsMax: 3 });
    standIn.script = ({ name, clTRID, session }) =>
      name === "login" && session > 0 ? { xml: responseXml(2502, clTRID) } : undefined;
    const lease = await pool.acquire("check", { waitMs });
    const waiting = pool.acquire("check", { waitMs });
    while (count(standIn, "login") < 2) await delay(5);
    while (standIn.open() > 1) await delay(5);
    lease.release();
    (await waiting).release();
    using again = await pool.acquire("check", { waitMs });
    await assert.rejects(pool.acquire("check", { waitMs: 20 }), { reason: "pool-full" });
    assert.ok(again);
    assert.equal(count(standIn, "login"), 2);
  });

  test("refuses settings with which no login can succeed", async (context) => {
    for (const wrong of [
      { password: new Secret("short") },
      { password: new Secret("x".repeat(129)) },
      { registrarId: "x" },
      { sessionsMax: 0 },
      { commandsPerSecond: 0 },
    ]) {
      await assert.rejects(startFixture(context, wrong), RangeError);
    }
  });
});

describe("the circuit", () => {
  const quick = {
    faultsMax: 3,
    faultWindowMs: 60_000,
    probeDelayMsMin: 60_000,
    probeDelayMsMax: 600_000,
    refusedDelayMs: 60_000,
  };

  async function startWithCircuit(context: TestContext, circuit: Partial<typeof quick> = {}) {
    const states: CircuitStatus["state"][] = [];
    const onCircuit = ({ state }: CircuitStatus) => states.push(state);
    return { ...(await startFixture(context, { circuit: { ...quick, ...circuit }, onCircuit })), states };
  }

  test("opens after enough unanswered commands, and nothing is sent while it is open", async (context) => {
    const { standIn, pool, states } = await startWithCircuit(context);
    ignore(standIn, "domain:info");
    for (const clTRID of ["one-1", "two-1", "three-1"]) await provoke(pool, clTRID);
    assert.deepEqual(states, ["open"]);
    const logins = count(standIn, "login");
    await assert.rejects(pool.acquire("check", { waitMs }), (error: { reason: string; retryAfterMs: number }) => {
      assert.equal(error.reason, "circuit-open");
      assert.ok(error.retryAfterMs > 0);
      return true;
    });
    assert.equal(count(standIn, "login"), logins);
    assert.equal(pool.circuit().state, "open");
  });

  for (const code of [2400, 2500, 2502]) {
    test(`counts the registry's own failure ${code}`, async (context) => {
      const { standIn, pool, states } = await startWithCircuit(context);
      standIn.script = ({ name, clTRID }) => (name === "domain:info" ? { xml: responseXml(code, clTRID) } : undefined);
      for (let fault = 0; fault < 3; fault += 1) await answered(pool, code);
      assert.deepEqual(states, ["open"]);
    });
  }

  test("opens at once when a command is answered with 2501, because registries lock accounts", async (context) => {
    const { standIn, pool, states } = await startWithCircuit(context);
    standIn.script = ({ name, clTRID }) => (name === "domain:info" ? { xml: responseXml(2501, clTRID) } : undefined);
    await answered(pool, 2501);
    assert.deepEqual(states, ["open"]);
  });

  for (const [what, answer] of [
    ["a closed connection", "close"],
    ["an answer that is not EPP", { xml: "<html/>" }],
  ] as const) {
    test(`counts ${what}`, async (context) => {
      const { standIn, pool, states } = await startWithCircuit(context);
      standIn.script = ({ name }) => (name === "domain:info" ? answer : undefined);
      for (let fault = 0; fault < 3; fault += 1) await assert.rejects(answered(pool, 1000), EppUnanswered);
      assert.deepEqual(states, ["open"]);
    });
  }

  test("does not count answers that are about the command or the session", async (context) => {
    const { standIn, pool, states } = await startWithCircuit(context);
    let code = 0;
    standIn.script = ({ name, clTRID }) => (name === "domain:info" ? { xml: responseXml(code, clTRID) } : undefined);
    const codes = [2001, 2002, 2003, 2004, 2005, 2100, 2101, 2102, 2103, 2104, 2105, 2106, 2200, 2201, 2202];
    for (code of [...codes, 2300, 2301, 2302, 2303, 2304, 2305, 2306, 2307, 2308]) await answered(pool, code);
    assert.deepEqual(states, []);
  });

  for (const code of [2200, 2501]) {
    test(`opens at once when login is refused with ${code}`, async (context) => {
      const { standIn, pool, states } = await startWithCircuit(context);
      standIn.script = ({ name, clTRID }) => (name === "login" ? { xml: responseXml(code, clTRID) } : undefined);
      await assert.rejects(pool.acquire("check", { waitMs }), { name: "EppUnavailable" });
      assert.deepEqual(states, ["open"]);
      assert.equal(count(standIn, "login"), 1);
    });
  }

  test("probes until a login succeeds, and then lends that session", async (context) => {
    const { standIn, pool, states } = await startWithCircuit(context, {
      probeDelayMsMin: 20,
      probeDelayMsMax: 40,
      refusedDelayMs: 20,
    });
    let refusals = 0;
    standIn.script = ({ name, clTRID }) => {
      if (name !== "login" || refusals === 3) return undefined;
      refusals += 1;
      return { xml: responseXml(2200, clTRID) };
    };
    await assert.rejects(pool.acquire("check", { waitMs }), { name: "EppUnavailable" });
    while (pool.circuit().state !== "closed") await delay(5);
    assert.deepEqual(states, ["open", "half-open", "open", "half-open", "open", "half-open", "closed"]);
    using lease = await pool.acquire("check", { waitMs });
    assert.equal((await lease.request(domainCheck("example.com"), { clTRID: "check-1" })).code, 1000);
    assert.equal(count(standIn, "login"), 4);
  });
});

describe("draining", () => {
  test("waits for commands in progress, logs out, and lends no more", async (context) => {
    const { standIn, pool } = await startFixture(context);
    standIn.script = ({ name, clTRID }) =>
      name === "domain:info" ? { lateMs: 100, xml: responseXml(2303, clTRID) } : undefined;
    (await pool.acquire("check", { waitMs })).release();
    const lease = await pool.acquire("transform", { waitMs });
    const answer = lease.request(domainInfo("example.com"), { clTRID: "info-1" }).finally(() => lease.release());
    const drained = pool.drain(waitMs);
    await assert.rejects(pool.acquire("check", { waitMs }), { reason: "draining" });
    assert.equal((await answer).code, 2303);
    await drained;
    assert.equal(count(standIn, "logout"), count(standIn, "login"));
    while (standIn.open() > 0) await delay(5);
  });

  test("refuses waiting callers, and closes the sessions when its time is over", async (context) => {
    const { standIn, pool } = await startFixture(context, { sessionsMax: 1 });
    ignore(standIn, "domain:info");
    const lease = await pool.acquire("transform", { waitMs });
    const waiting = assert.rejects(pool.acquire("check", { waitMs }), { reason: "draining" });
    const answer = assert.rejects(lease.request(domainInfo("example.com"), { clTRID: "info-1" }), EppUnanswered);
    await pool.drain(50);
    await Promise.all([waiting, answer]);
    lease.release();
    while (standIn.open() > 0) await delay(5);
  });

  test("aborts a session that is still opening", async (context) => {
    const { standIn, pool } = await startFixture(context);
    standIn.script = () => "silence";
    const waiting = assert.rejects(pool.acquire("check", { waitMs }), { reason: "draining" });
    while (standIn.requests.length === 0) await delay(5);
    await pool.drain(10);
    await waiting;
    while (standIn.open() > 0) await delay(5);
  });
});
