import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { systemRandom } from "#lib/random.ts";
import { domainCheck } from "#registry/epp/commands/domain/check.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { EppUnanswered } from "#registry/epp/errors.ts";
import { count, startFixture } from "#registry/epp/pool/test-pool.ts";
import { availabilityXml, responseXml } from "#registry/epp/test-stand-in-server.ts";

const waitMs = 5_000;
const patientCircuit = { faultsMax: 1_000 };

/** Waits until the condition holds. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(2);
}

describe("sessions that are kept open", () => {
  test("are opened in advance, so that the first command needs no handshake", async (context) => {
    const { standIn, pool } = await startFixture(context, { sessionsMax: 4, sessionsMin: 2 });
    await until(() => count(standIn, "login") === 2);
    const answers = await Promise.all(
      ["one-1", "two-1"].map(async (clTRID) => {
        using lease = await pool.acquire("check", { waitMs });
        return await lease.request(domainCheck("example.com"), { clTRID });
      }),
    );
    assert.deepEqual(
      answers.map(({ code }) => code),
      [1000, 1000],
    );
    assert.equal(count(standIn, "login"), 2);
  });

  test("are replaced when the registry ends one", async (context) => {
    const { standIn } = await startFixture(context, { sessionsMin: 1 });
    await until(() => count(standIn, "login") === 1);
    standIn.drop();
    await until(() => count(standIn, "login") === 2);
    assert.equal(standIn.open(), 1);
  });

  test("are opened again after an outage of the registry", async (context) => {
    const { standIn, pool } = await startFixture(context, {
      sessionsMin: 2,
      circuit: { faultsMax: 2, probeDelayMsMin: 10, probeDelayMsMax: 20 },
      timeouts: { loginPauseFirstMs: 2, loginPauseMsMax: 4 },
    });
    await until(() => count(standIn, "login") === 2);
    standIn.script = ({ name }) => (name === "connect" ? "close" : undefined);
    standIn.drop();
    await until(() => pool.circuit().state === "open");
    standIn.script = () => undefined;
    await until(() => pool.circuit().state === "closed" && standIn.open() === 2);
  });

  test("are closed when the pool is drained, and stay closed", async (context) => {
    const { standIn, pool } = await startFixture(context, { sessionsMin: 2 });
    await until(() => count(standIn, "login") === 2);
    await pool.drain(waitMs);
    await until(() => standIn.open() === 0);
    assert.deepEqual([count(standIn, "login"), count(standIn, "logout")], [2, 2]);
  });
});

describe("logins that fail", () => {
  /** The longest random pauses. */
  const random = { ...systemRandom, below: (limit: number) => limit - 1 };

  test("are not repeated at once: callers meanwhile get the reason, and nothing is sent", async (context) => {
    const { standIn, pool } = await startFixture(context, {
      random,
      circuit: patientCircuit,
      timeouts: { loginPauseFirstMs: 60_000, loginPauseMsMax: 60_000 },
    });
    standIn.script = ({ name, clTRID }) => (name === "login" ? { xml: responseXml(2400, clTRID) } : undefined);
    for (let round = 0; round < 5; round += 1) {
      await assert.rejects(pool.acquire("check", { waitMs }), { reason: "login", resultCode: 2400 });
    }
    assert.equal(count(standIn, "login"), 1);
  });

  test("are repeated after a pause, also for callers who wait for a session", async (context) => {
    const { standIn, pool } = await startFixture(context, {
      random,
      circuit: patientCircuit,
      sessionsMax: 3,
      timeouts: { loginPauseFirstMs: 2, loginPauseMsMax: 8 },
    });
    using first = await pool.acquire("check", { waitMs });
    let failures = 0;
    standIn.script = ({ name, clTRID }) => {
      if (name !== "login" || failures === 4) return undefined;
      failures += 1;
      return { xml: responseXml(2400, clTRID) };
    };
    using second = await pool.acquire("check", { waitMs });
    assert.ok(first && second);
    assert.deepEqual([failures, count(standIn, "login")], [4, 6]);
  });
});

