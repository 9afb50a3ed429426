/** Clients that disconnect at any moment: before, during and after the answer to each of the API's calls. */
import { once } from "node:events";
import { connect } from "node:net";
import { setImmediate, setTimeout } from "node:timers/promises";
import { routes } from "#api/routes.ts";
import { v2Routes } from "#api/v2/routes.ts";
import type { Clock } from "#lib/clock.ts";
import type { KeyWithSecret } from "#resellers/keys.ts";
import { authorize } from "./signed-request.ts";

const delayMsMax = 25;

interface ResetCall {
  method: string;
  target: string;
  headers?: Record<string, string>;
  body?: string;
}

/**
 * Every call of the API, with the answers that take long: streams, CSV, and those that are held.
 * @param domainName in the portfolio
 */
export function callsToReset(domainName: string): ResetCall[] {
  const every = [...routes, ...v2Routes].map(({ method, path }) => {
    const target = path.replace(":domain_name", domainName).replace(/:\w+/g, "1");
    return method === "GET"
      ? { method, target }
      : { method, target, body: JSON.stringify({ domain_name: domainName }) };
  });
  const lists = ["/domains", "/domains/departures", "/orders", "/renewals", "/hostingaccounts"];
  const long = [
    ...lists.map((target) => ({ method: "GET", target, headers: { accept: "text/csv" } })),
    { method: "GET", target: "/events", headers: { accept: "text/event-stream" } },
    { method: "GET", target: "/events", headers: { prefer: "wait=5" } },
  ];
  const open = ["/openapi.json", "/docs/", "/healthz", "/readyz"].map((target) => ({ method: "GET", target }));
  // Long answers as often as all others together: their answers begin and end at more moments.
  const longOnes = Array.from({ length: Math.ceil(every.length / long.length) }, () => long).flat();
  return [...every, ...open, ...longOnes];
}

export interface ResetOptions {
  url: string;
  keys: readonly KeyWithSecret[];
  clock: Clock;
  calls: readonly ResetCall[];
  /** Whole numbers below its argument. */
  random: (below: number) => number;
  localAddress?: string;
}

/** Sends `count` requests, `atOnce` at a time, and resets the connection of each. Never throws: a refusal is as good as an answer. */
export async function resetAtRandom(options: ResetOptions, count: number, atOnce: number): Promise<void> {
  let left = count;
  const work = async () => {
    while (left-- > 0) await resetOne(options);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

async function resetOne({ url, keys, clock, calls, random, localAddress }: ResetOptions): Promise<void> {
  const { hostname, port } = new URL(url);
  const call = calls[random(calls.length)]!;
  const { method, target, headers = {}, body = "" } = call;
  const authorization = authorize({ key: keys[random(keys.length)]!, clock, method, target, body });
  const fields = { host: hostname, authorization, "content-length": String(body.length), ...headers };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect({ host: hostname, port: Number(port), ...(localAddress && { localAddress }) });
  socket.on("error", () => {});
  const closed = once(socket, "close").catch(() => {});
  const answered = once(socket, "data").catch(() => {});
  socket.write(`${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
  // Of answers that are held, no first byte is awaited.
  if (random(3) === 0) await Promise.race([answered, setTimeout(delayMsMax)]);
  if (random(3) === 0) await setImmediate();
  else await setTimeout(random(delayMsMax));
  socket.resetAndDestroy();
  await closed;
}
