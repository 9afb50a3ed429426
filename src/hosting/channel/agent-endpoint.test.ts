/** How much the endpoint reads. The tests announce bodies that they never send, so an answer proves that it did not wait. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestChannel } from "#hosting/channel/test-channel.ts";
import {
  joinPath,
  reportPath,
  requestBytesMax,
  type SyncBody,
  syncPath,
  unprovenBytesMax,
} from "#nodes/agent/messages.ts";
import { digestHeader, signedHeaders } from "#nodes/agent/request-signature.ts";
import { createTransport } from "#nodes/agent/transport.ts";
import { sendRaw } from "../../../test/harness/raw-http.ts";

const channel = await startTestChannel({ after }, { tls: undefined });
const machine = await channel.join("web-1");

const question: SyncBody = { after: -1, head: -1, asked: -1, refused: [], agentVersion: "test", highestUid: 0 };
const body = Buffer.from(JSON.stringify(question));
let counter = 1;
const signed = (path: string, content: Uint8Array = body) => {
  counter += 1;
  return signedHeaders({ path, node: "web-1", counter }, content, machine.config.privateKey);
};

/** The answer to a request that announces its length, and then sends only `parts`. */
async function answered(path: string, headers: Record<string, string>, ...parts: string[]) {
  const lines = Object.entries({ host: "gateway", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  const reply = await sendRaw(channel.endpoint.url, `POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`, ...parts);
  return [reply.status, (reply.body as { error: string } | undefined)?.error];
}

const announced = (bytes: number) => ({ "content-type": "application/json", "content-length": String(bytes) });

test("the body is not read without a signature of its digest", async () => {
  const large = announced(requestBytesMax);
  assert.deepEqual(await answered(syncPath, large), [401, "unauthorized"]);
  assert.deepEqual(await answered(syncPath, { ...large, ...signed(reportPath) }), [401, "unauthorized"]);
  const forged = { ...signed(syncPath), [digestHeader]: "0".repeat(64) };
  assert.deepEqual(await answered(syncPath, { ...large, ...forged }), [401, "unauthorized"]);
  assert.deepEqual(await answered("/accounts", large), [404, "not_found"]);
});

test("only a small body is read of a request to join", async () => {
  assert.deepEqual(await answered(joinPath, announced(unprovenBytesMax + 1)), [413, "too_large"]);
  const chunk = `${unprovenBytesMax.toString(16)}\r\n${" ".repeat(unprovenBytesMax)}\r\n1\r\n \r\n`;
  assert.deepEqual(await answered(joinPath, { "transfer-encoding": "chunked" }, chunk), [413, "too_large"]);
});

test("a repeated request is answered before its body, and a body that is too large is not read", async () => {
  const headers = signed(syncPath);
  const transport = createTransport(machine.config.gateway);
  const sent = await transport.send({
    path: syncPath,
    body,
    answerBytesMax: 10_000,
    signal: AbortSignal.timeout(60_000),
    headers: { "content-type": "application/json", ...headers },
  });
  transport.close();
  assert.equal(sent.status, 200);
  const again = { ...announced(requestBytesMax), ...headers };
  assert.deepEqual(await answered(syncPath, again), [401, "counter_too_low"]);
  const large = { ...announced(requestBytesMax + 1), ...signed(syncPath) };
  assert.deepEqual(await answered(syncPath, large), [413, "too_large"]);
});

test("a request without a digest header is accepted, and only a small body of it is read", async () => {
  const { [digestHeader]: _digest, ...headers } = signed(syncPath, Buffer.from("{}"));
  const small = { connection: "close", ...announced(2), ...headers };
  assert.deepEqual(await answered(syncPath, small, "{}"), [400, "not_understood"]);
  assert.deepEqual(await answered(syncPath, { ...announced(unprovenBytesMax + 1), ...headers }), [413, "too_large"]);
});
