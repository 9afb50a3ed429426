import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { type TestContext, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { sleep } from "#lib/clock.ts";
import { readBody } from "#lib/net/read-body.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const bytesMax = 64 * 1024;
const chunkedHead = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
const inChunksOfOne = (text: string) => [...text].map((character) => `1\r\n${character}\r\n`).join("");

/** Sends a client's bytes to a server, and returns the message and its body. */
async function receive(t: TestContext, sent: string) {
  const server = createServer().listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  t.after(() => client.destroy());
  client.on("error", () => {});
  const requested = once(server, "request") as Promise<[IncomingMessage]>;
  client.write(sent);
  const [message] = await requested;
  return { client, message, body: readBody(message, bytesMax) };
}

test("returns a body as it was sent, whole, in parts and in chunks of one byte", async (t) => {
  const text = "0123456789abcdef".repeat(1_000);
  const whole = await receive(t, `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
  assert.equal((await whole.body)?.toString(), text);
  const parts = await receive(t, `${chunkedHead}${inChunksOfOne(text)}0\r\n\r\n`);
  assert.equal((await parts.body)?.toString(), text);
  const empty = await receive(t, `${chunkedHead}0\r\n\r\n`);
  assert.equal((await empty.body)?.length, 0);
});

test("accepts a body of the maximum length and none that is longer, declared or not", async (t) => {
  const longest = "a".repeat(bytesMax);
  const ofLength = (body: string) => `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  assert.equal((await (await receive(t, ofLength(longest))).body)?.length, bytesMax);
  assert.equal(await (await receive(t, ofLength(`${longest}a`))).body, undefined);
  const hex = (bytesMax + 1).toString(16);
  assert.equal(await (await receive(t, `${chunkedHead}${hex}\r\n${longest}a\r\n`)).body, undefined);
});

test("throws when a body ends early", async (t) => {
  const { client, body } = await receive(t, `${chunkedHead}1\r\na\r\n`);
  client.destroy();
  await assert.rejects(body);
});

test("a body in chunks of one byte takes little memory until its end", async (t) => {
  const chunksCount = 60_000;
  const sent = chunkedHead + inChunksOfOne("a".repeat(chunksCount));
  const { client, message, body } = await receive(t, chunkedHead);
  body.catch(() => {});
  collectGarbage();
  const before = process.memoryUsage();
  client.write(sent.slice(chunkedHead.length));
  while (message.socket.bytesRead < sent.length) await sleep(5);
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  const bytesPerChunk = (heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers) / chunksCount;
  assert.ok(bytesPerChunk < 20, `${bytesPerChunk} bytes for each`);
});
