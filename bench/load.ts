/**
 * A load generator that costs the machine little, because it shares its cores with what it measures: requests are signed
 * and laid out before the clock starts, connections are kept, and of an answer only its head and length are read.
 */
import { connect } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "#lib/clock.ts";
import { signTarget } from "./signed-client.ts";

/** What a round of load is; given to the thread as its data. */
export interface Load {
  port: number;
  key: string;
  secret: string;
  /** Taken in turn. */
  targets: readonly string[];
  /** Each has one request under way at a time. */
  connectionsCount: number;
  requestsCount: number;
}

export interface LoadResult {
  elapsedMs: number;
  /** Of each request. */
  latenciesMs: Float64Array;
}

const headEnd = Buffer.from("\r\n\r\n");
const lengthForm = /\r\ncontent-length: (\d+)/i;

/** The bytes of every request. Each has a nonce of its own, so a server can refuse none of them as a replay. */
function layOut({ port, key, secret, targets, requestsCount }: Load): Buffer[] {
  return Array.from({ length: requestsCount }, (_, index) => {
    const target = targets[index % targets.length]!;
    const authorization = signTarget({ key, secret, method: "GET", target, body: Buffer.alloc(0) });
    return Buffer.from(
      `GET ${target} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: ${authorization}\r\naccept: application/json\r\n\r\n`,
    );
  });
}

/** Sends one request after another on one connection, until `next` has no more. */
function drive(port: number, next: () => Buffer | undefined, onAnswered: (latencyMs: number) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect(port, "127.0.0.1").setNoDelay(true);
  let sentMs = 0;
  let received: Buffer = Buffer.alloc(0);
  const send = () => {
    const request = next();
    if (!request) return void socket.end();
    sentMs = systemClock.monotonicMs();
    socket.write(request);
  };
  socket.on("data", (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const bodyStart = received.indexOf(headEnd) + headEnd.length;
    if (bodyStart < headEnd.length) return;
    const head = received.toString("latin1", 0, bodyStart);
    if (!head.startsWith("HTTP/1.1 200 ")) return void socket.destroy(new Error(received.toString()));
    if (received.length < bodyStart + Number(lengthForm.exec(head)?.[1])) return;
    received = Buffer.alloc(0);
    onAnswered(systemClock.monotonicMs() - sentMs);
    send();
  });
  socket.once("connect", send);
  socket.once("error", reject);
  socket.once("close", () => resolve());
  return promise;
}

async function runLoad(load: Load): Promise<LoadResult> {
  const requests = layOut(load);
  const latenciesMs = new Float64Array(requests.length);
  let sentCount = 0;
  let answeredCount = 0;
  const startedMs = systemClock.monotonicMs();
  await Promise.all(
    Array.from({ length: load.connectionsCount }, () =>
      drive(
        load.port,
        () => requests[sentCount++],
        (latencyMs) => {
          latenciesMs[answeredCount++] = latencyMs;
        },
      ),
    ),
  );
  return { elapsedMs: systemClock.monotonicMs() - startedMs, latenciesMs };
}

parentPort?.postMessage(await runLoad(workerData as Load));
