import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { startTestChannel, type TestChannel } from "#hosting/channel/test-channel.ts";

async function open(t: TestContext, { endpoint }: TestChannel, localAddress: string): Promise<Socket> {
  const socket = connect({ port: endpoint.port, host: "127.0.0.1", localAddress, allowHalfOpen: true });
  t.after(() => socket.destroy());
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** The endpoint's answer to these bytes, over TLS; empty when it cuts the connection. */
async function ask(t: TestContext, channel: TestChannel, localAddress: string, request: string): Promise<string> {
  const raw = await open(t, channel, localAddress);
  const socket = connectTls({ socket: raw, rejectUnauthorized: false });
  socket.on("error", () => {});
  socket.end(request);
  return text(socket).catch(() => "");
}

const post = "POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";

test("half-open TLS connections of one address leave the endpoint open to nodes elsewhere, and end in time", async (t) => {
  const shares = { sourceConnectionsMax: 20, sourceHalfOpenMax: 4, halfOpenMs: 1_000 };
  const channel = await startTestChannel(t, {
    connectionsMax: 25,
    shares: { ...shares, reservedPercent: 20, fewConnectionsMax: 8 },
  });
  const silent: Socket[] = [];
  for (let count = 0; count < 60; count++) silent.push(await open(t, channel, "127.0.0.66"));
  assert.match(await ask(t, channel, "127.0.0.99", post), /^HTTP\/1.1 404 /);
  await Promise.all(silent.map((socket) => text(socket).catch(() => "")));
  assert.match(await ask(t, channel, "127.0.0.66", post), /^HTTP\/1.1 404 /);
});

test("the endpoint answers a node that has ended its side, and refuses two hosts", async (t) => {
  const channel = await startTestChannel(t);
  assert.match(await ask(t, channel, "127.0.0.1", post), /^HTTP\/1.1 404 /);
  for (const hosts of ["Host: x\r\nHost: y", "X: y"]) {
    const answer = await ask(t, channel, "127.0.0.1", post.replace("Host: x", hosts));
    assert.match(answer, /^HTTP\/1.1 400 [\s\S]*connection: close[\s\S]*\{"error":"not_understood"\}$/i);
  }
});

test("the endpoint answers all that a connection pipelines", async (t) => {
  const channel = await startTestChannel(t);
  const answers = await ask(t, channel, "127.0.0.1", post.repeat(2_000));
  assert.equal(answers.match(/HTTP\/1\.1 404 /g)?.length, 2_000);
});
