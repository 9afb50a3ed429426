import assert from "node:assert/strict";
import { test } from "node:test";
import { verify } from "@node-rs/bcrypt";
import { createPasswordQueue, PasswordQueueFull } from "#lib/queues/password-queue.ts";
import { systemRandom } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";

/** bcrypt's minimum: these tests are about order, not about strength. */
const cost = 4;
const password = new Secret("correct horse battery");
const newQueue = (waitingMax: number) => createPasswordQueue({ waitingMax, cost, random: systemRandom });

test("hashes as bcrypt $2b$ of the given cost, with its own salt, and prints nothing", async () => {
  const queue = createPasswordQueue({ waitingMax: 32, cost: 10, random: systemRandom });
  const [one, two] = await Promise.all([queue.hash("a", password), queue.hash("a", password)]);
  assert.match(one.reveal(), /^\$2b\$10\$[./A-Za-z0-9]{53}$/);
  assert.notEqual(one.reveal(), two.reveal());
  assert.equal(await verify("correct horse battery", one.reveal()), true);
  assert.equal(await verify("correct horse batterx", one.reveal()), false);
  assert.equal(`${one}`, "[secret]");
});

test("the hash is what any bcrypt computes from the same salt", async () => {
  const random = { ...systemRandom, bytes: (size: number) => Buffer.alloc(size, 7) };
  const made = await createPasswordQueue({ waitingMax: 1, cost, random }).hash("a", new Secret("пароль 1234"));
  assert.equal(made.reveal(), "$2b$04$/uaF/uaF/uaF/uaF/uaF/uIAkPn00sYHGvUnodmmWaUYGOvhtYKPO");
});

test("resellers take turns, each in its own order", async () => {
  const queue = newQueue(32);
  const finished: string[] = [];
  const ask = (reseller: string, mark: string) => queue.hash(reseller, password).then(() => finished.push(mark));
  await Promise.all([
    ask("flood", "flood 1"),
    ask("flood", "flood 2"),
    ask("flood", "flood 3"),
    ask("flood", "flood 4"),
    ask("calm", "calm 1"),
    ask("calm", "calm 2"),
    ask("third", "third 1"),
  ]);
  assert.deepEqual(finished, ["flood 1", "calm 1", "third 1", "flood 2", "calm 2", "flood 3", "flood 4"]);
});

test("refuses the 33rd that would wait, and accepts new ones when there is room again", async () => {
  const queue = newQueue(32);
  const accepted = Array.from({ length: 33 }, () => queue.hash("a", password)); // one runs, 32 wait
  await assert.rejects(queue.hash("a", password), (error) => {
    return error instanceof PasswordQueueFull && error.retryAfterSeconds > 0;
  });
  await accepted[1];
  const late = queue.hash("a", password);
  assert.equal((await Promise.all(accepted)).length, 33);
  assert.match((await late).reveal(), /^\$2b\$/);
});

test("a reseller that fills the queue gives up its newest places to others, down to an equal share", async () => {
  const queue = newQueue(4);
  const flood = Array.from({ length: 5 }, () => queue.hash("flood", password)); // one runs, 4 wait
  const calm = Array.from({ length: 3 }, () => queue.hash("calm", password));
  const outcomes = await Promise.all([flood, calm].map((hashes) => Promise.allSettled(hashes)));
  assert.deepEqual(
    outcomes.map((results) => results.map((result) => result.status).join(" ")),
    ["fulfilled fulfilled fulfilled rejected rejected", "fulfilled fulfilled rejected"],
  );
});

test("leaves the event loop free while it hashes", async () => {
  const queue = createPasswordQueue({ waitingMax: 32, cost: 12, random: systemRandom });
  let done = false;
  const hashed = queue.hash("a", password).finally(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(done, false);
  await hashed;
});

test("a hash that fails does not delay the next", async () => {
  let calls = 0;
  const random = {
    ...systemRandom,
    bytes: (size: number) => {
      calls += 1;
      if (calls === 1) throw new Error("no entropy");
      return systemRandom.bytes(size);
    },
  };
  const queue = createPasswordQueue({ waitingMax: 32, cost, random });
  const [first, second] = await Promise.allSettled([queue.hash("a", password), queue.hash("a", password)]);
  assert.equal(first.status, "rejected");
  assert.equal(second.status, "fulfilled");
});
