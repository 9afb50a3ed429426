import assert from "node:assert/strict";
import { after, test } from "node:test";
import { sleep, unixSeconds } from "#lib/clock.ts";
import { startThreadedApi } from "../harness/api-threads.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { newNonce, sendSigned } from "../harness/signed-request.ts";

const twinsCount = 10_000;
/** Twins at the same time. */
const batchSize = 50;
/** Batches after which a thread dies while the next ones are sent. */
const killEveryBatches = 40;

const gateway = await startTestGateway({ after }, { worker: false });
const { clock } = gateway.context;
// All requests come from one address.
const settings = { DEEDHOUSE_SOURCE_CONNECTIONS_MAX: "10000", DEEDHOUSE_SOURCE_HALF_OPEN_MAX: "10000" };
const api = await startThreadedApi({ after }, gateway, settings);
const reseller = await gateway.addReseller({ rateLimit: 1_000_000 });

interface Read {
  nonce: string;
  timestamp: number;
  answers: number;
}
const newRead = (): Read => ({ nonce: newNonce(), timestamp: unixSeconds(clock), answers: 0 });

/** @returns the status; undefined when the connection broke off */
async function sendOne(by: TestReseller, read: Partial<Read> = newRead()): Promise<number | undefined> {
  const { nonce, timestamp } = read as Read;
  const call = { url: api.url, key: by.key, clock, method: "GET", target: "/account", nonce, timestamp };
  return (await sendSigned(call).catch(() => undefined))?.status;
}

async function sendTwin(read: Read): Promise<number | undefined> {
  const status = await sendOne(reseller, read);
  if (status === 200) read.answers++;
  return status;
}

test("of 10,000 twins sent to two threads none is answered twice, while threads die between", async () => {
  const all: Read[] = [];
  const kills: Promise<void>[] = [];
  for (let batch = 0; batch < twinsCount / batchSize; batch++) {
    if (batch % killEveryBatches === killEveryBatches / 2) kills.push(api.replace("end", 1 + (kills.length % 2)));
    const reads = Array.from({ length: batchSize }, newRead);
    all.push(...reads);
    const statuses = await Promise.all(reads.flatMap((read) => [sendTwin(read), sendTwin(read)]));
    assert.ok(
      statuses.every((status) => status === 200 || status === 401 || status === undefined),
      statuses.join(),
    );
    // What was cut is sent again, as a client does. The answer may have been lost on its way.
    for (const read of reads.filter(({ answers }) => answers === 0)) {
      while ((await sendTwin(read)) === undefined) await sleep(10);
    }
  }
  await Promise.all(kills);
  assert.equal(all.filter(({ answers }) => answers > 1).length, 0);
  const once = all.filter(({ answers }) => answers === 1).length;
  assert.ok(once > twinsCount - 20 * kills.length, `${once} were answered`);
  for (const read of all.slice(-200)) assert.equal(await sendTwin(read), 401);
});

test("a hundred windows of limits are exact", async () => {
  const windows = [...repeat(1, 40), ...repeat(10, 40), ...repeat(100, 15), ...repeat(1_000, 5)];
  for (const limit of windows) {
    const by = await gateway.addReseller({ rateLimit: limit });
    let answers = 0;
    for (let left = Math.ceil(limit * 1.2) + 4; left > 0; left -= batchSize) {
      const statuses = await Promise.all(Array.from({ length: Math.min(left, batchSize) }, () => sendOne(by)));
      assert.ok(
        statuses.every((status) => status === 200 || status === 429),
        statuses.join(),
      );
      answers += statuses.filter((status) => status === 200).length;
    }
    assert.equal(answers, limit);
  }
});

const repeat = (limit: number, count: number) => Array.from({ length: count }, () => limit);

test("a thread that hangs is ended and replaced", async () => {
  const reads = Array.from({ length: batchSize }, newRead);
  for (const read of reads) assert.equal(await sendTwin(read), 200);
  await api.replace("hang", 1);
  await api.replace("end", 2);
  for (const read of reads) {
    let status = await sendTwin(read);
    for (; status === undefined; status = await sendTwin(read)) await sleep(10);
    assert.equal(status, 401);
  }
  assert.equal(await sendOne(reseller), 200);
});
