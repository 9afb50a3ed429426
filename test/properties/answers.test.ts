/** Whatever a registry sends, and when: no command gets another one's answer. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { domainCheck } from "#registry/epp/commands/domain/check.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { EppUnanswered } from "#registry/epp/errors.ts";
import { encodeFrame } from "#registry/epp/frame.ts";
import { startFixture } from "#registry/epp/pool/test-pool.ts";
import {
  availabilityXml,
  responseXml,
  type StandInAnswer,
  type StandInRequest,
} from "#registry/epp/test-stand-in-server.ts";
import { mutations } from "./mutations.ts";
import { seed } from "./seed.ts";

/** What becomes of one answer. All but "right" may leave the command unanswered. */
type Fate =
  | { kind: "right" | "stale" | "twice" | "next" | "late" | "silence" | "close" }
  | { kind: "spoiled" | "spoiled-stale"; mutate: (bytes: Buffer) => Buffer }
  /** This many tenths of the previous answer, and then the right one. */
  | { kind: "cut-stale"; tenths: number };

const fates: fc.Arbitrary<Fate> = fc.oneof(
  fc.constant<Fate>({ kind: "right" }),
  fc.constantFrom<Fate[]>(
    { kind: "stale" },
    { kind: "twice" },
    { kind: "next" },
    { kind: "late" },
    { kind: "silence" },
    { kind: "close" },
  ),
  fc.record({ kind: fc.constantFrom("spoiled", "spoiled-stale"), mutate: mutations }),
  fc.record({ kind: fc.constant("cut-stale"), tenths: fc.integer({ min: 1, max: 10 }) }),
);

const name = "example.com";
const patienceMs = 30_000;
const impatienceMs = 20;
const lateMs = 60;

/** What the registry says to a command and to no other: no spoiling makes one of them of another. */
const tokenOf = (clTRID: string): string => createHash("sha256").update(clTRID).digest("hex").slice(0, 32);
const clTRIDOf = (number: number): string => `command-${number}`;

function answerTo(clTRID: string, isCheck: boolean): string {
  const token = tokenOf(clTRID);
  const info = `<d:infData xmlns:d="urn:ietf:params:xml:ns:domain-1.0"><d:name>${name}</d:name><d:roid>${token}</d:roid><d:clID>ClientX</d:clID></d:infData>`;
  return responseXml(1000, clTRID, isCheck ? availabilityXml(name, false, token) : info);
}

function react(fate: Fate, number: number, isCheck: boolean): StandInAnswer {
  const right = answerTo(clTRIDOf(number), isCheck);
  const stale = encodeFrame(answerTo(clTRIDOf(number - 1), isCheck));
  switch (fate.kind) {
    case "right":
      return { xml: right };
    case "stale":
      return { bytes: stale };
    case "twice":
      return { bytes: Buffer.concat([encodeFrame(right), encodeFrame(right)]) };
    case "next":
      return { bytes: Buffer.concat([encodeFrame(right), encodeFrame(answerTo(clTRIDOf(number + 1), !isCheck))]) };
    case "late":
      return { lateMs, xml: right };
    case "spoiled":
      return { bytes: fate.mutate(encodeFrame(right)) };
    case "spoiled-stale":
      return { bytes: fate.mutate(stale) };
    case "cut-stale":
      return { bytes: Buffer.concat([stale.subarray(0, (stale.length * fate.tenths) / 10), encodeFrame(right)]) };
    default:
      return fate.kind;
  }
}

test("no command gets another one's answer, however damaged, late or doubled answers are", async (context) => {
  const { standIn, pool } = await startFixture(context, {
    sessionsMax: 1,
    commandsPerSecond: 100_000,
    circuit: { faultsMax: Number.MAX_SAFE_INTEGER },
  });
  let asked = 0;
  const counts = { told: 0, unanswered: 0 };

  const ask = async (fate: Fate): Promise<void> => {
    asked += 1;
    const number = asked;
    const isCheck = number % 2 === 0;
    const clTRID = clTRIDOf(number);
    standIn.script = (request: StandInRequest) =>
      request.clTRID === clTRID ? react(fate, number, isCheck) : undefined;
    using lease = await pool.acquire("check", { waitMs: patienceMs });
    const isAnswered = ["right", "stale", "twice", "next", "close"].includes(fate.kind);
    const options = { clTRID, timeoutMs: isAnswered ? patienceMs : impatienceMs };
    try {
      const told = isCheck
        ? (await lease.request(domainCheck(name), options)).data?.reason
        : (await lease.request(domainInfo(name), options)).data?.roid;
      counts.told += 1;
      const others = Array.from({ length: asked + 1 }, (_, index) => clTRIDOf(index)).filter((id) => id !== clTRID);
      assert.ok(!others.some((other) => told?.includes(tokenOf(other))), `${fate.kind}: ${clTRID} got ${told}`);
      if (fate.kind === "right") assert.equal(told, tokenOf(clTRID));
    } catch (error) {
      if (!(error instanceof EppUnanswered)) throw error;
      counts.unanswered += 1;
      assert.notEqual(fate.kind, "right", `${error}`);
    }
  };

  await fc.assert(
    fc.asyncProperty(fc.array(fates, { minLength: 1, maxLength: 8 }), async (plan) => {
      for (const fate of plan) await ask(fate);
    }),
    { seed, numRuns: 40 },
  );
  context.diagnostic(
    JSON.stringify({ ...counts, sessions: standIn.requests.filter((r) => r.name === "login").length }),
  );
  assert.ok(counts.told > asked / 10 && counts.unanswered > asked / 10);
});
