import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import { domainCheck } from "#registry/epp/commands/domain/check.ts";
import { domainCreate } from "#registry/epp/commands/domain/create.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { EppNotSent, EppUnanswered, EppUnavailable } from "#registry/epp/errors.ts";
import { count, startFixture } from "#registry/epp/pool/test-pool.ts";
import type { StandIn, StandInAnswer, StandInRequest } from "#registry/epp/test-stand-in-server.ts";
import { availabilityXml, greetingXml, responseXml } from "#registry/epp/test-stand-in-server.ts";
import { EppFrameInvalid } from "#registry/epp/xml/schema.ts";

const waitMs = 5_000;
const checkCommand = domainCheck("example.com");

/** Answers commands of this name as given, and all others with the default. */
function script(standIn: StandIn, name: string, answer: (request: StandInRequest) => StandInAnswer): void {
  standIn.script = (request) => (request.name === name ? answer(request) : undefined);
}

/** Runs a check that is answered as given, and then a second one in the same pool. */
async function misbehave(context: TestContext, answer: (request: StandInRequest) => StandInAnswer) {
  const { standIn, pool } = await startFixture(context, { sessionsMax: 1 });
  script(standIn, "domain:check", answer);
  const lease = await pool.acquire("check", { waitMs });
  const failure = await lease
    .request(checkCommand, { clTRID: "first-1", timeoutMs: 150 })
    .catch((error: unknown) => error);
  const again = await lease.request(checkCommand, { clTRID: "first-2" }).catch((error: unknown) => error);
  lease.release();
  standIn.script = () => undefined;
  using next = await pool.acquire("check", { waitMs });
  const { code } = await next.request(checkCommand, { clTRID: "second-1" });
  return { failure, again, code, logins: count(standIn, "login"), sent: standIn.requests.map(({ clTRID }) => clTRID) };
}

describe("an answer that can't be trusted", () => {
  const right = ({ clTRID }: StandInRequest) => responseXml(1000, clTRID, availabilityXml("example.com", true));
  const cases: [string, string, (request: StandInRequest) => StandInAnswer][] = [
    ["no answer in time", "timeout", () => "silence"],
    ["an answer that comes too late", "timeout", (request) => ({ lateMs: 250, xml: right(request) })],
    ["a closed connection", "closed", () => "close"],
    ["half a frame and a closed connection", "closed", (request) => ({ half: right(request) })],
    ["an impossible length", "malformed", () => ({ bytes: Buffer.from("HTTP/1.1 400 Bad Request\r\n") })],
    ["a frame that isn't XML", "malformed", () => ({ xml: "garbage" })],
    ["a frame that isn't UTF-8", "malformed", () => ({ bytes: Buffer.of(0, 0, 0, 6, 0xff, 0xfe) })],
    ["XML that isn't EPP", "malformed", () => ({ xml: "<html/>" })],
    ["a greeting in place of a response", "malformed", () => ({ xml: greetingXml })],
    ["a success without its data", "malformed", ({ clTRID }) => ({ xml: responseXml(1000, clTRID) })],
    ["another command's clTRID", "wrong-clTRID", () => ({ xml: responseXml(1000, "other-1") })],
    ["no clTRID", "wrong-clTRID", () => ({ xml: responseXml(2001, "") })],
  ];
  for (const [what, reason, answer] of cases) {
    test(`${what} leaves the command unanswered, and its session is not used again`, async (context) => {
      const { failure, again, code, logins, sent } = await misbehave(context, answer);
      assert.ok(failure instanceof EppUnanswered, `${failure}`);
      assert.equal(failure.reason, reason);
      assert.ok(again instanceof EppNotSent, `${again}`);
      assert.equal(code, 1000);
      assert.equal(logins, 2);
      assert.ok(!sent.includes("first-2"));
    });
  }

  test("an unsolicited frame ends the session before it can be taken for an answer", async (context) => {
    const { standIn, pool } = await startFixture(context, { sessionsMax: 1 });
    script(standIn, "domain:check", (request) => ({
      bytes: Buffer.concat([frame(right(request)), frame(right(request))]),
    }));
    using lease = await pool.acquire("check", { waitMs });
    assert.equal((await lease.request(checkCommand, { clTRID: "first-1" })).code, 1000);
    await assert.rejects(lease.request(checkCommand, { clTRID: "second-1" }), EppNotSent);
  });

  test("an answer that arrives byte by byte is read", async (context) => {
    const { standIn, pool } = await startFixture(context);
    script(standIn, "domain:check", (request) => ({ dribble: right(request) }));
    using lease = await pool.acquire("check", { waitMs });
    assert.equal((await lease.request(checkCommand, { clTRID: "first-1" })).data?.available, true);
  });
});

