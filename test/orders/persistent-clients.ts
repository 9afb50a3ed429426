/**
 * Clients of several apis that are killed and replaced: without an answer, they send what they have signed to another one, again and
 * again. Not by sendSigned, which knows the answers of this release only.
 */
import { sleep } from "#lib/clock.ts";
import type { TestGateway, TestReseller } from "../harness/gateway.ts";
import { authorize } from "../harness/signed-request.ts";
import type { PlacedOrder } from "./judge.ts";

const writers = 4;
const readers = 3;
/** Tries before a request counts as failed. */
const triesMax = 600;
const pauseMs = 50;

interface Call {
  method: string;
  target: string;
  body?: object;
}
interface Answer {
  status: number;
  text: string;
  location: string;
}

interface Asked {
  gateway: TestGateway;
  reseller: TestReseller;
  /** Where apis are now. */
  urls(): string[];
  /** A name of the portfolio. */
  nameOf(number: number): string;
}

export interface PersistentClients {
  placed: PlacedOrder[];
  /** Answers that no request should get. */
  unexpected: string[];
  /** Of requests, by what happened to them. */
  counts: { answered: number; unanswered: number; busy: number };
  stop(): Promise<void>;
}

export function startPersistentClients(asked: Asked): PersistentClients {
  const placed: PlacedOrder[] = [];
  const unexpected: string[] = [];
  const counts = { answered: 0, unanswered: 0, busy: 0 };
  let isOver = false;
  let sent = 0;

  async function sendOnce({ method, target, body }: Call, authorization: string): Promise<Answer | undefined> {
    const urls = asked.urls();
    sent += 1;
    const url = urls[sent % urls.length];
    if (url === undefined) return undefined;
    try {
      const answer = await fetch(url + target, {
        method,
        headers: { authorization, ...(body && { "content-type": "application/json" }) },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: answer.status, text: await answer.text(), location: answer.headers.get("location") ?? "" };
    } catch {
      return undefined;
    }
  }

  const sign = (call: Call) => authorize({ ...call, key: asked.reseller.key, clock: asked.gateway.context.clock });

  /** @throws Error when nobody answers */
  async function ask(call: Call): Promise<Answer> {
    let authorization = sign(call);
    let mayBeUsed = false;
    for (let tries = 0; tries < triesMax; tries++) {
      const answer = await sendOnce(call, authorization);
      if (answer === undefined) counts.unanswered += 1;
      else if (answer.status === 503) counts.busy += 1;
      else if (mayBeUsed && answer.status === 401 && answer.text.includes("authorization_nonce_reused")) {
        // An api was killed between the nonce and the answer, and what it was asked for is not done.
        authorization = sign(call);
      } else {
        counts.answered += 1;
        return answer;
      }
      mayBeUsed = true;
      await sleep(pauseMs);
    }
    throw new Error(`${call.method} ${call.target} has no answer`);
  }

  async function register(name: string): Promise<void> {
    const call = { method: "POST", target: "/domains/registrations", body: { domain_name: name } };
    let answer = await ask(call);
    // While the registry has no owner, the api does not know whether the name is free.
    for (let more = triesMax; more > 0 && answer.text.includes("domain_availability_lookuperror"); more--) {
      answer = await ask(call);
    }
    const { status, text, location } = answer;
    if (status === 202) placed.push({ name, location, code: location.slice(location.lastIndexOf("/") + 1) });
    else unexpected.push(`${name}: ${status} ${text}`);
  }

  async function read(call: Call): Promise<void> {
    const { status, text } = await ask(call);
    if (status !== 200 && status !== 204) unexpected.push(`${call.method} ${call.target}: ${status} ${text}`);
  }

  const work = async (one: (turn: number) => Promise<void>) => {
    for (let turn = 0; !isOver; turn++) await one(turn).catch((error: Error) => void unexpected.push(error.message));
  };
  const working = Promise.all([
    ...Array.from({ length: writers }, (_, client) =>
      work((turn) => register(`${turn % 3 === 0 ? "slow-150-" : ""}side-${client}-${turn}.example`)),
    ),
    ...Array.from({ length: readers }, (_, client) =>
      work(async (turn) => {
        const name = asked.nameOf(client * 1_000 + turn);
        await read({ method: "GET", target: `/domains/${name}` });
        await read({ method: "GET", target: "/domains?take=20" });
        await read({ method: "PUT", target: `/domains/${name}/renew`, body: { will_renew: turn % 2 === 0 } });
      }),
    ),
  ]);
  return {
    placed,
    unexpected,
    counts,
    async stop() {
      isOver = true;
      await working;
    },
  };
}
