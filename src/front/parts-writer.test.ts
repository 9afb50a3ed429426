import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, createServer, get, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type HttpServer, startHttpServer } from "#front/http-server.ts";
import { createPartsWriter } from "#front/parts-writer.ts";
import { createLog } from "#lib/log.ts";

const part = "x".repeat(64 * 1024);
/** Far more than the buffers of a connection hold. */
const partsMax = 4_096;
/** A generator that works on is asked again within one turn of the event loop; this one waits for its reader. */
const idleTurns = 500;

interface Parts {
  given: number;
  /** Resolves when nothing of it is left. */
  ended: Promise<void>;
}

/** A server whose answer has these parts. */
async function serve(t: TestContext, partsOf: (given: () => void) => AsyncGenerator<string>) {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const parts: Parts = { given: 0, ended };
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { promise: mayAnswer, resolve: letAnswer } = Promise.withResolvers<void>();
  const server: HttpServer = await startHttpServer({
    door: "resellers",
    host: "127.0.0.1",
    port: 0,
    connectionsMax: 10,
    requestTimeoutMs: 60_000,
    log: createLog("test", "silent"),
    async answer({ message, signal }) {
      if (message.url === "/plain") return { status: 200, body: "plain" };
      if (message.url === "/fails") throw new Error("a defect");
      ask();
      if (message.url === "/left") await once(signal(), "abort");
      if (message.url === "/held") await mayAnswer;
      const body = Readable.from(partsOf(() => parts.given++));
      body.once("close", resolve);
      return { status: 200, body };
    },
    refuse: () => ({ status: 503 }),
  });
  t.after(() => server.close());
  return { server, parts, asked, letAnswer };
}

async function* endless(given: () => void) {
  for (let count = 0; count < partsMax; count++) {
    given();
    yield part;
  }
}
async function* failing(given: () => void) {
  given();
  yield part;
  await setImmediate();
  throw new Error("the source is gone");
}

function ask({ port }: HttpServer, path = "/", agent?: Agent): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  get({ host: "127.0.0.1", port, path, agent: agent ?? false }, resolve).on("error", reject);
  return promise;
}

async function untilIdle(parts: Parts): Promise<void> {
  let seen = -1;
  for (let turns = 0; turns < idleTurns && parts.given < partsMax; turns++) {
    if (parts.given !== seen) turns = 0;
    seen = parts.given;
    await setImmediate();
  }
}

test("asks for no more parts while the client takes none, and continues when it does", async (t) => {
  const { server, parts } = await serve(t, endless);
  const reply = await ask(server);
  await untilIdle(parts);
  const whileStopped = parts.given;
  assert.ok(whileStopped < partsMax / 2, `${whileStopped} parts`);
  for await (const _ of reply) if (parts.given > whileStopped + 10) break;
  assert.ok(parts.given > whileStopped);
});

test("ends the parts when the client leaves, also before its answer begins", async (t) => {
  const running = await serve(t, endless);
  const reply = await ask(running.server);
  reply.destroy();
  await running.parts.ended;
  assert.ok(running.parts.given < partsMax);

  const held = await serve(t, endless);
  const socket = connect(held.server.port, "127.0.0.1").on("error", () => {});
  socket.write("GET /held HTTP/1.1\r\nhost: x\r\n\r\n");
  await held.asked;
  socket.resetAndDestroy();
  await once(socket, "close");
  held.letAnswer();
  await held.parts.ended;
  assert.ok(held.parts.given < partsMax);
});

test("takes no part of an answer whose client has disconnected before it", async (t) => {
  const { server, parts, asked } = await serve(t, endless);
  const socket = connect(server.port, "127.0.0.1").on("error", () => {});
  socket.write("GET /left HTTP/1.1\r\nhost: x\r\n\r\n");
  await asked;
  socket.resetAndDestroy();
  await parts.ended;
  assert.equal(parts.given, 0);
  assert.equal((await ask(server, "/plain")).statusCode, 200);
});

test("a request that cannot be answered ends its connection, and nothing else", async (t) => {
  const { server } = await serve(t, endless);
  await assert.rejects(ask(server, "/fails"), { code: "ECONNRESET" });
  assert.equal((await ask(server, "/plain")).statusCode, 200);
});

test("cuts the connection when the parts fail, so that no client takes them for the whole", async (t) => {
  const { server } = await serve(t, failing);
  const reply = await ask(server);
  await assert.rejects(reply.resume().toArray(), { code: "ECONNRESET" });
  assert.equal(reply.complete, false);
});

test("resets the connection of a client without chunks when the parts fail", async (t) => {
  const { server } = await serve(t, failing);
  const socket = connect(server.port, "127.0.0.1");
  socket.write("GET / HTTP/1.0\r\nhost: x\r\n\r\n");
  socket.resume();
  const [error] = await once(socket, "error");
  assert.equal(error.code, "ECONNRESET");
});

test("serves the next request of the connection after the last part", async (t) => {
  const { server } = await serve(t, async function* () {
    yield "one,";
    yield "two";
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const texts: string[] = [];
  const sockets = new Set<unknown>();
  for (const path of ["/", "/plain", "/"]) {
    const reply = await ask(server, path, agent);
    sockets.add(reply.socket);
    texts.push(Buffer.concat(await reply.toArray()).toString());
  }
  assert.deepEqual(texts, ["one,two", "plain", "one,two"]);
  assert.equal(sockets.size, 1);
});

test("cuts the connection of a client that takes nothing", async (t) => {
  const writer = createPartsWriter(100);
  const parts = Readable.from(endless(() => {}));
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  parts.once("close", resolve);
  const server = createServer((_request, response) => writer.write(response, parts)).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  t.after(() => socket.destroy());
  socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  await closed;
  assert.equal(parts.readableEnded, false);
});

test("a server that closes cuts answers in parts: a slow client would hold it for long", async (t) => {
  const { server, parts } = await serve(t, endless);
  const reply = await ask(server);
  const cut = assert.rejects(reply.toArray(), { code: "ECONNRESET" });
  await server.close();
  await parts.ended;
  await cut;
});
