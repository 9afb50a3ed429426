import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { feeNamespace } from "#registry/epp/namespaces.ts";
import type { SessionPurpose } from "#registry/epp/pool/pool.ts";
import { count, startFixture } from "#registry/epp/pool/test-pool.ts";
import { availabilityXml, offerXml, responseXml, type StandInRequest } from "#registry/epp/test-stand-in-server.ts";

const waitMs = 5_000;
const domainNamespace = "urn:ietf:params:xml:ns:domain-1.0";
const withFees = { requiredObjectURIs: [domainNamespace], optionalObjectURIs: [], extensionURIs: [feeNamespace] };
/** In a check that asks for the price of an ordinary name. */
const randomName = />[a-z]{20}\.example</;

/** The answer to a check: available at 9 EUR. */
function pricedXml({ clTRID, xml }: StandInRequest): string {
  const name = /<domain:name>([^<]*)</.exec(xml)?.[1] ?? "";
  const price = `<f:command name="create"><f:period unit="y">1</f:period><f:fee>9.00</f:fee></f:command>`;
  const fees = `<f:chkData xmlns:f="${feeNamespace}"><f:currency>EUR</f:currency><f:cd><f:objID>${name}</f:objID>${price}</f:cd></f:chkData>`;
  const answer = responseXml(1000, clTRID, availabilityXml(name, true));
  return answer.replace("<trID>", `<extension>${fees}</extension><trID>`);
}

const bulk = { budgetMs: waitMs, purpose: "bulk-check" } as const;

/** A clock that stands still, so that no limit of a rate refills; after the test it goes on, so that nothing waits for it. */
function stoppedClock(context: TestContext) {
  const clock = { nowMs: 0, now: () => new Date(clock.nowMs), monotonicMs: () => clock.nowMs };
  context.after(() => {
    clock.nowMs += 3_600_000;
  });
  return clock;
}

describe("bulk checks", () => {
  test("have a tenth of the registry's rate, and other checks the rest", async (context) => {
    const clock = stoppedClock(context);
    const { standIn, pool } = await startFixture(context, { sessionsMax: 4, commandsPerSecond: 100, clock });
    const asked = Array.from({ length: 12 }, (_, index) => pool.checkDomain(`bulk${index}.example`, bulk));
    await Promise.all(asked.slice(0, 10));
    await pool.checkDomain("other.example", { budgetMs: waitMs });
    assert.equal(count(standIn, "domain:check"), 11);
    clock.nowMs += 200;
    await Promise.all(asked);
    assert.equal(count(standIn, "domain:check"), 13);
  });

  test("never make another check of the same name wait", async (context) => {
    const clock = stoppedClock(context);
    const { standIn, pool } = await startFixture(context, { sessionsMax: 4, commandsPerSecond: 10, clock });
    await pool.checkDomain("first.example", bulk);
    const waiting = pool.checkDomain("same.example", bulk);
    assert.equal((await pool.checkDomain("same.example", { budgetMs: waitMs })).available, true);
    clock.nowMs += 1_000;
    assert.equal((await waiting).available, true);
    assert.equal(count(standIn, "domain:check"), 3);
  });

  test("never make another check wait for the ordinary price that they ask for", async (context) => {
    const { standIn, pool } = await startFixture(context, { services: withFees });
    const asked = Promise.withResolvers<StandInRequest>();
    let isFirst = true;
    standIn.script = (request) => {
      if (request.name === "connect") return { xml: offerXml([domainNamespace], [feeNamespace]) };
      if (request.name !== "domain:check") return undefined;
      const isHeld = isFirst && randomName.test(request.xml);
      if (!isHeld) return { xml: pricedXml(request) };
      isFirst = false;
      asked.resolve(request);
      return "silence";
    };
    const waiting = pool.checkDomain("bulk.example", bulk);
    const held = await asked.promise;
    assert.equal((await pool.checkDomain("other.example", { budgetMs: waitMs })).available, true);
    standIn.send(held.session, pricedXml(held));
    assert.equal((await waiting).available, true);
  });

  test("share the answer of another check of the same name", async (context) => {
    const { standIn, pool } = await startFixture(context);
    const checks = [pool.checkDomain("same.example", { budgetMs: waitMs }), pool.checkDomain("same.example", bulk)];
    assert.ok((await Promise.all(checks)).every(({ available }) => available));
    assert.equal(count(standIn, "domain:check"), 1);
  });

  test("get a session only when no other work waits for one, however long they have waited", async (context) => {
    const clock = stoppedClock(context);
    const { pool } = await startFixture(context, { sessionsMax: 1, clock });
    const order: string[] = [];
    const work = async (purpose: SessionPurpose) => {
      using _ = await pool.acquire(purpose, { waitMs });
      order.push(purpose);
    };
    const first = await pool.acquire("check", { waitMs });
    const works = [work("bulk-check")];
    clock.nowMs += 60_000;
    works.push(work("renewal"), work("change"), work("transform"), work("check"));
    first.release();
    await Promise.all(works);
    assert.deepEqual(order, ["check", "transform", "change", "renewal", "bulk-check"]);
  });

  test("never use the session that is reserved for other checks", async (context) => {
    const { pool } = await startFixture(context, { sessionsMax: 2 });
    using slow = await pool.acquire("transform", { waitMs });
    await assert.rejects(pool.acquire("bulk-check", { waitMs: 20 }), { reason: "pool-full" });
    using check = await pool.acquire("check", { waitMs });
    assert.ok(slow && check);
  });

  test("hold one session at a time", async (context) => {
    const { standIn, pool } = await startFixture(context, { sessionsMax: 4 });
    const names = Array.from({ length: 20 }, (_, index) => `bulk${index}.example`);
    await Promise.all(names.map((name) => pool.checkDomain(name, bulk)));
    assert.deepEqual([count(standIn, "login"), count(standIn, "domain:check")], [1, 20]);
  });
});
