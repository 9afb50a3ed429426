/** Receivers of webhooks, and what they received. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { Scope } from "../harness/database.ts";
import type { TestGateway, TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";

export interface Received {
  headers: IncomingHttpHeaders;
  text: string;
  event: { id: string; type: string; data: Record<string, unknown> };
}

export interface Receiver {
  url: string;
  /** Without the test that its URL must answer first, unless `showsTests`. */
  received: Received[];
  showsTests: boolean;
  /** How it answers; by default 204. The first test gets 204 unless it is shown. */
  answer: (response: ServerResponse, received: Received) => void;
}

/** @param pair PEM: it speaks TLS */
export async function startReceiver(scope: Scope, pair?: { cert: string; key: string }): Promise<Receiver> {
  const listener: RequestListener = async (request, response) => {
    const body = await text(request);
    const got = { headers: request.headers, text: body, event: JSON.parse(body) };
    if (!receiver.showsTests && got.event.type === "webhook.test") {
      receiver.showsTests = true;
      response.writeHead(204).end();
      return;
    }
    receiver.received.push(got);
    receiver.answer(response, got);
  };
  const server = pair ? createSecureServer(pair, listener) : createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  scope.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `${pair ? "https" : "http"}://127.0.0.1:${port}/hook?shop=1`,
    received: [],
    showsTests: false,
    answer: (response) => void response.writeHead(204).end(),
  };
  return receiver;
}

export interface MadeWebhook {
  id: string;
  secret: string;
  path: string;
}

/** A webhook whose URL has answered its test. */
export async function makeWebhook(
  gateway: TestGateway,
  as: TestReseller,
  url: string,
  more: object = {},
): Promise<MadeWebhook> {
  const made = await postWebhook(gateway, as, url, more);
  await until("the URL answers its test", async () => (await shownWebhook(gateway, as, made)).verified);
  return made;
}

export interface ShownWebhook {
  url: string;
  description: string;
  types?: string[];
  verified: boolean;
  enabled: boolean;
  disabled_reason?: string;
  failing_since?: string;
  pending: number;
}

export async function shownWebhook(
  gateway: TestGateway,
  as: TestReseller,
  { path }: MadeWebhook,
): Promise<ShownWebhook> {
  return (await gateway.send(as, "GET", path)).body as ShownWebhook;
}

/** A webhook whose URL has not answered yet. */
export async function postWebhook(
  gateway: TestGateway,
  as: TestReseller,
  url: string,
  more: object = {},
): Promise<MadeWebhook> {
  const reply = await gateway.send(as, "POST", "/webhooks", { body: { url, ...more } });
  assert.equal(reply.status, 201, reply.text);
  const { id, secret } = reply.body as { id: string; secret: string };
  return { id, secret, path: `/webhooks/${id}` };
}

/** Writes events that a reseller gets: notices about a name, with these texts. */
export const tell = ({ databaseUrl }: Pick<TestGateway, "databaseUrl">, as: TestReseller, ...texts: string[]) =>
  runSql(
    databaseUrl,
    `INSERT INTO domain_history (domain_name, reseller_id, at, event, note)
     SELECT 'a.example', $1, now(), 'registry-notice', note FROM unnest($2::text[]) AS note`,
    [as.id, texts],
  );

export const textsOf = (received: readonly Received[]) => received.map(({ event }) => String(event.data.text));

/** Resolves when it is so. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await isSo())) {
    if (performance.now() > deadline) assert.fail(`never: ${what}`);
    await sleep(10);
  }
}

/** As a receiver checks it, by the text of the standard. */
export function assertSigned({ headers, text: body }: Received, ...secrets: string[]): void {
  const content = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const wanted = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    return `v1,${createHmac("sha256", key).update(content).digest("base64")}`;
  });
  assert.deepEqual(String(headers["webhook-signature"]).split(" "), wanted);
}

export interface ShownDelivery {
  event_id: string;
  type: string;
  status: string;
  attempts: number;
  answer_status?: number;
  answer_text?: string;
  error_text?: string;
}

export async function deliveriesOf(
  gateway: TestGateway,
  as: TestReseller,
  { path }: MadeWebhook,
  query = "",
): Promise<ShownDelivery[]> {
  const reply = await gateway.send(as, "GET", `${path}/deliveries${query}`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body as ShownDelivery[];
}
