import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { NotFound, type Route, routes } from "./control-routes.ts";
import { listening } from "./listener.ts";
import type { Operations } from "./operations.ts";
import { checkShape } from "./shape.ts";

const bodyBytesMax = 1024 * 1024;

interface Reply {
  status: number;
  body: unknown;
}

/** Serves the control port on 127.0.0.1 only. It has no password: every local program may do anything. */
export async function startControl(
  registry: Operations,
  port: number,
): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    answer(registry, request)
      .catch(replyForError)
      .then(({ status, body }) => {
        response.writeHead(status, { "content-type": "application/json" });
        response.end(JSON.stringify(body));
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

async function answer(registry: Operations, request: IncomingMessage): Promise<Reply> {
  if (isFromWebPage(request))
    return { status: 403, body: { error: "web pages may not use this port; use 127.0.0.1 or localhost" } };
  const url = URL.parse(request.url ?? "/", "http://control");
  if (!url) throw new RangeError("the address is invalid");
  if (request.method === "GET" && url.pathname === "/") return { status: 200, body: { routes: routeMeanings() } };
  const { route, item } = findRoute(request.method ?? "", url.pathname);
  if (!route) return { status: 404, body: { error: "no such route", routes: Object.keys(routes) } };
  const query = checkShape(route.query, Object.fromEntries(url.searchParams), "the query");
  const body = route.body && checkShape(route.body, await readJson(request), "the body");
  return { status: 200, body: await route.handle({ registry, item, query: query as never, body: body as never }) };
}

const loopbackHost = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i;

/**
 * A browser sends Origin with the requests of a web page, except for reads from the page's own host. The page's DNS may resolve
 * that host to 127.0.0.1 (DNS rebinding), so the Host header is checked too.
 */
function isFromWebPage({ headers: { origin, host = "" } }: IncomingMessage): boolean {
  return origin !== undefined || !loopbackHost.test(host);
}

function routeMeanings(): Record<string, string> {
  return Object.fromEntries(Object.entries(routes).map(([route, { means }]) => [route, means]));
}

function findRoute(method: string, path: string): { route: Route | undefined; item: string } {
  const plain = routes[`${method} ${path}`];
  if (plain) return { route: plain, item: "" };
  const slash = path.lastIndexOf("/");
  const beginning = `${method} ${path.slice(0, slash)}/<`;
  const form = Object.keys(routes).find((candidate) => candidate.startsWith(beginning));
  return { route: form === undefined ? undefined : routes[form], item: decodeURIComponent(path.slice(slash + 1)) };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw new RangeError(`the body has more than ${bodyBytesMax} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new RangeError("the body is not JSON");
  }
}

function replyForError(error: unknown): Reply {
  if (error instanceof RangeError || error instanceof URIError) return { status: 400, body: { error: error.message } };
  if (error instanceof NotFound) return { status: 404, body: { error: error.message } };
  return { status: 500, body: { error: String(error) } };
}
