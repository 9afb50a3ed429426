import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { createReplayGuard } from "#api/replay/replay.ts";
import { allocateReplayMemory, nonceValueWords } from "#api/replay/replay-memory.ts";
import { startServer } from "#api/server.ts";
import { readConfig } from "#config.ts";
import { sleep, unixSeconds } from "#lib/clock.ts";
import { allocateTable } from "#lib/threads/digest-table.ts";
import { startThreadedApi } from "../harness/api-threads.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { quickFolder } from "../harness/quick-folder.ts";
import { authorize, newNonce, type Reply, type SignedRequestOptions, sendSigned } from "../harness/signed-request.ts";

// The kernel gives each connection to one of the two threads: of 24, all go to the same one in a test of eight million.
const connectionsCount = 24;
const windowSeconds = 300;
const limits = { windowSeconds, sourceFailuresMax: 1_000 };

const gateway = await startTestGateway({ after });
const { clock } = gateway.context;
const api = await startThreadedApi({ after }, gateway);
const reseller = await gateway.addReseller();

interface Sent extends SignedRequestOptions {
  target?: string;
  method?: string;
  to?: { url: string };
  by?: TestReseller;
}
const send = ({ target = "/domains", method = "GET", to = api, by = reseller, ...options }: Sent = {}) =>
  sendSigned({ url: to.url, key: by.key, clock, method, target, ...options });

const newRead = () => ({ nonce: newNonce(), timestamp: unixSeconds(clock) });
const many = <Item>(make: () => Item) => Array.from({ length: connectionsCount }, make);
const answered = (replies: Reply[]) => replies.filter(({ status }) => status === 200).length;

test("of twins that arrive at both threads at the same time, one is answered", async () => {
  for (let round = 0; round < 5; round++) {
    const twin = newRead();
    const replies = await Promise.all(many(() => send(twin)));
    assert.equal(answered(replies), 1);
    for (const reply of replies.filter(({ status }) => status !== 200)) {
      assertError(reply, "authorization_nonce_reused");
    }
  }
});

test("a limit is exactly that of both threads together", async () => {
  const by = await gateway.addReseller({ rateLimit: 30 });
  const replies = await Promise.all(Array.from({ length: 3 * connectionsCount }, () => send({ by })));
  assert.equal(answered(replies), 30);
  for (const reply of replies.filter(({ status }) => status !== 200)) assertError(reply, "rate_limit_exceeded");
});

test("streams at once are counted for both threads together", async () => {
  const by = await gateway.addReseller();
  const stop = new AbortController();
  const target = "/events";
  const open = async () => {
    const headers = {
      authorization: authorize({ key: by.key, clock, method: "GET", target }),
      accept: "text/event-stream",
    };
    return (await fetch(`${api.url}${target}`, { headers, signal: stop.signal })).status;
  };
  const statuses = await Promise.all(Array.from({ length: 12 }, open));
  stop.abort();
  assert.deepEqual(statuses.toSorted(), [200, 200, 200, 200, 200, 429, 429, 429, 429, 429, 429, 429]);
});

/** The sum of a metric's values at the api's socket. */
async function sumOf(metric: string): Promise<number> {
  const { body } = await api.page("/metrics");
  const lines = body.split("\n").filter((line) => line.startsWith(`${metric}{`));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}
/** An order that never ends. @returns where its status is */
async function placeOrder(name: string): Promise<string> {
  const reply = await send({ method: "POST", target: "/domains/registrations", body: { domain_name: name } });
  assert.equal(reply.status, 202, reply.text);
  const target = reply.headers.location!;
  // A reader waits for the next change.
  while (((await send({ target })).body as { status: string }).status !== "Pending") await sleep(10);
  return target;
}

/** Until all of these wait for their answers. */
async function untilHeld(replies: Promise<Reply | undefined>[]): Promise<void> {
  let early: Reply | undefined;
  for (const reply of replies) {
    reply.then(
      (answer) => {
        early = answer;
      },
      () => {},
    );
  }
  while ((await sumOf("deedhouse_http_requests_in_progress")) < connectionsCount) {
    assert.equal(early, undefined, early?.text);
    await sleep(10);
  }
}

const requestsMeasured = () => sumOf("deedhouse_http_request_duration_seconds_count");