function frame(xml: string): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt32BE(4 + Buffer.byteLength(xml));
  return Buffer.concat([header, Buffer.from(xml)]);
}

describe("a session", () => {
  test("returns any result code, and stays open after those that do not end it", async (context) => {
    const { standIn, pool } = await startFixture(context);
    using lease = await pool.acquire("transform", { waitMs });
    for (const code of [2001, 2201, 2302, 2304, 2400]) {
      script(standIn, "domain:info", ({ clTRID }) => ({ xml: responseXml(code, clTRID) }));
      const response = await lease.request(domainInfo("example.com"), { clTRID: `info-${code}` });
      assert.deepEqual([response.code, response.svTRID, response.data], [code, "sv-1", undefined]);
    }
    assert.equal(count(standIn, "login"), 1);
  });

  for (const code of [2002, 2200, 2202, 2500, 2501, 2502]) {
    test(`is not used again after ${code}`, async (context) => {
      const { standIn, pool } = await startFixture(context);
      script(standIn, "domain:info", ({ clTRID }) => ({ xml: responseXml(code, clTRID) }));
      using lease = await pool.acquire("transform", { waitMs });
      assert.equal((await lease.request(domainInfo("example.com"), { clTRID: "info-1" })).code, code);
      await assert.rejects(lease.request(domainInfo("example.com"), { clTRID: "info-2" }), EppNotSent);
    });
  }

  test("stays usable after a create whose answer is a success without data", async (context) => {
    const { standIn, pool } = await startFixture(context, { sessionsMax: 1 });
    script(standIn, "domain:create", ({ clTRID }) => ({ xml: responseXml(1000, clTRID) }));
    const create = domainCreate({ name: "example.com", periodYears: 1, authInfo: new Secret("auth-SECRET") });
    for (let number = 1; number <= 6; number += 1) {
      using lease = await pool.acquire("transform", { waitMs });
      const { code, data } = await lease.request(create, { clTRID: `create-${number}` });
      assert.deepEqual([code, data], [1000, undefined]);
    }
    assert.deepEqual([count(standIn, "login"), pool.circuit().state], [1, "closed"]);
  });

  test("sends nothing of a frame that breaks the schema, and stays usable", async (context) => {
    const { standIn, pool } = await startFixture(context);
    using lease = await pool.acquire("check", { waitMs });
    await assert.rejects(lease.request(domainCheck(""), { clTRID: "broken-1" }), EppFrameInvalid);
    assert.equal((await lease.request(checkCommand, { clTRID: "right-1" })).code, 1000);
    assert.equal(count(standIn, "domain:check"), 1);
  });

  test("sends a hello while it is idle, and is used afterwards", async (context) => {
    const { standIn, pool } = await startFixture(context, { sessionsMax: 1, timeouts: { helloIdleMs: 30 } });
    (await pool.acquire("check", { waitMs })).release();
    while (count(standIn, "hello") < 2) await delay(10);
    using lease = await pool.acquire("check", { waitMs });
    assert.equal((await lease.request(checkCommand, { clTRID: "check-1" })).code, 1000);
    assert.equal(count(standIn, "login"), 1);
  });

  test("is closed when its hello is not answered", async (context) => {
    const { standIn, pool } = await startFixture(context, { timeouts: { helloIdleMs: 30, queryMs: 50 } });
    script(standIn, "hello", () => "silence");
    (await pool.acquire("check", { waitMs })).release();
    while (standIn.open() > 0) await delay(10);
    using lease = await pool.acquire("check", { waitMs });
    assert.equal((await lease.request(checkCommand, { clTRID: "check-1", timeoutMs: waitMs })).code, 1000);
  });

  test("logs out and is replaced when it is older than 23 hours", async (context) => {
    let laterMs = 0;
    const clock = { now: systemClock.now, monotonicMs: () => systemClock.monotonicMs() + laterMs };
    const { standIn, pool } = await startFixture(context, { sessionsMax: 1, clock });
    (await pool.acquire("check", { waitMs })).release();
    laterMs = 23 * 60 * 60 * 1000 + 1;
    using lease = await pool.acquire("check", { waitMs });
    assert.equal((await lease.request(checkCommand, { clTRID: "check-1" })).code, 1000);
    assert.deepEqual([count(standIn, "login"), count(standIn, "logout")], [2, 1]);
  });

  test("shows its frames without password and authInfo", async (context) => {
    const frames: string[] = [];
    const { standIn, pool } = await startFixture(context, {
      onFrame: (direction, xml) => frames.push(`${direction} ${xml}`),
    });
    using lease = await pool.acquire("transform", { waitMs });
    const create = { name: "example.com", periodYears: 1, contacts: [], authInfo: new Secret("auth-SECRET") };
    assert.equal((await lease.request(domainCreate(create), { clTRID: "create-1" })).code, 1000);
    assert.match(standIn.requests.at(-1)?.xml ?? "", /auth-SECRET/);
    assert.deepEqual(
      frames.map((line) => line.split(" ")[0]),
      ["received", "sent", "received", "sent", "received"],
    );
    assert.doesNotMatch(frames.join("\n"), /auth-SECRET|foo-BAR2/);
  });
});

