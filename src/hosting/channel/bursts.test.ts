/** Bursts of requests: requests in progress count as failures for the others of the burst. */
import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { Client } from "pg";
import { startTestChannel } from "#hosting/channel/test-channel.ts";
import { sourceSharesDefault } from "#lib/net/connection-limits.ts";
import { joinPath, type SyncBody, syncPath } from "#nodes/agent/messages.ts";
import { publicKeyText, signedHeaders } from "#nodes/agent/request-signature.ts";
import { sendRaw } from "../../../test/harness/raw-http.ts";
import type { Reply } from "../../../test/harness/signed-request.ts";
import { untilHeldUp } from "../../../test/harness/sql.ts";

const burstCount = 100;
const failuresMax = 20;
/** On a busy machine, connections wait for their first request to be read. */
const shares = { ...sourceSharesDefault, sourceHalfOpenMax: burstCount };
const channel = await startTestChannel({ after }, { tls: undefined, shares });
await channel.join("web-1");
/** Not the node's. */
const strangers = generateKeyPairSync("ed25519");

/** Sends all requests while the table is locked, so that they run concurrently. */
async function sendBurst(request: () => Promise<Reply>): Promise<Reply[]> {
  const lock = new Client({ connectionString: channel.context.databaseUrl });
  await lock.connect();
  await lock.query("BEGIN; LOCK TABLE node_channels");
  const replies = Array.from({ length: burstCount }, request);
  await untilHeldUp(channel.context.databaseUrl);
  await lock.end();
  return Promise.all(replies);
}

function send(path: string, node: string, content: object): Promise<Reply> {
  const body = Buffer.from(JSON.stringify(content));
  const signed = signedHeaders({ path, node, counter: 1_000_000 }, body, strangers.privateKey);
  const headers = { host: "gateway", connection: "close", "content-length": String(body.length), ...signed };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return sendRaw(channel.endpoint.url, `POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`, body);
}

const countOf = (replies: Reply[], wanted: number) => replies.filter(({ status }) => status === wanted).length;

test("verifies no more signatures of a burst in a node's name than its source may fail", async () => {
  const question: SyncBody = { after: -1, head: -1, asked: -1, refused: [], agentVersion: "test", highestUid: 0 };
  const replies = await sendBurst(() => send(syncPath, "web-1", question));
  assert.deepEqual([countOf(replies, 401), countOf(replies, 429)], [failuresMax, burstCount - failuresMax]);
});

test("looks up no more tokens of a burst than its source may fail", async () => {
  await channel.closeEndpoint();
  await channel.openEndpoint();
  const replies = await sendBurst(() => {
    const secret = randomBytes(32).toString("base64url");
    return send(joinPath, "", {
      secret,
      publicKey: publicKeyText(strangers.publicKey),
      agentVersion: "test",
      highestUid: 0,
    });
  });
  assert.deepEqual([countOf(replies, 401), countOf(replies, 429)], [failuresMax, burstCount - failuresMax]);
});