test("a thread that dies is replaced: what it had in flight is free, what it answered stays used", async () => {
  const target = await placeOrder("pending-never-held.example");
  const before = many(newRead);
  assert.equal(answered(await Promise.all(before.map((read) => send(read)))), connectionsCount);
  const held = many(() => {
    const read = { ...newRead(), target };
    return { read, reply: send({ ...read, headers: { prefer: "wait=30" } }).catch(() => undefined) };
  });
  await untilHeld(held.map(({ reply }) => reply));
  const measured = await requestsMeasured();
  await api.replace("end", 1);

  const isCut = async (reply: Promise<unknown>) =>
    (await Promise.race([reply, sleep(100).then(() => "held")])) === undefined;
  const cut = await Promise.all(held.map(({ reply }) => isCut(reply)));
  assert.ok(cut.includes(true) && cut.includes(false), cut.join());
  for (const [number, { read }] of held.entries()) {
    if (cut[number]) assert.equal((await send(read)).status, 200);
    else assertError(await send(read), "authorization_nonce_reused");
  }
  for (const read of before) assertError(await send(read), "authorization_nonce_reused");
  assert.ok((await requestsMeasured()) >= measured, "what the dead thread has counted stays counted");

  // Then only the successor can answer.
  await api.replace("end", 2);
  assert.equal(answered(await Promise.all(many(() => untilAnswered(() => send())))), connectionsCount);
  for (const read of before) assertError(await untilAnswered(() => send(read)), "authorization_nonce_reused");
});

/** A connection to a thread that has just died is reset. */
async function untilAnswered(sendAgain: () => Promise<Reply>): Promise<Reply> {
  for (;;) {
    const reply = await sendAgain().catch(() => undefined);
    if (reply) return reply;
    await sleep(10);
  }
}

test("the metrics are those of all threads together", async () => {
  const before = await requestsMeasured();
  await Promise.all(many(() => send()));
  assert.equal(await requestsMeasured(), before + connectionsCount);
  const { status, body } = await api.page("/metrics");
  assert.equal(status, 200);
  assert.equal(body.match(/^deedhouse_ready\{/gm)?.length, 1);
  assert.equal(body.match(/^process_start_time_seconds /gm)?.length, 1);
  assert.ok((await sumOf("deedhouse_nonces_kept")) > 0);
});

test("after a clean stop and after a kill, what all threads have answered stays used", async () => {
  const reads = many(newRead);
  assert.equal(answered(await Promise.all(reads.map((read) => send(read)))), connectionsCount);
  assert.equal(await api.stop(), 0);
  await api.start();
  assert.equal((await api.page("/readyz")).status, 200);
  const more = many(newRead);
  assert.equal(
    answered(await Promise.all(more.map((read) => send(read)))),
    connectionsCount,
    "and nothing else is refused",
  );
  await api.kill();
  await api.start();
  for (const read of [...reads, ...more]) assertError(await send(read), "authorization_nonce_reused");
  assert.equal((await send()).status, 200);
});

test("a stop answers what is in progress at all threads", async () => {
  const target = await placeOrder("pending-never-stopped.example");
  const held = many(() => send({ target, headers: { prefer: "wait=30" } }));
  await untilHeld(held);
  assert.equal(await api.stop(), 0);
  assert.equal(answered(await Promise.all(held)), connectionsCount);
});

test("a full table is a 503, and forgets nothing", async (t) => {
  const journalDir = await mkdtemp(join(await quickFolder(), "deedhouse-full-"));
  const memory = { ...allocateReplayMemory(1, windowSeconds), nonces: allocateTable(1, nonceValueWords) };
  const replayGuard = createReplayGuard({ journalDir, clock, log: gateway.context.log, windowSeconds, memory });
  replayGuard.open(true);
  const server = await startServer(gateway.context, { ...limits, host: "127.0.0.1", port: 0, replayGuard });
  t.after(async () => {
    await server.close();
    replayGuard.close();
    await rm(journalDir, { recursive: true });
  });
  const to = { url: `http://127.0.0.1:${server.port}` };
  const reads = Array.from({ length: 64 }, newRead);
  for (const read of reads) assert.equal((await send({ ...read, to })).status, 200);
  for (const read of many(newRead)) assertError(await send({ ...read, to }), "service_unavailable");
  for (const read of reads) assertError(await send({ ...read, to }), "authorization_nonce_reused");
});

test("threads are refused where the database keeps the nonces", () => {
  const environment = { DEEDHOUSE_API_THREADS: "2", DEEDHOUSE_NONCES: "database" };
  assert.match(
    readConfig(environment).mistakes.join(),
    /DEEDHOUSE_API_THREADS must be 1 with DEEDHOUSE_NONCES=database/,
  );
});
