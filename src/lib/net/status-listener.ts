/**
 * What a process says about itself to those who run it: on a Unix socket in its runtime folder, and on an address of its own if
 * that is set. Resellers never reach it.
 */
import { unlink } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, type BlockList, connect, type ListenOptions } from "node:net";
import { join } from "node:path";
import { waitAtMost } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { addressFamily } from "#lib/net/address-ranges.ts";
import { plainAddress } from "#lib/net/plain-address.ts";
import { release } from "#lib/release.ts";
import { reportDefect } from "#lib/report-defect.ts";
import { WrongSetting } from "#lib/settings.ts";

/** Where a process tells its state. */
export interface StatusSettings {
  /** The folder of its socket, `<role>.sock`; undefined: no socket. */
  runtimeDir: string | undefined;
  host: string;
  /** 0 takes any free port; undefined: no port is opened. */
  port: number | undefined;
  /** Who may ask at host and port. */
  allowed: BlockList;
}

export interface StatusAnswer {
  status: number;
  contentType: string;
  body: string;
}

export interface StatusOptions {
  /** `api`, `worker`, `node` or `agent`: names the socket. */
  role: string;
  /** Why the process cannot do its work now; undefined when it can. */
  whyNotReady: () => string | undefined | Promise<string | undefined>;
  /** More paths: what a GET of each gets. */
  pages?: Record<string, () => StatusAnswer | Promise<StatusAnswer>>;
  log: Log;
}

export interface StatusListener {
  /** For the message of a process that is ready; nothing when no port is open. */
  ready: { statusPort?: number };
  close(): Promise<void>;
}

/** For probes and a few scrapers. */
const connectionsMax = 64;
const requestTimeoutMs = 5_000;
const headerBytesMax = 8 * 1024;
const loopLookMs = 500;
/** Behind by this much, an event loop answers nobody in time. */
const loopBehindMsMax = 5_000;

export const socketFile = (runtimeDir: string, role: string) => join(runtimeDir, `${role}.sock`);

/** @throws WrongSetting when it cannot listen there, with what to do */
export async function startStatusListener(settings: StatusSettings, options: StatusOptions): Promise<StatusListener> {
  const { runtimeDir, host, port, allowed } = settings;
  const loop = watchEventLoop();
  const pages = { "/healthz": () => health(loop.behindMs()), "/readyz": () => readiness(options), ...options.pages };
  const servers: Server[] = [];
  let statusPort: number | undefined;
  const close = async () => {
    loop.stop();
    await Promise.all(servers.map(closeServer));
  };
  try {
    if (runtimeDir !== undefined) {
      const path = socketFile(runtimeDir, options.role);
      await clearSocket(path);
      servers.push(
        await listen(newServer(pages, options.log), { path }, `the socket ${path} in DEEDHOUSE_RUNTIME_DIR`),
      );
    }
    if (port !== undefined) {
      const place = `${host}:${port} of DEEDHOUSE_METRICS_HOST and DEEDHOUSE_METRICS_PORT`;
      const server = await listen(newServer(pages, options.log, allowed), { host, port }, place);
      statusPort = (server.address() as AddressInfo).port;
      servers.push(server);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { ready: statusPort === undefined ? {} : { statusPort }, close };
}

type Pages = Record<string, () => StatusAnswer | Promise<StatusAnswer>>;

function newServer(pages: Pages, log: Log, allowed?: BlockList): Server {
  const server = createServer(
    { requestTimeout: requestTimeoutMs, maxHeaderSize: headerBytesMax },
    (message, response) => {
      answer(pages, allowed, message)
        .catch((error: unknown): StatusAnswer => {
          log.warn({ err: error, path: message.url }, "a question about this process could not be answered");
          return json(500, "this could not be answered; the log says why");
        })
        .then((given) => write(response, given))
        .catch(reportDefect);
    },
  );
  server.maxConnections = connectionsMax;
  return server;
}

async function answer(
  pages: Pages,
  allowed: BlockList | undefined,
  { method, url = "", socket }: IncomingMessage,
): Promise<StatusAnswer> {
  const from = plainAddress(socket.remoteAddress ?? "");
  if (allowed && !allowed.check(from, addressFamily(from))) {
    return json(403, `${from} is not in DEEDHOUSE_METRICS_ALLOW`);
  }
  const path = url.split("?", 1)[0]!;
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (!page) return json(404, `there is no ${path}, only ${Object.keys(pages).join(", ")}`);
  if (method !== "GET" && method !== "HEAD") return json(405, "only GET is answered here");
  return page();
}

function write(response: ServerResponse, { status, contentType, body }: StatusAnswer): void {
  const headers = {
    "content-type": contentType,
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
  };
  response.writeHead(status, headers).end(body);
}

function json(status: number, text: string, more: object = {}): StatusAnswer {
  return { status, contentType: "application/json; charset=utf-8", body: JSON.stringify({ status: text, ...more }) };
}

function health(behindMs: number): StatusAnswer {
  if (behindMs < loopBehindMsMax) return json(200, "ok", { release });
  return json(503, `the event loop was ${Math.round(behindMs / 1000)} s behind`, { release });
}

async function readiness({ whyNotReady, log }: StatusOptions): Promise<StatusAnswer> {
  try {
    const reason = await whyNotReady();
    return reason === undefined ? json(200, "ready") : json(503, reason);
  } catch (error) {
    log.debug({ err: error }, "whether this process is ready could not be found out");
    return json(503, (error as Error).message);
  }
}

/** How late the last look was, which a loop that was blocked learns before it answers. */
function watchEventLoop() {
  let lookedAtMs = performance.now();
  let behindMs = 0;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    behindMs = nowMs - lookedAtMs - loopLookMs;
    lookedAtMs = nowMs;
  }, loopLookMs);
  timer.unref();
  return {
    behindMs: () => Math.max(behindMs, performance.now() - lookedAtMs - loopLookMs),
    stop: () => clearInterval(timer),
  };
}

/** A process that was killed leaves its socket, at which nobody answers. @throws WrongSetting if somebody does */
async function clearSocket(path: string): Promise<void> {
  if (await isAnswered(path)) {
    throw new WrongSetting(
      `another process already listens at ${path}: stop it, or give each process its own DEEDHOUSE_RUNTIME_DIR`,
    );
  }
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw new WrongSetting(`${path} cannot be replaced: ${error.message}`);
  });
}

function isAnswered(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(path, () => resolve(true)).once("error", () => resolve(false));
  return promise.finally(() => socket.destroy());
}

function listen(server: Server, where: ListenOptions, place: string): Promise<Server> {
  const { promise, resolve, reject } = Promise.withResolvers<Server>();
  server.once("error", (error) => reject(new WrongSetting(`cannot listen at ${place}: ${error.message}`)));
  server.listen(where, () => resolve(server));
  return promise;
}

async function closeServer(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeIdleConnections();
  await waitAtMost(requestTimeoutMs, promise);
  server.closeAllConnections();
}