describe("opening a session", () => {
  async function refusal(
    context: TestContext,
    connect: StandInAnswer | undefined,
    loginAnswer?: StandInAnswer | number,
  ) {
    const timeouts = {
      ...(connect === "silence" ? { greetingMs: 50 } : {}),
      ...(loginAnswer === "silence" ? { loginMs: 50 } : {}),
    };
    const { standIn, pool } = await startFixture(context, { timeouts });
    standIn.script = ({ name, clTRID }) => {
      if (name === "connect") return connect;
      if (name !== "login") return undefined;
      return typeof loginAnswer === "number" ? { xml: responseXml(loginAnswer, clTRID) } : loginAnswer;
    };
    const error = await pool.acquire("check", { waitMs }).catch((failure: unknown) => failure);
    assert.ok(error instanceof EppUnavailable, `${error}`);
    while (standIn.open() > 0) await delay(5);
    return error;
  }

  test("fails as connect when something other than a greeting comes, or nothing", async (context) => {
    for (const answer of [
      "silence",
      "close",
      { xml: "<html/>" },
      { xml: responseXml(2500, "x-1") },
    ] as StandInAnswer[]) {
      assert.equal((await refusal(context, answer)).reason, "connect");
    }
  });

  test("fails as login when the login is not answered or refused, with the code", async (context) => {
    assert.equal((await refusal(context, undefined, "silence")).reason, "login");
    const refused = await refusal(context, undefined, 2307);
    assert.deepEqual([refused.reason, refused.resultCode], ["login", 2307]);
  });

  test("fails as session-limit on 2502, as the answer to the login or instead of the greeting", async (context) => {
    assert.equal((await refusal(context, undefined, 2502)).reason, "session-limit");
    assert.equal((await refusal(context, { xml: responseXml(2502, "x-1") })).reason, "session-limit");
  });

  test("is refused for the reason given, also by a server that has not read the clTRID", async (context) => {
    const nameless = (code: number) => refusal(context, undefined, { xml: responseXml(code, "") });
    assert.equal((await nameless(2502)).reason, "session-limit");
    assert.equal((await nameless(2501)).reason, "circuit-open");
    assert.equal((await nameless(2307)).resultCode, 2307);
    const doubtful = await nameless(1000);
    assert.deepEqual([doubtful.reason, doubtful.resultCode], ["login", undefined]);
  });

  test("fails as connect when no server listens", async (context) => {
    const { standIn, pool } = await startFixture(context, { port: 1 });
    await assert.rejects(pool.acquire("check", { waitMs }), { name: "EppUnavailable", reason: "connect" });
    assert.equal(standIn.requests.length, 0);
  });
});
