import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#lib/secret.ts";
import { EppCheckRefused } from "#registry/epp/errors.ts";
import { count, startFixture } from "#registry/epp/pool/test-pool.ts";
import type { StandIn } from "#registry/epp/test-stand-in-server.ts";
import { availabilityXml, responseXml } from "#registry/epp/test-stand-in-server.ts";

const waitMs = 5_000;

describe("coalesced checks", () => {
  test("concurrent checks of one name share one command", async (context) => {
    const { standIn, pool } = await startFixture(context);
    const names = ["a.example", "b.example", "a.example", "a.example"];
    const answers = await Promise.all(names.map((name) => pool.checkDomain(name, { budgetMs: waitMs })));
    assert.ok(answers.every(({ available }) => available));
    assert.equal(count(standIn, "domain:check"), 2);
    await pool.checkDomain("a.example", { budgetMs: waitMs });
    assert.equal(count(standIn, "domain:check"), 3);
  });

  test("who has an allocation token shares an answer only with who has the same one", async (context) => {
    const { standIn, pool } = await startFixture(context);
    const ask = (token?: string) =>
      pool.checkDomain("a.example", {
        budgetMs: waitMs,
        allocationToken: token === undefined ? token : new Secret(token),
      });
    await Promise.all([ask(), ask("one"), ask("two"), ask("one"), ask()]);
    assert.equal(count(standIn, "domain:check"), 3);
  });

  test("a budget ends one caller's wait, not the command", async (context) => {
    const { standIn, pool } = await startFixture(context);
    const taken = (clTRID: string) => responseXml(1000, clTRID, availabilityXml("a.example", false, "In use"));
    standIn.script = ({ name, clTRID }) => (name === "domain:check" ? { lateMs: 100, xml: taken(clTRID) } : undefined);
    const patient = pool.checkDomain("a.example", { budgetMs: waitMs });
    await assert.rejects(pool.checkDomain("a.example", { budgetMs: 10 }), { name: "EppUnanswered", reason: "timeout" });
    assert.deepEqual(await patient, { available: false, reason: "In use" });
    assert.deepEqual([count(standIn, "domain:check"), count(standIn, "login")], [1, 1]);
  });

  test("a failure code is reported as a refused check", async (context) => {
    const { standIn, pool } = await startFixture(context);
    standIn.script = ({ name, clTRID }) => (name === "domain:check" ? { xml: responseXml(2306, clTRID) } : undefined);
    await assert.rejects(pool.checkDomain("a.example", { budgetMs: waitMs }), (error: Error) => {
      assert.ok(error instanceof EppCheckRefused);
      assert.equal(error.resultCode, 2306);
      return true;
    });
  });

  test("a check without callers is not sent, and a later caller gets a new one", async (context) => {
    const { standIn, pool } = await startFixture(context, { sessionsMax: 1 });
    const lease = await pool.acquire("transform", { waitMs });
    await assert.rejects(pool.checkDomain("a.example", { budgetMs: 10 }), { reason: "timeout" });
    await assert.rejects(pool.checkDomain("b.example", { budgetMs: 10 }), { reason: "timeout" });
    const wanted = ["b.example", "c.example"].map((name) => pool.checkDomain(name, { budgetMs: waitMs }));
    lease.release();
    assert.ok((await Promise.all(wanted)).every(({ available }) => available));
    const names = standIn.requests.map(({ xml }) => /<domain:name>([^<]*)</.exec(xml)?.[1]);
    assert.deepEqual(
      names.filter((name) => name),
      ["b.example", "c.example"],
    );
  });

  test("a check without callers is not sent either when it has a session and waits for the rate limit", async (context) => {
    let nowMs = 0;
    const clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs };
    const { standIn, pool } = await startFixture(context, { sessionsMax: 4, commandsPerSecond: 1, clock });
    await pool.checkDomain("a.example", { budgetMs: waitMs });
    const given = ["b.example", "c.example", "d.example"].map((name) => pool.checkDomain(name, { budgetMs: 100 }));
    for (const check of given) await assert.rejects(check, { reason: "timeout" });
    const wanted = pool.checkDomain("e.example", { budgetMs: waitMs });
    nowMs = 1_000;
    assert.equal((await wanted).available, true);
    assert.equal(count(standIn, "domain:check"), 2);
  });

  for (const [what, loss] of [
    ["closes", () => "close"],
    ["has forgotten", ({ clTRID }) => ({ xml: responseXml(2002, clTRID) })],
  ] as [string, StandIn["script"]][]) {
    test(`a check is repeated on another session when the registry ${what} its session`, async (context) => {
      const { standIn, pool } = await startFixture(context, { sessionsMax: 1 });
      (await pool.acquire("check", { waitMs })).release();
      standIn.script = (request) =>
        request.session === 0 && request.name === "domain:check" ? loss(request) : undefined;
      assert.equal((await pool.checkDomain("a.example", { budgetMs: waitMs })).available, true);
      assert.deepEqual([count(standIn, "domain:check"), count(standIn, "login")], [2, 2]);
    });
  }

  test("a check whose session the registry closes each time is tried three times", async (context) => {
    const { standIn, pool } = await startFixture(context);
    standIn.script = ({ name }) => (name === "domain:check" ? "close" : undefined);
    await assert.rejects(pool.checkDomain("a.example", { budgetMs: waitMs }), { reason: "closed" });
    assert.equal(count(standIn, "domain:check"), 3);
  });

  test("a check that is answered with 2501 is not repeated", async (context) => {
    const { standIn, pool } = await startFixture(context);
    standIn.script = ({ name, clTRID }) => (name === "domain:check" ? { xml: responseXml(2501, clTRID) } : undefined);
    await assert.rejects(pool.checkDomain("a.example", { budgetMs: waitMs }), { resultCode: 2501 });
    assert.equal(count(standIn, "domain:check"), 1);
  });
});
