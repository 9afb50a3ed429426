import assert from "node:assert/strict";
import { type IncomingMessage, request } from "node:http";
import { after, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { endOfEvents, positionText } from "#events/log.ts";
import { revokeKey } from "#resellers/keys.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { authorize } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

const gateway = await startTestGateway({ after }, { worker: false });
const owner = await gateway.addReseller();
const other = await gateway.addReseller();

interface Stream {
  response: IncomingMessage;
  /** Everything that has come. */
  text(): string;
  /** Resolves when the text matches. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  ended: Promise<void>;
  close(): void;
}

async function open(
  t: TestContext,
  as: TestReseller,
  target = "/events",
  more: Record<string, string> = {},
): Promise<Stream> {
  const authorization = authorize({ key: as.key, clock: gateway.context.clock, method: "GET", target });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = { accept: "text/event-stream", authorization, ...more };
  const outgoing = request(`${gateway.url}${target}`, { agent: false, headers }, resolve);
  outgoing.on("error", reject).end();
  t.after(() => outgoing.destroy());
  const response = await promise;
  let text = "";
  let came = Promise.withResolvers<void>();
  response.setEncoding("utf8").on("data", (part: string) => {
    text += part;
    came.resolve();
  });
  const ended = new Promise<void>((resolveEnd) => response.once("close", resolveEnd));
  response.on("error", () => {});
  return {
    response,
    text: () => text,
    async until(pattern) {
      for (;;) {
        const found = pattern.exec(text);
        if (found) return found;
        came = Promise.withResolvers();
        await Promise.race([came.promise, ended.then(() => Promise.reject(new Error(`it ended: ${text}`)))]);
      }
    },
    ended,
    close: () => outgoing.destroy(),
  };
}

const tell = (as: TestReseller, text: string) =>
  runSql(
    gateway.databaseUrl,
    "INSERT INTO domain_history (domain_name, reseller_id, at, event, note) VALUES ('a.example', $1, now(), 'registry-notice', $2)",
    [as.id, text],
  );
const idOf = (frames: string) => [...frames.matchAll(/^id: (\S+)$/gm)].at(-1)![1]!;

test("events come as they happen, and a client that connects again misses none", async (t) => {
  await tell(owner, "before it is open");
  const first = await open(t, owner);
  assert.equal(first.response.statusCode, 200);
  assert.equal(first.response.headers["content-type"], "text/event-stream; charset=utf-8");
  assert.equal(first.response.headers["cache-control"], "no-store");
  await first.until(/^retry: \d+\nid: \S+\n\n/);
  await tell(other, "somebody else's");
  await tell(owner, "one");
  const [frame] = await first.until(/id: \S+\nevent: domain\.notice\ndata: .*"one".*\n\n/);
  assert.doesNotMatch(first.text(), /somebody else|before it is open/);
  const shown = JSON.parse(/^data: (.*)$/m.exec(frame)![1]!) as { id: string; data: unknown };
  assert.equal(shown.id, idOf(frame));
  assert.deepEqual(shown.data, { domain_name: "a.example", text: "one" });
  first.close();
  await tell(owner, "two");
  const second = await open(t, owner, "/v1/events", { "last-event-id": idOf(frame) });
  await tell(owner, "three");
  await second.until(/"three"/);
  assert.deepEqual(
    [...second.text().matchAll(/"text":"(\w+)"/g)].map(([, text]) => text),
    ["two", "three"],
  );
});

test("a client that loses its connection before the first event misses none", async (t) => {
  const first = await open(t, owner);
  const [begun] = await first.until(/^retry: \d+\nid: \S+\n\n/);
  first.close();
  await tell(owner, "between");
  const second = await open(t, owner, "/events", { "last-event-id": idOf(begun) });
  await second.until(/"text":"between"/);
});

test("a stream has the types that were asked for, and that its key may read", async (t) => {
  const stream = await open(t, owner, "/events?types=domain.left,hosting.*");
  const all = await open(t, await gateway.addKey(owner, { scopes: ["hosting:read"] }));
  await tell(owner, "not asked for");
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO events (era, reseller_id, at, type, subject, data)
     SELECT era, $1, now(), 'hosting.ready', 'a.example', '{}' FROM event_log`,
    [owner.id],
  );
  await stream.until(/hosting\.ready/);
  await all.until(/hosting\.ready/);
  assert.doesNotMatch(stream.text() + all.text(), /not asked for/);
});

test("an account has five streams at most, and one that is closed makes room", async (t) => {
  const busy = await gateway.addReseller();
  const streams = await Promise.all(Array.from({ length: 5 }, () => open(t, busy)));
  const refused = await open(t, busy);
  assert.equal(refused.response.statusCode, 429);
  assert.ok(Number(refused.response.headers["retry-after"]) > 0);
  await refused.until(/rate_limit_exceeded.*5 streams of events/);
  await tell(busy, "still open");
  await Promise.all(streams.map((stream) => stream.until(/still open/)));
  streams[0]!.close();
  for (;;) {
    const again = await open(t, busy);
    if (again.response.statusCode === 200) break;
    await sleep(20);
  }
});

test("a stream ends when its key is revoked, and the other keys' streams stay", async (t) => {
  const revoked = await gateway.addKey(owner);
  const stream = await open(t, revoked);
  const stays = await open(t, owner);
  await stream.until(/^retry/);
  await revokeKey(gateway.context, revoked.key.id);
  await stream.ended;
  assert.equal(stream.response.complete, true, "it ends in order, not by a cut");
  await tell(owner, "after the end");
  await stays.until(/after the end/);
  assert.doesNotMatch(stream.text(), /after the end/);
});

test("a client that does not read loses its place when its key is revoked, and another one keeps its place", async (t) => {
  const silent = await gateway.addReseller();
  const revoked = await gateway.addKey(silent);
  const start = positionText(await endOfEvents(gateway.context));
  // More than the network takes for a client.
  const eventCount = 2_000;
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO domain_history (domain_name, reseller_id, at, event, note)
     SELECT 'a.example', $1, now(), 'registry-notice', repeat('n', 10000) || '#' FROM generate_series(1, $2::int)`,
    [silent.id, eventCount],
  );
  const openUnread = async (as: TestReseller): Promise<IncomingMessage> => {
    const target = `/events?after=${start}`;
    const authorization = authorize({ key: as.key, clock: gateway.context.clock, method: "GET", target });
    const headers = { accept: "text/event-stream", authorization };
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const outgoing = request(`${gateway.url}${target}`, { agent: false, headers }, resolve);
    outgoing.on("error", reject).end();
    t.after(() => outgoing.destroy());
    return (await promise).on("error", () => {});
  };
  const stays = await openUnread(silent);
  for (let opened = 0; opened < 4; opened++) assert.equal((await openUnread(revoked)).statusCode, 200);
  assert.equal((await openUnread(silent)).statusCode, 429);
  await revokeKey(gateway.context, revoked.key.id);
  for (let opened = 0; opened < 4; ) {
    if ((await openUnread(silent)).statusCode === 200) opened += 1;
    else await sleep(50);
  }
  let events = 0;
  for await (const part of stays.setEncoding("utf8")) {
    events += String(part).split("#").length - 1;
    if (events >= eventCount) break;
  }
  assert.equal(events, eventCount, "the stream of the other key was not cut");
});

test("a burst of events comes whole, in order, to a client that reads slowly", async (t) => {
  const many = 3_000;
  const start = positionText(await endOfEvents(gateway.context));
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO domain_history (domain_name, reseller_id, at, event, note)
     SELECT 'a.example', $1, now(), 'registry-notice', 'n' || n FROM generate_series(1, $2::int) AS n`,
    [other.id, many],
  );
  const stream = await open(t, other, `/events?after=${start}`);
  stream.response.pause();
  await sleep(50);
  stream.response.resume();
  await stream.until(new RegExp(`"n${many}"`));
  const numbers = [...stream.text().matchAll(/"text":"n(\d+)"/g)].map(([, number]) => Number(number));
  assert.deepEqual(
    numbers,
    Array.from({ length: many }, (_, index) => index + 1),
  );
});

test("a client that also takes JSON gets JSON", async () => {
  for (const accept of ["text/event-stream, application/json", "*/*, text/event-stream"]) {
    const reply = await gateway.send(owner, "GET", "/events", { headers: { accept } });
    assert.equal(reply.headers["content-type"], "application/json; charset=utf-8");
  }
});

test("streams end when the api closes", async (t) => {
  const stream = await open(t, owner);
  await stream.until(/^retry/);
  await gateway.restartApi();
  await stream.ended;
});
