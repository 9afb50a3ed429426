/** The judge of orders about registered names finds the mistakes that a gateway could make: each test changes one fact. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JournalEntry } from "../../sandbox/registry/journal.ts";
import type { Domain } from "../../sandbox/registry/objects.ts";
import type { Store } from "../../sandbox/registry/store.ts";
import { registrarId } from "../harness/profiles.ts";
import { type ChangeAnswer, judgeChanges } from "./judge-changes.ts";
import { changeKinds } from "./kinds.ts";

const kind = changeKinds.find(({ id }) => id === "transfer-lock")!;
const name = "of-transfer-lock-drop-after-1.example";
const lock = "clientTransferProhibited";
const exDate = "2031-01-01T00:00:00.000Z";

const before: Domain = {
  name,
  roid: "D1-SBX",
  contacts: [],
  statuses: [],
  clID: registrarId,
  crID: registrarId,
  crDate: "2030-01-01T00:00:00.000Z",
  exDate,
  authInfo: "not-used-here",
};
const locked: Domain = { ...before, statuses: [lock] };
const entry = {
  expiration_date: exDate,
  statuses: ["inactive", lock],
  transfer_locked: true,
  name_servers: [],
  dnssec: null,
};
const finished: ChangeAnswer = { name, orderCode: "CHG-1", status: "Finished", isCancelAsked: false, before, entry };

let numbers = 0;
function update(own: Partial<JournalEntry> = {}): JournalEntry {
  numbers += 1;
  const sent = { direction: "in", command: "domain:update", clTRID: "CHG-1-1" } as const;
  return { number: numbers, at: before.crDate, name, executed: false, ...sent, ...own };
}
const executed = (clTRID = "CHG-1-1") => update({ executed: true, clTRID });
const seen = () => update({ direction: "out", command: "domain:info", code: 1000, clTRID: "query" });

interface Facts {
  journal?: JournalEntry[];
  domain?: Domain;
  answer?: Partial<ChangeAnswer>;
}

function sentences({ journal = [executed()], domain = locked, answer = {} }: Facts): string[] {
  const store = { domains: { find: () => domain } } as unknown as Store;
  return judgeChanges({ kind, journal, store, lastAnswers: [{ ...finished, ...answer }] });
}

function assertFound(facts: Facts, found: RegExp): void {
  const all = sentences(facts);
  assert.ok(
    all.some((sentence) => found.test(sentence)),
    `not found: ${found}, only ${JSON.stringify(all)}`,
  );
}

test("a correct outcome is accepted", () => {
  assert.deepEqual(sentences({}), []);
  assert.deepEqual(sentences({ journal: [update(), seen(), executed("CHG-1-2")] }), []);
  const refused = [update(), update({ direction: "out", code: 2502 })];
  assert.deepEqual(sentences({ journal: [...refused, executed("CHG-1-2")] }), []);
});

test("a command that was executed twice is found", () => {
  assertFound({ journal: [executed(), seen(), executed("CHG-1-2")] }, /domain:update was executed twice/);
});

test("a command that was repeated without a look is found, although the registry refused it", () => {
  assertFound({ journal: [executed(), update({ clTRID: "CHG-1-2" })] }, /sent while it was not known/);
  const doubtful = [update(), update({ direction: "out", code: 2400 })];
  assertFound({ journal: [...doubtful, executed("CHG-1-2")] }, /sent while it was not known/);
});

test("a transaction id that was sent twice, or is another order's, is found", () => {
  assertFound({ journal: [update(), seen(), executed()] }, /CHG-1-1 was sent twice/);
  assertFound({ journal: [executed("CHG-2-1")] }, /not the order's: CHG-2-1/);
});

test("an order that was lost, or ended too early or wrongly, is found", () => {
  assertFound({ answer: { status: "Processing" } }, /lost: still Processing/);
  assertFound({ domain: before }, /Finished, but the registry does not show it/);
  assertFound({ answer: { status: "Errors" } }, /Errors, where only Finished is right/);
  assertFound({ answer: { status: "Errors" } }, /Errors, but the registry shows it as done/);
});

test("a portfolio that differs from the registry is found", () => {
  assertFound({ answer: { entry: { ...entry, transfer_locked: false } } }, /transfer_locked: the portfolio says false/);
  assertFound({ answer: { entry: { ...entry, statuses: ["inactive"] } } }, /statuses: the portfolio says/);
  assertFound({ answer: { entry: undefined } }, /the portfolio does not have it/);
  assertFound({ domain: { ...locked, clID: "rival" } }, /the registry does not hold it for us/);
});
