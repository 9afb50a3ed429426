import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";
import type { Log } from "#lib/log.ts";
import { acceptBacklogMax, ConnectionLimits } from "#lib/net/connection-limits.ts";
import { gateRequests } from "#lib/net/http-gate.ts";
import { connectionShares, type EmbeddedNodeLimits } from "#nodes/embedded/limits.ts";
import type { Traffic } from "#nodes/embedded/traffic.ts";
import { isNotModified, parseRange } from "#nodes/embedded/web/conditions.ts";
import { contentTypeOf } from "#nodes/embedded/web/content-types.ts";
import { findSite, parseHost, type SiteNames } from "#nodes/embedded/web/host.ts";
import { parseRequestPath } from "#nodes/embedded/web/request-path.ts";
import { openSiteFile, type SiteFile } from "#nodes/embedded/web/site-file.ts";
import { noSiteText } from "#nodes/probe.ts";

export interface WebOptions extends SiteNames {
  host: string;
  port: number;
  traffic: Traffic;
  limits: EmbeddedNodeLimits;
  log: Log;
}

export interface WebServer {
  port: number;
  close(): Promise<void>;
}

/** Starts the static web server of all sites, which it selects by the Host header. @throws when the port is taken */
export async function startWebServer(options: WebOptions): Promise<WebServer> {
  const { limits, log } = options;
  const timeouts = {
    headersTimeout: limits.webHeadersMs,
    requestTimeout: limits.webRequestMs,
    connectionsCheckingInterval: limits.webHeadersMs / 2,
  };
  const places = new ConnectionLimits(connectionShares(limits, "web"));
  const server = createServer(timeouts, (request, response) => {
    answer(options, request, response).catch((error) => fail(log, response, error));
  });
  server.on("connection", (socket) => {
    if (places.add(socket) !== "served") socket.destroy();
  });
  gateRequests(server, { opened: (socket) => places.opened(socket) });
  server.setTimeout(limits.webStallMs);
  server.listen(options.port, options.host, acceptBacklogMax);
  await once(server, "listening");
  server.on("error", (error) => log.error({ err: error }, "web connection not accepted"));
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(options: WebOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.setHeader("x-content-type-options", "nosniff");
  // RFC 9112 §3.2: several Host headers are as invalid as none.
  const hosts = request.headersDistinct.host ?? [];
  const host = hosts.length === 1 ? parseHost(hosts[0]) : undefined;
  if (host === undefined) return say(response, 400, "This request names no host.");
  const account = findSite(host, options);
  if (account === undefined) return say(response, 404, noSiteText);
  response.once("close", options.traffic.begin(account.record.uid, request.socket));
  if (account.record.suspended) return say(response, 503, "This site is suspended.");
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    return say(response, 405, "This site can only be read.");
  }
  const path = parseRequestPath(request.url ?? "");
  const found = path && (await openSiteFile(account.docroot, path));
  if (path === undefined || found === undefined) return say(response, 404, "There is no such page.");
  if (found === "folder") {
    response.setHeader("location", `${path.raw}/${path.query}`);
    return say(response, 301, "This page is a folder.");
  }
  await send(request, response, found);
}

async function send(request: IncomingMessage, response: ServerResponse, found: SiteFile): Promise<void> {
  await using file = found.file;
  const { size, etag, modifiedAt } = found;
  response.setHeader("etag", etag);
  response.setHeader("last-modified", modifiedAt.toUTCString());
  response.setHeader("accept-ranges", "bytes");
  if (isNotModified(request.headers, found)) {
    response.writeHead(304).end();
    return;
  }
  const range = request.method === "GET" ? parseRange(request.headers, size, found) : undefined;
  if (range === "unsatisfiable") {
    response.setHeader("content-range", `bytes */${size}`);
    return say(response, 416, "This page is shorter.");
  }
  const { from, to } = range ?? { from: 0, to: size - 1 };
  if (range !== undefined) response.setHeader("content-range", `bytes ${from}-${to}/${size}`);
  response.writeHead(range === undefined ? 200 : 206, {
    "content-type": contentTypeOf(found.path),
    "content-length": to - from + 1,
  });
  if (request.method === "HEAD" || size === 0) {
    response.end();
    return;
  }
  await pipeline(file.createReadStream({ start: from, end: to }), response);
}

function say(response: ServerResponse, status: number, text: string): void {
  const body = `${text}\n`;
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}

/** A client that disconnects is not an error. */
function fail(log: Log, response: ServerResponse, error: unknown): void {
  if (!response.destroyed) log.error({ err: error }, "web request failed");
  if (response.headersSent) response.destroy();
  else say(response, 500, "Something went wrong here, try again later.");
}
