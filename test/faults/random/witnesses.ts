/** Three readers of a reseller's events: a cursor, a stream that is cut, and a webhook. Each gets every event once, in order. */
import assert from "node:assert/strict";
import { type ClientRequest, request } from "node:http";
import { sleep } from "#lib/clock.ts";
import type { Scope } from "../../harness/database.ts";
import type { TestGateway, TestReseller } from "../../harness/gateway.ts";
import { linksOf } from "../../harness/link-header.ts";
import { authorize } from "../../harness/signed-request.ts";
import { until } from "../../orders/judge.ts";
import { makeWebhook, startReceiver } from "../../webhooks/stage.ts";

export interface SeenEvent {
  id: string;
  type: string;
  data: Record<string, unknown>;
}

export interface Witness {
  /** Cuts the stream's connection; its client connects again where it was. */
  cutStream(): void;
  /** Waits until all three have read to the end. @returns all events in order, and the mistakes, one sentence each */
  testify(): Promise<{ events: SeenEvent[]; faults: string[] }>;
}

const target = "/events";
const reconnectMs = 20;

export async function startWitness(scope: Scope, gateway: TestGateway, reseller: TestReseller): Promise<Witness> {
  const receiver = await startReceiver(scope);
  await makeWebhook(gateway, reseller, receiver.url);
  const stopped = new AbortController();
  const cursor = readPages(gateway, reseller, stopped.signal);
  const stream = followStream(gateway, reseller, stopped.signal);
  scope.after(() => stopped.abort());
  // It begins with what happens after the answer.
  await stream.begun;
  return {
    cutStream: stream.cut,
    async testify() {
      const events = await readAll(gateway, reseller);
      const wanted = events.map(({ id }) => id);
      const readers: Record<string, () => string[]> = {
        cursor: () => cursor,
        stream: () => stream.ids,
        // A webhook may repeat an event with its id (docs/webhooks.md).
        webhook: () => [...new Set(receiver.received.map(({ event }) => event.id))],
      };
      const faults: string[] = [];
      for (const [reader, ids] of Object.entries(readers)) {
        const isComplete = () => new Set(ids()).size >= wanted.length;
        await until(`the ${reader} has all events`, isComplete).catch((error: Error) => faults.push(error.message));
        faults.push(...compare(reader, ids(), wanted));
      }
      stopped.abort();
      return { events, faults };
    },
  };
}

function compare(reader: string, seen: readonly string[], wanted: readonly string[]): string[] {
  const place = wanted.findIndex((id, index) => seen[index] !== id);
  if (place < 0 && seen.length === wanted.length) return [];
  const at = place < 0 ? wanted.length : place;
  return [
    `the ${reader} has ${seen.length} of ${wanted.length} events; number ${at} is ${seen[at]}, not ${wanted[at]}`,
  ];
}

async function readPage(gateway: TestGateway, reseller: TestReseller, from: string, headers: Record<string, string>) {
  const reply = await gateway.send(reseller, "GET", from, { headers });
  assert.equal(reply.status, 200, reply.text);
  return { events: reply.body as SeenEvent[], next: linksOf(reply).next! };
}

async function readAll(gateway: TestGateway, reseller: TestReseller): Promise<SeenEvent[]> {
  const all: SeenEvent[] = [];
  for (let from = target; ; ) {
    const { events, next } = await readPage(gateway, reseller, from, {});
    if (events.length === 0) return all;
    all.push(...events);
    from = next;
  }
}

function readPages(gateway: TestGateway, reseller: TestReseller, signal: AbortSignal): string[] {
  const ids: string[] = [];
  const read = async () => {
    for (let from = target; !signal.aborted; ) {
      const { events, next } = await readPage(gateway, reseller, from, { prefer: "wait=1" });
      ids.push(...events.map(({ id }) => id));
      from = next;
    }
  };
  read().catch((error: Error) => {
    if (!signal.aborted) ids.push(`an error: ${error.message}`);
  });
  return ids;
}

function followStream(gateway: TestGateway, reseller: TestReseller, signal: AbortSignal) {
  const ids: string[] = [];
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  let place: string | undefined;
  let present: ClientRequest | undefined;
  const connect = () => {
    if (signal.aborted) return;
    const authorization = authorize({ key: reseller.key, clock: gateway.context.clock, method: "GET", target });
    const from = place === undefined ? {} : { "last-event-id": place };
    const headers = { accept: "text/event-stream", authorization, ...from };
    const reconnect = () => void sleep(reconnectMs, signal).then(connect);
    present = request(`${gateway.url}${target}`, { agent: false, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        const frames = (text + part).split("\n\n");
        text = frames.pop()!;
        for (const frame of frames) {
          // A place without an event is where the stream has got to.
          place = /^id: ?(.+)$/m.exec(frame)?.[1] ?? place;
          if (place !== undefined) begin();
          if (place !== undefined && /^data:/m.test(frame)) ids.push(place);
        }
      });
      response.on("error", () => {});
    });
    present.on("error", () => {}).once("close", reconnect);
    present.end();
  };
  connect();
  const cut = () => void present?.destroy();
  signal.addEventListener("abort", cut);
  return { ids, begun, cut };
}
