import assert from "node:assert/strict";
import { test } from "node:test";
import { type DatabaseFacts, type Demands, judgeFacts, readFacts, refusalOf } from "#db/facts.ts";

const good: DatabaseFacts = {
  version: 150_018,
  isStandby: false,
  isReadOnly: false,
  hasFsync: true,
  hasFullPageWrites: true,
  encoding: "UTF8",
  synchronousCommit: "on",
  synchronousStandbys: 1,
  isShared: false,
  clockAheadMs: 0,
  systemIdentifier: "7300000000000000000",
  timeline: 1,
};
const demands: Demands = { durability: "needed", synchronous: true };
const judge = (facts: Partial<DatabaseFacts>, more: Partial<Demands> = {}) =>
  judgeFacts({ ...good, ...facts }, { ...demands, ...more }).map(({ fact, weight }) => `${fact} ${weight}`);

for (const [facts, findings, more] of [
  [{}, []],
  [{ version: 149_999 }, ["version refused"]],
  [{ version: 150_000 }, []],
  [{ version: 189_999 }, []],
  [{ version: 190_000 }, ["version note"]],
  [{ isStandby: true, isReadOnly: true }, ["primary refused"]],
  [{ isReadOnly: true }, ["writable refused"]],
  [{ encoding: "LATIN1" }, ["encoding refused"]],
  [{ isShared: true }, ["session refused"]],
  [{ hasFsync: false }, ["fsync refused"]],
  [{ hasFullPageWrites: false }, ["full_page_writes refused"]],
  [{ synchronousCommit: "remote_apply" }, []],
  [{ synchronousCommit: "remote_write" }, ["synchronous_commit refused"]],
  [{ synchronousCommit: "local" }, ["synchronous_commit refused"]],
  [{ synchronousCommit: "off" }, ["synchronous_commit refused"]],
  [{ synchronousCommit: "off" }, ["synchronous_commit alarm"], { durability: "waived" }],
  [{ hasFsync: false }, ["fsync refused"], { durability: "waived" }],
  [{ synchronousCommit: "off", hasFsync: false, hasFullPageWrites: false }, [], { durability: "ignored" }],
  [{ synchronousStandbys: 0 }, ["synchronous_standby alarm"]],
  [{ synchronousStandbys: null }, ["synchronous_standby alarm"]],
  [{ synchronousStandbys: 0 }, [], { synchronous: false }],
  [{ clockAheadMs: 1_999 }, []],
  [{ clockAheadMs: 2_000 }, ["clock alarm"]],
  [{ clockAheadMs: -29_999 }, ["clock alarm"]],
  [{ clockAheadMs: -30_000 }, ["clock refused"]],
] as [Partial<DatabaseFacts>, string[], Partial<Demands>?][]) {
  test(`${JSON.stringify({ ...facts, ...more })} means: ${findings.join() || "nothing"}`, () => {
    assert.deepEqual(judge(facts, more), findings);
  });
}

test("a refusal has a sentence for each mistake, and nothing of what is only an alarm", () => {
  const facts = { ...good, version: 140_001, encoding: "SQL_ASCII", clockAheadMs: 2_500 };
  const refusal = refusalOf(judgeFacts(facts, demands)) ?? "";
  assert.deepEqual(
    refusal.split("\n").map((line) => /^The \w+(?: \w+)? (?:is|has)/.exec(line)?.[0]),
    ["The database server is", "The database has"],
  );
  assert.equal(refusalOf(judgeFacts({ ...good, clockAheadMs: 2_500 }, demands)), undefined);
});

test("the time that a question takes does not count as a difference of the clocks", () => {
  const aheadMs = (clockMs: number) => readFacts(JSON.stringify({ clockMs }), 10_000, 15_000).clockAheadMs;
  assert.deepEqual([9_000, 10_000, 12_000, 15_000, 16_000].map(aheadMs), [-1_000, 0, 0, 0, 1_000]);
});
