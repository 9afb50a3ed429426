/** Where the agents of nodes reach the gateway: a listener of their own, beside the resellers' one. */
import { X509Certificate } from "node:crypto";
import type { Server as HttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import type { Context } from "#context.ts";
import { DatabaseUnavailable } from "#db/errors.ts";
import { followCertificate } from "#front/certificate.ts";
import { believeProxies } from "#front/proxied.ts";
import { createSourceBudget, type SourceBudget } from "#front/rate-limit.ts";
import { TooManyWaiting } from "#front/source-turns.ts";
import { acceptJoin } from "#hosting/channel/accept-join.ts";
import {
  authenticate,
  DoorRefusal,
  type DoorRequest,
  readClaim,
  recordRefusal,
} from "#hosting/channel/authenticate.ts";
import { readAgentBody } from "#hosting/channel/body.ts";
import { announceDoor, type GatewayKey, loadGatewayKey } from "#hosting/channel/gateway-key.ts";
import { takeReport } from "#hosting/channel/report.ts";
import { sync } from "#hosting/channel/sync.ts";
import { clientAddress, type ProxySettings } from "#lib/net/behind-proxies.ts";
import { acceptBacklogMax, type SourceShares, sourceSharesDefault } from "#lib/net/connection-limits.ts";
import { guardServer } from "#lib/net/guarded-server.ts";
import { hasOneHost } from "#lib/net/host-lines.ts";
import { secureOptions, type TlsPair } from "#lib/net/tls-pair.ts";
import { joinPath, reportPath, requestBytesMax, syncPath } from "#nodes/agent/messages.ts";
import { signatureHeader } from "#nodes/agent/request-signature.ts";
import { pinOf } from "#nodes/agent/transport.ts";

const requestTimeoutMs = 30_000;
const connectionsMaxDefault = 2_000;
const failureWindowMs = 60_000;
const failuresMax = 20;
/** Of a node that was good from the same address lately. */
const knownGoodFailuresMax = 100;

export interface DoorOptions {
  host: string;
  /** 0 for any free one. */
  port: number;
  /** Without it the door speaks plain HTTP: on loopback, or behind a proxy that speaks TLS. */
  tls?: TlsPair;
  /** How often its files are looked at. Default 10 s. */
  tlsLookMs?: number;
  /** Whose nodes are whose, when requests come through proxies. */
  proxies?: ProxySettings;
  /** Where nodes find it; by default where it listens. */
  url?: string;
  /** Default 2,000. */
  connectionsMax?: number;
  shares?: SourceShares;
}

export interface Door {
  port: number;
  url: string;
  /** Lets go of the nodes that wait, and closes. */
  close(): Promise<void>;
}

interface DoorAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: Buffer | string;
}

/** @throws when the address cannot be listened on, or the certificate cannot be read */
export async function openDoor(context: Context, options: DoorOptions): Promise<Door> {
  const gatewayKey = await loadGatewayKey(context);
  const { clock } = context;
  const budget = createSourceBudget({ clock, windowMs: failureWindowMs, failuresMax, knownGoodFailuresMax });
  const closing = new AbortController();
  const app = createApp(options);
  /** Aborted when nobody waits for the answer any more. */
  const answering = new WeakMap<Socket, AbortController>();
  limitClients(app, options, (socket) => answering.get(socket)?.abort());
  app.post("/*", async (request, reply) => {
    const gone = new AbortController();
    answering.set(request.socket, gone);
    reply.raw.once("close", () => gone.abort());
    const { method, headers, url: path, raw } = request;
    const signal = AbortSignal.any([gone.signal, closing.signal]);
    const sourceAddress = clientAddress(options.proxies, raw);
    const asked = {
      method,
      path,
      headers,
      sourceAddress,
      signal,
      readBody: (bytesMax: number) => readAgentBody(raw, bytesMax),
    };
    return write(reply, await answer(context, gatewayKey, budget, asked));
  });
  believeProxies(app, {
    ...options,
    refuse: (_request, reply) => write(reply, refusal(new DoorRefusal(503, "unavailable"))),
  });
  await app.listen({ host: options.host, port: options.port, backlog: acceptBacklogMax });
  const { port } = app.server.address() as AddressInfo;
  const url = options.url ?? `${options.tls ? "https" : "http"}://${hostInUrl(options.host)}:${port}`;
  await announceDoor(context, url, options.tls ? pinOf(new X509Certificate(options.tls.certificate)) : null);
  const unfollow = options.tls && followTls(context, options, options.tls, app);
  context.log.info({ port, url }, "the door of the hosting nodes is open");
  return {
    port,
    url,
    close: () => {
      closing.abort();
      unfollow?.();
      return app.close();
    },
  };
}

