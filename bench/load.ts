/**
 * A load generator with little cost of its own, because it shares the cores with what it measures: requests are signed before the
 * clock starts, connections are kept, and only the head and length of an answer are read.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { systemClock } from "#lib/clock.ts";
import { signTarget } from "./signed-client.ts";

/** A round of load: the data of the thread. */
export interface Load {
  port: number;
  key: string;
  secret: string;
  /** Sent in turn. */
  requests: readonly LoadRequest[];
  /** The expected status of each answer. */
  statusExpected: number;
  /** Each has one request in progress at a time. */
  connectionsCount: number;
  requestsCount: number;
}

export interface LoadRequest {
  method: "GET" | "POST";
  target: string;
  /** Sent as JSON. */
  body?: unknown;
}

export interface LoadResult {
  elapsedMs: number;
  /** Of each request. */
  latenciesMs: Float64Array;
}

/** The message of the thread when all requests are ready. */
const started = "started";
const headEnd = Buffer.from("\r\n\r\n");
const lengthForm = /\r\ncontent-length: (\d+)/i;

/** The bytes of every request. Each has its own nonce, so that none is refused as a replay. */
function layOut({ port, key, secret, requests, requestsCount }: Load): Buffer[] {
  return Array.from({ length: requestsCount }, (_, index) => {
    const { method, target, body } = requests[index % requests.length]!;
    const bytes = Buffer.from(body === undefined ? "" : JSON.stringify(body));
    const authorization = signTarget({ key, secret, method, target, body: bytes });
    const content = bytes.length === 0 ? "" : `content-type: application/json\r\ncontent-length: ${bytes.length}\r\n`;
    const head = `${method} ${target} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: ${authorization}\r\naccept: application/json\r\n${content}\r\n`;
    return Buffer.concat([Buffer.from(head), bytes]);
  });
}

/** Sends one request after another on one connection, until `next` has no more. */
function drive(
  { port, statusExpected }: Load,
  next: () => Buffer | undefined,
  onAnswered: (latencyMs: number) => void,
): Promise<void> {
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
    if (!head.startsWith(`HTTP/1.1 ${statusExpected} `)) return void socket.destroy(new Error(received.toString()));
    if (received.length < bodyStart + Number(lengthForm.exec(head)?.[1] ?? 0)) return;
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
  parentPort?.postMessage(started);
  const startedMs = systemClock.monotonicMs();
  await Promise.all(
    Array.from({ length: load.connectionsCount }, () =>
      drive(
        load,
        () => requests[sentCount++],
        (latencyMs) => {
          latenciesMs[answeredCount++] = latencyMs;
        },
      ),
    ),
  );
  return { elapsedMs: systemClock.monotonicMs() - startedMs, latenciesMs };
}

if (!isMainThread) parentPort?.postMessage(await runLoad(workerData as Load));

/**
 * Runs the load in a separate thread.
 * @param onStart called when the first request is about to leave
 * @throws when an answer is not the expected one
 */
export async function startLoad(load: Load, onStart = () => {}): Promise<LoadResult> {
  const thread = new Worker(new URL(import.meta.url), { workerData: load });
  const { promise, resolve } = Promise.withResolvers<LoadResult>();
  thread.on("message", (message: LoadResult | typeof started) => (message === started ? onStart() : resolve(message)));
  // Awaited together, because a busy process may receive both in one turn.
  const [result] = await Promise.all([promise, once(thread, "exit")]);
  return result;
}
