/** The judge of the fault matrix finds the mistakes that a gateway could make: each test changes one fact. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JournalEntry } from "../../sandbox/registry/journal.ts";
import type { Domain } from "../../sandbox/registry/objects.ts";
import { registrarId } from "../harness/profiles.ts";
import { type Evidence, judge, type LastAnswer } from "./judge.ts";

const name = "drop-after-1.example";
const exDate = "2031-01-01T00:00:00.000Z";

const held: Domain = {
  name,
  roid: "D1-SBX",
  contacts: [],
  statuses: [],
  clID: registrarId,
  crID: registrarId,
  crDate: "2030-01-01T00:00:00.000Z",
  exDate,
  authInfo: "the-order-s-own",
};

const finished: LastAnswer = { name, orderCode: "REG-1", status: "Finished", expirationDate: exDate };

let numbers = 0;
function entry(command: string, own: Partial<JournalEntry> = {}): JournalEntry {
  numbers += 1;
  return { number: numbers, at: held.crDate, direction: "in", command, name, executed: false, ...own };
}

const create = (own: Partial<JournalEntry> = {}) => entry("domain:create", { clTRID: "REG-1-1", ...own });
const executed = create({ executed: true, code: 1000 });
const undone = entry("domain:undo", { direction: "event" });
const absent = entry("domain:info", { direction: "out", code: 2303 });

/** A lost answer, a name that was found, and a Finished order. */
const right: Evidence = { journal: [executed], domains: [held], lastAnswers: [finished] };

function assertFound(bent: Partial<Evidence>, found: RegExp): void {
  const sentences = judge({ ...right, ...bent });
  assert.ok(
    sentences.some((sentence) => found.test(sentence)),
    `not found: ${found}, only ${JSON.stringify(sentences)}`,
  );
}

test("a correct outcome is accepted", () => {
  assert.deepEqual(judge(right), []);
  const again = create({ clTRID: "REG-1-2", executed: true });
  assert.deepEqual(judge({ ...right, journal: [executed, undone, absent, again] }), []);
  const refused = create({ direction: "out", code: 2502 });
  assert.deepEqual(judge({ ...right, journal: [create(), refused, again] }), []);
});

test("two creates that stand are found", () => {
  assertFound({ journal: [executed, absent, create({ clTRID: "REG-1-2", executed: true })] }, /two creates stand/);
});

test("a create that was repeated without an info is found, although the registry refused it", () => {
  const again = create({ clTRID: "REG-1-2", code: 2302 });
  assertFound({ journal: [executed, again] }, /sent while it was not known/);
  const doubtful = create({ direction: "out", code: 2400 });
  assertFound({ journal: [executed, doubtful, again] }, /sent while it was not known/);
});

test("a transaction id that was sent twice is found", () => {
  assertFound({ journal: [create(), absent, executed] }, /REG-1-1 was sent twice/);
});

test("a create that belongs to another order is found", () => {
  assertFound({ journal: [create({ clTRID: "REG-2-1", executed: true })] }, /not the order's: REG-2-1/);
});

test("an order that was lost is found", () => {
  assertFound(
    { lastAnswers: [{ ...finished, status: "Processing", expirationDate: undefined }] },
    /lost: still Processing/,
  );
});

test("an order that waits for a person is correct after five creates without a trace", () => {
  const lastAnswers = [{ ...finished, status: "Processing", expirationDate: undefined }];
  const lost = (count: number) =>
    Array.from({ length: count }, (_, index) => [create({ clTRID: `REG-1-${index + 1}` }), absent]).flat();
  assert.deepEqual(judge({ journal: lost(5), domains: [], lastAnswers }), []);
  assertFound({ journal: lost(4), domains: [], lastAnswers }, /lost: still Processing/);
});

test("a name that is Finished too early is found, when the registry undoes it", () => {
  assertFound({ journal: [executed, undone], domains: [] }, /Finished, but not registered for us/);
  assertFound({ domains: [{ ...held, statuses: ["pendingCreate"] }] }, /Finished, but not registered for us/);
});

test("a name that is held although its order failed is found", () => {
  assertFound(
    { lastAnswers: [{ ...finished, status: "Errors", expirationDate: undefined }] },
    /held for us, but Errors/,
  );
});

test("a name that is held without an order is found", () => {
  assertFound({ domains: [held, { ...held, name: "plain-nobody.example" }] }, /plain-nobody.*no order knows it/);
});

test("an outcome that the fault does not explain is found", () => {
  const lastAnswers = [{ ...finished, status: "Errors", expirationDate: undefined }];
  assertFound({ journal: [create()], domains: [], lastAnswers }, /Errors, where only Finished is right/);
});

test("a portfolio that differs from the registry is found", () => {
  assertFound(
    { lastAnswers: [{ ...finished, expirationDate: "2032-01-01T00:00:00.000Z" }] },
    /the portfolio says 2032/,
  );
  assertFound({ lastAnswers: [{ ...finished, expirationDate: undefined }] }, /the portfolio says nothing/);
});

test("a cancelled order is correct only if somebody cancelled it", () => {
  const deleted = entry("domain:delete", { executed: true });
  const cancelled = { ...finished, status: "Cancelled", expirationDate: undefined };
  const journal = [executed, deleted];
  assert.deepEqual(judge({ journal, domains: [], lastAnswers: [{ ...cancelled, isCancelAsked: true }] }), []);
  assertFound({ journal, domains: [], lastAnswers: [cancelled] }, /Cancelled, where only Finished is right/);
});