/** Nodes trust the key that was announced, whatever certificate it is in. */
function followTls(context: Context, { tlsLookMs }: DoorOptions, served: TlsPair, app: FastifyInstance): () => void {
  const pin = pinOf(new X509Certificate(served.certificate));
  return followCertificate(context, {
    ...{ subject: "the door of the nodes", served, lookMs: tlsLookMs },
    serve(pair) {
      if (pinOf(new X509Certificate(pair.certificate)) !== pin) {
        throw new Error("its key is another one than nodes trust; renew it for the same key, or see docs/hosting.md");
      }
      (app.server as unknown as HttpsServer).setSecureContext(secureOptions(pair));
    },
  });
}

function createApp({ tls }: DoorOptions): FastifyInstance {
  // A request without a Host header would get an answer of Node's own form.
  const http = { requireHostHeader: false };
  const settings = {
    bodyLimit: requestBytesMax,
    requestTimeout: requestTimeoutMs,
    forceCloseConnections: true,
  } as const;
  const app: FastifyInstance = tls
    ? (fastify({ ...settings, https: { ...http, ...secureOptions(tls) } }) as never)
    : fastify({ ...settings, http });
  app.removeAllContentTypeParsers();
  // Nothing of a body is read before its headers have been looked at.
  app.addContentTypeParser("*", (_request, _body, done) => done(null));
  app.setNotFoundHandler((_request, reply) => write(reply, refusal(new DoorRefusal(404, "not_found"))));
  app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
    const status = error.statusCode ?? 500;
    write(reply, refusal(new DoorRefusal(status, status === 413 ? "too_large" : "not_understood")));
  });
  return app;
}

/** So that no client keeps others from being served. */
function limitClients(app: FastifyInstance, options: DoorOptions, ended: (socket: Socket) => void): void {
  const { connectionsMax = connectionsMaxDefault, shares = sourceSharesDefault } = options;
  const limits = guardServer(app.server, {
    ...shares,
    connectionsMax,
    isTrusted: options.proxies?.trusted.isTrusted,
    ended,
  });
  app.addHook("onRequest", async ({ raw }, reply) => {
    const isRefused = limits.isRefused(raw.socket);
    if (!isRefused && hasOneHost(raw)) return;
    write(
      reply.header("connection", "close"),
      refusal(isRefused ? new DoorRefusal(503, "unavailable") : new DoorRefusal(400, "not_understood")),
    );
    return reply;
  });
}

async function answer(
  context: Context,
  gatewayKey: GatewayKey,
  budget: SourceBudget,
  request: DoorRequest,
): Promise<DoorAnswer> {
  try {
    if (request.path === joinPath) return json(200, await acceptJoin(context, gatewayKey, budget, request));
    if (request.path !== syncPath && request.path !== reportPath) throw new DoorRefusal(404, "not_found");
    return await answerNode(context, gatewayKey, budget, request).catch(recordRepetition(context, request));
  } catch (error) {
    if (error instanceof DoorRefusal) return refusal(error);
    if (error instanceof TooManyWaiting) return refusal(new DoorRefusal(429, "too_many_waiting"));
    if (error instanceof DatabaseUnavailable) return refusal(new DoorRefusal(503, "unavailable"));
    context.log.error({ err: error }, "a node's request failed");
    return refusal(new DoorRefusal(500, "failed"));
  }
}

/** @throws DoorRefusal */
async function answerNode(
  context: Context,
  gatewayKey: GatewayKey,
  budget: SourceBudget,
  request: DoorRequest,
): Promise<DoorAnswer> {
  const claim = await authenticate(context, budget, request);
  if (request.path === reportPath) {
    await takeReport(context, claim);
    return { status: 204 };
  }
  const state = await sync(context, gatewayKey, claim, request);
  if (!state) return { status: 204 };
  return { status: 200, headers: { ...jsonType, [signatureHeader]: state.signature }, body: state.body };
}

/** For `catch`: a request that its node has signed and that comes again, or too late, is written down. */
function recordRepetition(context: Context, request: DoorRequest) {
  return async (error: unknown): Promise<never> => {
    const isRepetition = error instanceof DoorRefusal && error.code === "counter_too_low";
    if (isRepetition) await recordRefusal(context, readClaim(request)?.node, request, "a repeated or late request");
    throw error;
  };
}

const jsonType = { "content-type": "application/json" };

function json(status: number, content: object): DoorAnswer {
  return { status, headers: jsonType, body: JSON.stringify(content) };
}

/** Every refusal's one form. */
function refusal({ status, code, counter }: DoorRefusal): DoorAnswer {
  return json(status, { error: code, ...(counter === undefined ? {} : { counter }) });
}

function write(reply: FastifyReply, { status, headers = {}, body }: DoorAnswer): FastifyReply {
  // What of the body was not read is not wanted any more, and whoever guesses too much has to connect again.
  if (!reply.request.raw.complete || status === 429) reply.header("connection", "close");
  return reply.code(status).headers(headers).send(body);
}

/** RFC 3986 section 3.2.2 */
function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
