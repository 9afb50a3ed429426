import assert from "node:assert/strict";
import { test } from "node:test";
import { createSourceTurns, TooManyWaiting, turnsWaitingMax } from "#lib/queues/source-turns.ts";

class Away extends Error {}

/** Work that ends on demand. */
function turnsOf(atOnceMax = 16) {
  const turns = createSourceTurns((error) => error instanceof Away);
  const begun: { name: string; end: () => void; fail: (error: Error) => void }[] = [];
  const take = (source: string, name = source, most = () => atOnceMax) =>
    turns.take(
      source,
      most,
      () => new Promise<string>((end, fail) => begun.push({ name, end: () => end(name), fail })),
    );
  return { begun, take, names: () => begun.map(({ name }) => name) };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));
const numbers = (count: number) => Array.from({ length: count }, (_, index) => String(index));

test("a source has sixteen pieces of work in progress at once, and the rest run in the order of arrival", async () => {
  const { begun, take, names } = turnsOf();
  const all = numbers(40).map((name) => take("a", name));
  assert.deepEqual(names(), numbers(16));
  for (let ended = 0; ended < 40; ended++) {
    begun[ended]?.end();
    await settle();
    assert.deepEqual(names(), numbers(Math.min(40, 17 + ended)));
  }
  assert.deepEqual(await Promise.all(all), numbers(40));
});

test("no source waits for another", async () => {
  const { take, names } = turnsOf();
  for (const name of numbers(500)) void take("a", name);
  void take("b");
  assert.deepEqual(names(), [...numbers(16), "b"]);
});

test("a thousand pieces of a source's work may wait, and one more is refused at once", async () => {
  const { begun, take } = turnsOf();
  const waiting = numbers(16 + turnsWaitingMax).map((name) => take("a", name));
  await assert.rejects(take("a"), TooManyWaiting);
  begun[0]?.end();
  await settle();
  const oneMore = take("a", "one more");
  for (const { end } of begun) end();
  for (let ended = 16; ended < begun.length || ended < waiting.length; ended++) {
    begun[ended]?.end();
    await settle();
  }
  begun.at(-1)?.end();
  assert.equal((await Promise.all(waiting)).length, 16 + turnsWaitingMax);
  assert.equal(await oneMore, "one more");
});

test("one piece of work always runs, and each turn checks the room again", async () => {
  let room = 0;
  const { begun, take, names } = turnsOf();
  const all = ["1", "2", "3", "4"].map((name) => take("a", name, () => room));
  assert.deepEqual(names(), ["1"]);
  room = 2;
  begun[0]?.end();
  await settle();
  assert.deepEqual(names(), ["1", "2", "3"]);
  room = 1;
  begun[1]?.end();
  await settle();
  assert.deepEqual(names(), ["1", "2", "3"]);
  begun[2]?.end();
  await settle();
  begun[3]?.end();
  assert.equal((await Promise.all(all)).length, 4);
});

test("when something fails for all, all waiting work fails with the first; any other failure affects only its own work", async () => {
  const { begun, take, names } = turnsOf(1);
  const [first, second, third] = [take("a", "1"), take("a", "2"), take("a", "3")];
  begun[0]?.fail(new Error("its own"));
  await assert.rejects(first, /its own/);
  assert.deepEqual(names(), ["1", "2"]);
  begun[1]?.fail(new Away("away"));
  await assert.rejects(second, Away);
  await assert.rejects(third, Away);
  assert.deepEqual(names(), ["1", "2"]);
  const next = take("a", "4");
  begun[2]?.end();
  assert.equal(await next, "4");
});
