/** The endpoint behind proxies, and its certificate while it runs. */
import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect } from "node:tls";
import { generate } from "selfsigned";
import { listAlarms } from "#alarms.ts";
import { startTestChannel, testCertificate } from "#hosting/channel/test-channel.ts";
import { readTlsPair } from "#lib/net/tls-pair.ts";
import { syncPath } from "#nodes/agent/messages.ts";
import { createTransport } from "#nodes/agent/transport.ts";
import { firstVersion, open, stranger, trusted } from "../../../test/harness/proxied-calls.ts";
import { exchange } from "../../../test/harness/raw-http.ts";
import { eventually } from "../../../test/harness/running-system.ts";

const failuresMax = 20;
const unsigned = (line: string) =>
  `POST ${syncPath} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${line}content-type: application/json\r\ncontent-length: 2\r\n\r\n{}`;

test("failures at the endpoint count for the node that a trusted proxy names, and for nobody else", async (t) => {
  const proxies = { trusted, header: "forwarded", proxyProtocol: false } as const;
  const { endpoint } = await startTestChannel(t, { tls: undefined, proxies });
  const send = async (forwarded: string, from = "127.0.0.1") =>
    (await exchange(await open(endpoint.url, from), unsigned(`forwarded: ${forwarded}\r\n`))).status;
  for (let failed = 0; failed < failuresMax; failed++) assert.equal(await send("for=203.0.113.1"), 401);
  assert.equal(await send("for=203.0.113.1"), 429);
  assert.equal(await send("for=203.0.113.1, for=203.0.113.2"), 401);
  assert.equal(await send("for=203.0.113.1", stranger), 401);
});

test("the endpoint takes the PROXY header of trusted peers off beneath its TLS, and wants one", async (t) => {
  const { endpoint } = await startTestChannel(t, { proxies: { trusted, proxyProtocol: true } });
  const send = async (client: string) =>
    (await exchange(await open(endpoint.url, "127.0.0.1", firstVersion(client), true), unsigned(""))).status;
  for (let failed = 0; failed < failuresMax; failed++) assert.equal(await send("203.0.113.1"), 401);
  assert.equal(await send("203.0.113.1"), 429);
  assert.equal(await send("203.0.113.2"), 401);
  await assert.rejects(open(endpoint.url, "127.0.0.1", undefined, true));
  assert.equal((await exchange(await open(endpoint.url, stranger, undefined, true), unsigned(""))).status, 401);
});

test("the endpoint serves a certificate that is renewed for the key that nodes trust, and none for another key", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-endpoint-"));
  t.after(() => rm(folder, { recursive: true }));
  const files = { certificate: join(folder, "certificate"), key: join(folder, "key") };
  const write = async (pair: { certificate: string; key: string }) => {
    for (const name of ["certificate", "key"] as const) await writeFile(files[name], pair[name]);
  };
  const first = await testCertificate();
  await write(first);
  const channel = await startTestChannel(t, { tls: readTlsPair(files), tlsLookMs: 20 });
  const { config } = await channel.join("web-1");
  const shown = async () => {
    const socket = connect({ port: channel.endpoint.port, host: "127.0.0.1", rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const { serialNumber } = socket.getPeerCertificate();
    socket.destroy();
    return serialNumber;
  };
  const serialOf = ({ certificate }: { certificate: string }) => new X509Certificate(certificate).serialNumber;
  const alarms = async () => (await listAlarms(channel.context, { all: false, limit: 10 })).map(({ note }) => note);

  const keyPair = { privateKey: first.key, publicKey: publicKeyOf(first.key) };
  const made = await generate([{ name: "commonName", value: "renewed.test" }], {
    keyType: "ec",
    curve: "P-256",
    keyPair,
  });
  const renewed = { certificate: made.cert, key: first.key };
  await write(renewed);
  await eventually("the renewed certificate is shown", async () => (await shown()) === serialOf(renewed));

  await write(await testCertificate());
  await eventually("another key is an alarm", async () => /another one than nodes trust/.test((await alarms()).join()));
  assert.equal(await shown(), serialOf(renewed));
  const transport = createTransport(config.gateway);
  const signal = AbortSignal.timeout(60_000);
  const request = { path: "/x", headers: {}, body: Buffer.alloc(0), answerBytesMax: 1_000, signal };
  assert.equal((await transport.send(request)).status, 404);
  transport.close();
  await write(renewed);
  await eventually("the alarm is over", async () => (await alarms()).length === 0);
});

function publicKeyOf(key: string): string {
  return createPublicKey(createPrivateKey(key)).export({ type: "spki", format: "pem" }).toString();
}
