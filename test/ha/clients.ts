/** Clients that register names without a pause, whatever happens to the database, and a reader of the events. */
import assert from "node:assert/strict";
import { sleep } from "#lib/clock.ts";
import type { ApiProcess } from "../harness/api-process.ts";
import type { TestGateway, TestReseller } from "../harness/gateway.ts";
import { linksOf } from "../harness/link-header.ts";
import { authorize, type Reply, sendSigned } from "../harness/signed-request.ts";

const clientsCount = 6;
/** A third of what two cores do, so that what is measured is the outage and not a backlog. */
const pauseMs = 200;

/** A registration, by the clock of `performance.now()`. */
export interface Attempt {
  name: string;
  startedMs: number;
  endedMs: number;
  /** Undefined: the connection ended without an answer. */
  status: number | undefined;
  /** Of an answer with 202. */
  location: string | undefined;
}

/** Whom the clients ask in turns, and as whom. */
export interface Service {
  gateway: TestGateway;
  apis: readonly ApiProcess[];
  reseller: TestReseller;
}

let turn = 0;

/** Sends a request, whose answer may never come, to the next api. */
export async function tryToSend(
  { gateway, apis, reseller }: Service,
  method: string,
  target: string,
  more: { body?: unknown; authorization?: string } = {},
): Promise<Reply | undefined> {
  const { clock } = gateway.context;
  const api = apis[turn++ % apis.length]!;
  try {
    return await sendSigned({ url: api.url, key: reseller.key, clock, method, target, ...more });
  } catch (error) {
    // An answer that openapi.json does not have is a finding.
    if (error instanceof assert.AssertionError) throw error;
    return undefined;
  }
}

export interface Clients {
  attempts: Attempt[];
  stop(): Promise<void>;
}

/** @param prefix of the names */
export function startClients(service: Service, prefix: string): Clients {
  const attempts: Attempt[] = [];
  const stopped = new AbortController();
  const { clock } = service.gateway.context;
  async function registerOne(name: string): Promise<void> {
    const call = { method: "POST", target: "/domains/registrations", body: { domain_name: name } };
    const authorization = authorize({ ...call, key: service.reseller.key, clock });
    const startedMs = performance.now();
    const send = () => tryToSend(service, call.method, call.target, { body: call.body, authorization });
    const reply = await send();
    const location = reply?.status === 202 ? reply.headers.location : undefined;
    attempts.push({ name, startedMs, endedMs: performance.now(), status: reply?.status, location });
    if (location === undefined) return;
    const again = await send();
    if (again?.status === 202) assert.equal(again.headers.location, location, "a resent write has its first answer");
    else assert.ok(again === undefined || again.status === 503, `a resent write of ${name}: ${again?.text}`);
  }
  const clients = Array.from({ length: clientsCount }, async (_, client) => {
    for (let number = 0; !stopped.signal.aborted; number++) {
      await registerOne(`${prefix}-${client}-${number}.example`);
      await sleep(pauseMs);
    }
  });
  const ended = Promise.all(clients);
  // Reported by `stop`, not by the process.
  ended.catch(() => {});
  return {
    attempts,
    async stop() {
      stopped.abort();
      await ended;
    },
  };
}

/** Reads on from its last place, again and again; a refusal is nothing but "not yet". */
export function startReader(service: Service) {
  const ids: string[] = [];
  const stopped = new AbortController();
  let target = "/events?take=1000";
  async function readOn(): Promise<boolean> {
    const reply = await tryToSend(service, "GET", target);
    if (reply?.status !== 200) {
      assert.ok(reply === undefined || reply.status === 503, `the reader of events got ${reply?.text}`);
      return false;
    }
    const events = reply.body as { id: string }[];
    ids.push(...events.map(({ id }) => id));
    target = linksOf(reply).next ?? target;
    return events.length > 0;
  }
  const ended = (async () => {
    while (!stopped.signal.aborted) {
      await readOn();
      await sleep(pauseMs);
    }
  })();
  ended.catch(() => {});
  return {
    ids,
    async stop() {
      stopped.abort();
      await ended;
    },
  };
}

/** The ids of all events, from the beginning. */
export async function readAll(service: Service): Promise<string[]> {
  const ids: string[] = [];
  for (let target = "/events?take=1000"; ; ) {
    const reply = await tryToSend(service, "GET", target);
    assert.equal(reply?.status, 200);
    const events = reply.body as { id: string }[];
    if (events.length === 0) return ids;
    ids.push(...events.map(({ id }) => id));
    target = linksOf(reply).next!;
  }
}