describe("the registry's limits", () => {
  test("there are never more sessions than allowed, however they end, and each is counted once", async (context) => {
    const sessionsMax = 3;
    const { standIn, pool } = await startFixture(context, {
      sessionsMax,
      sessionsMin: 2,
      circuit: patientCircuit,
      timeouts: { loginPauseFirstMs: 1, loginPauseMsMax: 2 },
    });
    let mostOpen = 0;
    standIn.script = ({ name, clTRID }) => {
      mostOpen = Math.max(mostOpen, standIn.open());
      if (name === "domain:check" && clTRID.endsWith("3")) return { xml: responseXml(2500, clTRID) };
      if (name === "domain:check" && clTRID.endsWith("7")) return { half: responseXml(1000, clTRID) };
      return undefined;
    };
    const work = async (index: number) => {
      using lease = await pool.acquire(index % 2 === 0 ? "check" : "transform", { waitMs: 60_000 });
      await lease.request(domainCheck("example.com"), { clTRID: `work-${index}` }).catch(() => undefined);
    };
    await Promise.all(Array.from({ length: 100 }, (_, index) => work(index)));
    assert.equal(count(standIn, "domain:check"), 100);
    assert.ok(count(standIn, "login") >= 20, "sessions were lost and opened again");
    assert.ok(mostOpen <= sessionsMax, `${mostOpen} sessions were open`);
  });

  test("there are never more commands than allowed, counted at the registry", async (context) => {
    let nowMs = 0;
    const clock = { now: () => new Date(0), monotonicMs: () => nowMs };
    const { standIn, pool } = await startFixture(context, { commandsPerSecond: 5, sessionsMax: 3, clock });
    const work = Array.from({ length: 12 }, async (_, index) => {
      using lease = await pool.acquire("check", { waitMs: 60_000 });
      await lease.request(domainCheck("example.com"), { clTRID: `work-${index}` });
    });
    const arrived = () => count(standIn, "domain:check");
    await until(() => arrived() >= 5);
    for (let passed = 6; passed <= 12; passed += 1) {
      nowMs += 199;
      assert.equal(arrived(), passed - 1);
      nowMs += 1;
      await until(() => arrived() >= passed);
    }
    await Promise.all(work);
    assert.equal(arrived(), 12);
  });
});

describe("an answer that comes late", () => {
  test("is never read as the next command's answer, even with its clTRID", async (context) => {
    const { standIn, pool } = await startFixture(context, { sessionsMax: 1, circuit: patientCircuit });
    const taken = (clTRID: string) => responseXml(1000, clTRID, availabilityXml("example.com", false, "late"));
    let isLateSent: boolean | undefined;
    standIn.script = ({ name, clTRID, session }) => {
      if (name !== "domain:check") return undefined;
      if (clTRID === "first-1") return "silence";
      // The first session's answer, with the clTRID of the command that waits now.
      isLateSent = standIn.send(session - 1, taken(clTRID));
      return undefined;
    };
    const command = domainCheck("example.com");
    {
      using lease = await pool.acquire("check", { waitMs });
      await assert.rejects(lease.request(command, { clTRID: "first-1", timeoutMs: 20 }), { reason: "timeout" });
      standIn.send(0, taken("second-1"));
    }
    using lease = await pool.acquire("check", { waitMs });
    const answer = await lease.request(command, { clTRID: "second-1" });
    assert.equal(answer.data?.available, true);
    assert.notEqual(isLateSent, undefined);
    const sessions = standIn.requests.filter(({ name }) => name === "domain:check").map(({ session }) => session);
    assert.deepEqual(sessions, [0, 1]);
  });

  test("ends its session, even if no command waits on it", async (context) => {
    const { standIn, pool } = await startFixture(context, { sessionsMax: 1, circuit: patientCircuit });
    (await pool.acquire("check", { waitMs })).release();
    standIn.send(0, responseXml(1000, "second-1", availabilityXml("example.com", false, "late")));
    await until(() => standIn.open() === 0);
    using lease = await pool.acquire("check", { waitMs });
    const answer = await lease.request(domainCheck("example.com"), { clTRID: "second-1" });
    assert.deepEqual([answer.data?.available, count(standIn, "login")], [true, 2]);
  });

  test("to a released lease is read by no other command", async (context) => {
    const { standIn, pool } = await startFixture(context, { sessionsMax: 1, circuit: patientCircuit });
    standIn.script = ({ name }) => (name === "domain:info" ? "silence" : undefined);
    const lease = await pool.acquire("transform", { waitMs });
    const lost = assert.rejects(lease.request(domainInfo("example.com"), { clTRID: "info-1" }), EppUnanswered);
    await until(() => count(standIn, "domain:info") === 1);
    lease.release();
    standIn.send(0, responseXml(2303, "info-1"));
    await lost;
  });
});
