/** Answers that no receiver should give: each ends as an attempt that says what happened. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { systemClock } from "#lib/clock.ts";
import { createNameLookups } from "#lib/net/name-lookups.ts";
import { sendWebhook } from "#webhooks/send.ts";
import { startReceiver } from "./stage.ts";

const webhooks = { ranges: ["127.0.0.0/8"], allowsPlainHttp: true, ca: undefined };
const names = createNameLookups([]);
const send = (url: string) =>
  sendWebhook({ webhooks, names, clock: systemClock }, { resellerId: 1, headers: {}, body: "{}", url });

/** @returns the URL of a server that does this with each connection, once the request has begun */
async function startRaw(t: TestContext, serve: (socket: Socket) => unknown): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.once("data", () => serve(socket));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

for (const [what, answer] of [
  ["an upgrade", "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"],
  ["headers beyond what Node reads", `HTTP/1.1 200 OK\r\nx: ${"y".repeat(100_000)}\r\n\r\n`],
  ["an end before the headers end", "HTTP/1.1 200 OK\r\nx: y\r\n"],
] as const) {
  test(`${what} is a failure`, async (t) => {
    const url = await startRaw(t, (socket) => socket.end(answer));
    const attempt = await send(url);
    assert.deepEqual([attempt.isDelivered, attempt.answerStatus], [false, undefined]);
    assert.match(attempt.errorText ?? "", /^The connection failed: /);
  });
}

test("an endless answer is read to 4 KiB", async (t) => {
  const url = await startRaw(t, (socket) => {
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    const more = () => socket.write("x".repeat(50_000), (error) => error ?? more());
    more();
  });
  const attempt = await send(url);
  assert.deepEqual([attempt.isDelivered, attempt.answerText?.length], [true, 4_096]);
});

test("an answer that drips is over a second after its status", async (t) => {
  let timer: NodeJS.Timeout | undefined;
  t.after(() => clearInterval(timer));
  const url = await startRaw(t, (socket) => {
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    timer = setInterval(() => socket.write("x"), 50);
  });
  const attempt = await send(url);
  assert.equal(attempt.isDelivered, true, attempt.errorText);
  // It drips twenty times a second; an attempt lasts ten.
  assert.ok((attempt.answerText?.length ?? 0) < 60, `${attempt.answerText?.length} drops were awaited`);
});

test("a receiver may send four informational answers first, and no more", async (t) => {
  for (const [count, status] of [
    [4, 204],
    [5, undefined],
  ] as const) {
    const url = await startRaw(t, (socket) => {
      socket.end(`${"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(count)}HTTP/1.1 204 No Content\r\n\r\n`);
    });
    const attempt = await send(url);
    assert.equal(attempt.answerStatus, status, `${count}: ${attempt.errorText}`);
  }
});

test("informational answers without end are not read", async (t) => {
  let written = 0;
  const closed = Promise.withResolvers<void>();
  const url = await startRaw(t, (socket) => {
    const burst = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1_000);
    const more = () => {
      written += burst.length;
      socket.write(burst, (error) => error ?? more());
    };
    socket.once("close", () => closed.resolve());
    more();
  });
  const attempt = await send(url);
  await closed.promise;
  assert.match(attempt.errorText ?? "", /informational answers without end/);
  // What fits into the buffers of both ends.
  assert.ok(written < 20_000_000, `${written} bytes were taken`);
});

test("a receiver that is busy says for how long, up to an hour", async (t) => {
  const receiver = await startReceiver(t);
  for (const [status, header, wanted] of [
    [429, "7", 7_000],
    [503, "999999999", 3_600_000],
    [503, "Wed, 21 Oct 2026 07:28:00 GMT", 0],
    [500, "7", 0],
  ] as const) {
    receiver.answer = (response) => void response.writeHead(status, { "retry-after": header }).end();
    assert.equal((await send(receiver.url)).retryAfterMs, wanted, `${status} ${header}`);
  }
});

test("a proxy that the environment names is not asked", async (t) => {
  let asked = 0;
  const proxy = await startRaw(t, (socket) => {
    asked++;
    socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
  });
  const receiver = await startReceiver(t);
  const code = `import { systemClock } from "#lib/clock.ts"; import { sendWebhook } from "#webhooks/send.ts";
    import { createNameLookups } from "#lib/net/name-lookups.ts";
    const context = { webhooks: ${JSON.stringify(webhooks)}, names: createNameLookups([]), clock: systemClock };
    const sent = await sendWebhook(context, { resellerId: 1, headers: {}, body: "{}", url: process.env.RECEIVER });
    await fetch("http://a.example/").catch(() => {});
    console.log(sent.answerStatus);`;
  const env = { ...process.env, NODE_USE_ENV_PROXY: "1", HTTP_PROXY: proxy, http_proxy: proxy, RECEIVER: receiver.url };
  for (const name of ["NO_PROXY", "no_proxy"]) delete (env as NodeJS.ProcessEnv)[name];
  const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", code], { env });
  assert.equal(await text(child.stdout), "204\n");
  assert.deepEqual([receiver.received.length, asked], [1, 1], "the proxy is asked for fetch's request only");
});
