import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { listening } from "./listener.ts";
import type { SandboxRegistry } from "./server.ts";

const pageEntriesMax = 10_000;
const bodyBytesMax = 1024 * 1024;

/** What the control port may do: all of the registry but closing it. */
export type Controlled = Omit<SandboxRegistry, "close" | "controlPort">;

interface Reply {
  status: number;
  body: unknown;
}

const done: Reply = { status: 200, body: { done: true } };

type Route = (registry: Controlled, url: URL, request: IncomingMessage) => Reply | Promise<Reply>;

const routes: Record<string, Route> = {
  "GET /journal": readJournal,
  "GET /domains": ({ store }) => ({ status: 200, body: { domains: store.domains.values() } }),
  "POST /reset": async (registry) => {
    await registry.reset();
    return done;
  },
  "POST /seed": seedNames,
  "POST /sessions/close": (registry) => {
    registry.closeSessions();
    return done;
  },
  "POST /pause": (registry) => {
    registry.pause();
    return done;
  },
  "POST /resume": (registry) => {
    registry.resume();
    return done;
  },
};

/** Serves the control port on 127.0.0.1 only. It has no password: whoever can reach it may do anything. */
export async function startControl(
  registry: Controlled,
  port: number,
): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    answer(registry, request, response).catch((error: unknown) => {
      reply(response, { status: 500, body: { error: String(error) } });
    });
  });
  await listening(server, port, "127.0.0.1");
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(registry: Controlled, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // A browser sends Origin with what a web page makes it send: no page has business here.
  if (request.headers.origin !== undefined)
    return reply(response, { status: 403, body: { error: "not for browsers" } });
  const url = new URL(request.url ?? "/", "http://control");
  const route = routes[`${request.method} ${url.pathname}`];
  if (route) return reply(response, await route(registry, url, request));
  if (request.method === "GET" && url.pathname.startsWith("/domains/")) {
    return reply(response, readDomain(registry, url.pathname.slice("/domains/".length)));
  }
  reply(response, { status: 404, body: { error: "no such route", routes: Object.keys(routes) } });
}

function reply(response: ServerResponse, { status, body }: Reply): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function readDomain({ store }: Controlled, name: string): Reply {
  const domain = store.domains.find(name.toLowerCase());
  return domain ? { status: 200, body: domain } : { status: 404, body: { error: "no such domain" } };
}

/** Oldest first; ask again with after = the last number until nothing comes. */
function readJournal({ store }: Controlled, url: URL): Reply {
  const after = Number(url.searchParams.get("after") ?? 0);
  if (!Number.isSafeInteger(after)) return { status: 400, body: { error: "after is a number of an entry" } };
  const name = url.searchParams.get("name") ?? undefined;
  const command = url.searchParams.get("command") ?? undefined;
  return { status: 200, body: { entries: store.journal.entries({ name, command, after }).slice(0, pageEntriesMax) } };
}

async function seedNames(registry: Controlled, _url: URL, request: IncomingMessage): Promise<Reply> {
  const refused = { status: 400, body: { error: 'the body is {"names": ["example.test"]}' } };
  if (Number(request.headers["content-length"] ?? 0) > bodyBytesMax) return refused;
  const names = parseNames(await text(request));
  if (!names) return refused;
  try {
    await registry.seed(names);
    return done;
  } catch (error) {
    if (error instanceof RangeError) return { status: 400, body: { error: error.message } };
    throw error;
  }
}

function parseNames(body: string): string[] | undefined {
  try {
    const { names } = JSON.parse(body) as { names?: unknown };
    return Array.isArray(names) && names.every((name) => typeof name === "string") ? names : undefined;
  } catch {
    return undefined;
  }
}
