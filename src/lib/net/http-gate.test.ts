import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { generate } from "selfsigned";
import { gateRequests } from "#lib/net/http-gate.ts";

const readBytes = 64 * 1024;
const tick = () => new Promise((resolve) => setImmediate(resolve));
const head = (target: string, ...lines: string[]) =>
  [`GET ${target} HTTP/1.1`, "Host: x", ...lines, "", ""].join("\r\n");

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function listen(t: TestContext, server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function gated(t: TestContext, handler: Handler, options: ServerOptions = {}) {
  const server = createServer(options, handler);
  gateRequests(server);
  return { server, port: await listen(t, server) };
}

async function open(t: TestContext, port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  t.after(() => socket.destroy());
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** Everything that the server sends until it closes. */
const received = (socket: Socket) => text(socket).catch(() => "");

/** Each answer names the target of its request. */
const echo: Handler = (request, response) => {
  request.resume().on("end", () => response.end(`<${request.url}>`));
};
const targetsIn = (answers: string) => [...answers.matchAll(/<(.*?)>/g)].map(([, target]) => target);

test("a connection has one request in progress, however many it sends in one packet, and all are answered in order", async (t) => {
  let atWork = 0;
  let atWorkHighest = 0;
  const { port } = await gated(t, (request, response) => {
    atWorkHighest = Math.max(atWorkHighest, ++atWork);
    response.on("finish", () => atWork--);
    setImmediate(() => echo(request, response));
  });
  const targets = Array.from({ length: 1_000 }, (_, index) => `/${index}`);
  const socket = await open(t, port);
  const answers = received(socket);
  socket.end(targets.map((target) => head(target)).join(""));
  assert.deepEqual(targetsIn(await answers), targets);
  assert.equal(atWorkHighest, 1);
});

/** Counts events in each turn of the event loop. `end` returns the count of the fullest turn. */
function countByTurn() {
  const counts: number[] = [];
  let turn = 0;
  let isWatching = true;
  const nextTurn = () => {
    turn += 1;
    if (isWatching) setImmediate(nextTurn);
  };
  setImmediate(nextTurn);
  return {
    count() {
      counts[turn] = (counts[turn] ?? 0) + 1;
    },
    end() {
      isWatching = false;
      return Math.max(...counts.filter(Boolean));
    },
  };
}

test("one turn of the event loop begins a few dozen requests, however many connections have some, and none starves", async (t) => {
  const turns = countByTurn();
  const { port } = await gated(t, (request, response) => {
    turns.count();
    echo(request, response);
  });
  const sockets = await Promise.all(Array.from({ length: 150 }, () => open(t, port)));
  const answers = sockets.map(received);
  for (const socket of sockets) socket.end(head("/a").repeat(20));
  for (const answer of answers) assert.equal(targetsIn(await answer).length, 20);
  const most = turns.end();
  // One turn's quota and the next one's, which may begin before the loop checks its timers.
  assert.ok(most <= 64, `${most} in one turn`);
});

test("a client that sends only blank lines is refused after 1 KiB of them, also between two requests", async (t) => {
  const { port } = await gated(t, echo);
  for (const [first, blank] of [
    ["", "\r\n"],
    ["", "\n"],
    [head("/first"), "\r\n"],
  ] as const) {
    const socket = await open(t, port);
    const answers = received(socket);
    // The whole of it fits into the buffers of the connection, so that the refusal is not lost.
    socket.end(`${first}${blank.repeat(1_024)}${blank.repeat(8)}${head("/behind")}`);
    const text = await answers;
    assert.deepEqual(targetsIn(text), first === "" ? [] : ["/first"]);
    assert.match(text, /HTTP\/1\.1 400 /);
  }
});

test("a few blank lines before a request are ignored", async (t) => {
  const { port } = await gated(t, echo);
  const socket = await open(t, port);
  const answers = received(socket);
  socket.end(`${"\r\n".repeat(512)}${head("/a")}${"\r\n".repeat(512)}${head("/b")}`);
  assert.deepEqual(targetsIn(await answers), ["/a", "/b"]);
});

test("one turn of the event loop reads a few thousand chunks, however many connections send bodies of tiny ones", async (t) => {
  const turns = countByTurn();
  const { port } = await gated(t, (request, response) => {
    request.on("data", turns.count);
    request.on("end", () => response.end());
  });
  const body = "1\r\na\r\n".repeat(20_000);
  const sockets = await Promise.all(Array.from({ length: 20 }, () => open(t, port)));
  const answers = sockets.map(received);
  for (const socket of sockets) socket.end(`${head("/", "Transfer-Encoding: chunked")}${body}0\r\n\r\n`);
  for (const answer of answers) assert.match(await answer, /^HTTP\/1\.1 200/);
  const most = turns.end();
  assert.ok(most <= 16_000, `${most} in one turn`);
});

test("while a request has no answer, no more than one read is taken from its connection", async (t) => {
  const responses: ServerResponse[] = [];
  const { server, port } = await gated(t, (_request, response) => void responses.push(response));
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const socket = await open(t, port);
  const [served] = await accepted;
  socket.write(head("/").repeat(400_000));
  while (responses.length === 0) await tick();
  for (let turns = 0; turns < 100; turns++) await tick();
  assert.equal(responses.length, 1);
  assert.ok(served.bytesRead <= 2 * readBytes, `${served.bytesRead} bytes were read`);
});

test("a body that nobody reads stays on the connection, and arrives complete once somebody reads it", async (t) => {
  const requests: [IncomingMessage, ServerResponse][] = [];
  const { port, server } = await gated(t, (...request) => void requests.push(request));
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const socket = await open(t, port);
  const [served] = await accepted;
  const bytes = 50_000_000;
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`);
  socket.write(Buffer.alloc(bytes, "\r\n\r\n"));
  socket.write(head("/next", "Connection: close"));
  while (requests.length === 0) await tick();
  for (let turns = 0; turns < 100; turns++) await tick();
  assert.ok(served.bytesRead < 10 * readBytes, `${served.bytesRead} bytes were read`);
  const [request, response] = requests[0]!;
  let length = 0;
  for await (const chunk of request) length += chunk.length;
  assert.equal(length, bytes);
  assert.equal(requests.length, 1);
  response.end();
  while (requests.length === 1) await tick();
  assert.equal(requests[1]?.[0].url, "/next");
});

/** What a parser reads from bytes that arrive in pieces, with or without the gate. */
async function readings(t: TestContext, gate: boolean, pieces: Buffer[]) {
  const seen: string[] = [];
  const server = createServer({ requireHostHeader: false }, async (request, response) => {
    const body = await text(request).catch(() => "cut off");
    seen.push(`${request.method} ${request.url} ${body} ${JSON.stringify(request.trailers)}`);
    response.setHeader("content-length", 0).end();
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    seen.push(String(error.code));
    socket.destroy();
  });
  if (gate) gateRequests(server);
  else Object.assign(server, { httpAllowHalfOpen: true });
  const port = await listen(t, server);
  const socket = await open(t, port);
  const end = received(socket);
  for (const piece of pieces) {
    socket.write(piece);
    if (pieces.length < 500) await tick();
  }
  socket.end();
  await end;
  server.close();
  // Without the gate, requests of one packet overtake each other.
  return seen.toSorted();
}

const corpus: Record<string, string> = {
  "a chunked body with blank lines and trailers, then another request":
    "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n\r\n\r\n\r\n\r\n\r\n5;x=y\r\n\n\n\n\n\n\r\n0\r\nA: b\r\n\r\nGET /b HTTP/1.1\r\n\r\n",
  "a body with requests in it, then one behind it":
    "POST /a HTTP/1.1\r\nContent-Length: 20\r\n\r\nGET / HTTP/1.1\r\n\r\n\r\nGET /b HTTP/1.1\r\n\r\n",
  "blank lines before, between and behind requests":
    "\r\n\r\nGET /a HTTP/1.1\r\n\r\n\r\n\r\n\nGET /b HTTP/1.1\r\n\r\n\r\n",
  "bare line feeds": "GET /a HTTP/1.1\nHost: x\n\nGET /b HTTP/1.1\n\n",
  "no blank line at all": "GET /a HTTP/1.1\r\nHost: x\r\n",
  "an old request": "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /b HTTP/1.0\r\n\r\n",
  "two lengths": "POST /a HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
  "a length and chunks": "POST /a HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  "an expectation and its body":
    "POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhiGET /b HTTP/1.1\r\n\r\n",
  "garbage behind a request": "GET /a HTTP/1.1\r\n\r\n\0\0\0\r\n\r\nGET /b HTTP/1.1\r\n\r\n",
  "carriage returns alone": "GET /a HTTP/1.1\rHost: x\r\r\rGET /b HTTP/1.1\r\r",
  "a folded line": "GET /a HTTP/1.1\r\nA: b\r\n c\r\n\r\nGET /b HTTP/1.1\r\n\r\n",
};

for (const [name, sent] of Object.entries(corpus)) {
  test(`the gate changes nothing about what a parser reads: ${name}`, async (t) => {
    const bytes = Buffer.from(sent, "latin1");
    const expected = await readings(t, false, [bytes]);
    for (const size of [1, 2, 7, bytes.length]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      assert.deepEqual(await readings(t, true, pieces), expected, `in pieces of ${size}`);
    }
  });
}

test("a client that has ended its side gets the answers to all its requests", async (t) => {
  const { port } = await gated(t, (request, response) => void setTimeout(echo, 20, request, response));
  const socket = await open(t, port);
  const answers = received(socket);
  socket.end(head("/a") + head("/b") + head("/c"));
  assert.deepEqual(targetsIn(await answers), ["/a", "/b", "/c"]);
});

test("bytes after an upgrade or CONNECT reach their handler, byte by byte and in one packet", async (t) => {
  const { server, port } = await gated(t, echo);
  for (const event of ["upgrade", "connect"]) {
    server.on(event, async (_request, socket: Socket, bodyHead: Buffer) => {
      socket.write("switched ");
      socket.write(bodyHead);
      socket.pipe(socket);
    });
  }
  for (const request of [head("/", "Connection: upgrade", "Upgrade: x"), "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n"]) {
    for (const size of [1, 1_000_000]) {
      const socket = await open(t, port);
      const answers = received(socket);
      const sent = `${head("/first")}${request}GET not a request\r\n\r\nand more\r\n\r\n`;
      for (let at = 0; at < sent.length; at += size) socket.write(sent.slice(at, at + size));
      socket.end();
      assert.match(await answers, /<\/first>[\s\S]*switched GET not a request\r\n\r\nand more\r\n\r\n$/);
    }
  }
});

test("a TLS server reads one request at a time too, and answers a client that has ended its side", async (t) => {
  const { private: key, cert } = await generate([{ name: "commonName", value: "x" }]);
  let atWork = 0;
  let atWorkHighest = 0;
  const server = createTlsServer({ key, cert }, (request, response) => {
    atWorkHighest = Math.max(atWorkHighest, ++atWork);
    response.on("finish", () => atWork--);
    setImmediate(() => echo(request, response));
  });
  gateRequests(server);
  const port = await listen(t, server);
  const socket = connectTls({ socket: await open(t, port), rejectUnauthorized: false });
  t.after(() => socket.destroy());
  const answers = received(socket);
  const targets = Array.from({ length: 4_000 }, (_, index) => `/${index}`);
  socket.end(targets.map((target) => head(target)).join(""));
  assert.deepEqual(targetsIn(await answers), targets);
  assert.equal(atWorkHighest, 1);
});

test("a head that arrives too slowly still times out, and an idle connection is closed", async (t) => {
  const timeouts = { headersTimeout: 200, keepAliveTimeout: 200, connectionsCheckingInterval: 50 };
  const { server, port } = await gated(t, echo, timeouts);
  const timedOut = once(server, "clientError");
  server.on("clientError", (_error, socket) => socket.destroy());
  const slow = await open(t, port);
  const dripping = setInterval(() => slow.write("x"), 20);
  t.after(() => clearInterval(dripping));
  slow.write("GET / HTTP/1.1\r\nX: ");
  assert.equal((await timedOut)[0].code, "ERR_HTTP_REQUEST_TIMEOUT");
  const idle = await open(t, port);
  idle.write(head("/a"));
  assert.deepEqual(targetsIn(await received(idle)), ["/a"]);
});

test("bytes after a refusal are dropped unread", async (t) => {
  let refused = 0;
  const { server, port } = await gated(t, echo);
  server.on("clientError", (_error, socket) => {
    refused += 1;
    socket.end("HTTP/1.1 400 Refused\r\n\r\n");
  });
  const socket = await open(t, port);
  const answers = received(socket);
  for (let count = 0; count < 20; count++) {
    socket.write("nonsense\r\n\r\n".repeat(1_000));
    await tick();
  }
  socket.end();
  assert.equal(await answers, "HTTP/1.1 400 Refused\r\n\r\n");
  assert.equal(refused, 1);
});
