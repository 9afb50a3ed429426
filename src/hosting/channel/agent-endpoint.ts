/** Where the agents of nodes reach the gateway: a listener of their own, beside the resellers' one. */
import { X509Certificate } from "node:crypto";
import type { Context } from "#context.ts";
import { DatabaseUnavailable } from "#db/errors.ts";
import { followCertificate } from "#front/certificate.ts";
import {
  type FrontOptions,
  type FrontRefusal,
  type HttpAnswer,
  type HttpRequest,
  type HttpServer,
  startHttpServer,
} from "#front/http-server.ts";
import { createSourceBudget, type SourceBudget } from "#front/rate-limit.ts";
import { TooManyWaiting } from "#front/source-turns.ts";
import { acceptJoin } from "#hosting/channel/accept-join.ts";
import {
  AgentRefusal,
  type AgentRequest,
  authenticate,
  readClaim,
  recordRefusal,
} from "#hosting/channel/authenticate.ts";
import { readAgentBody } from "#hosting/channel/body.ts";
import { announceEndpoint, type GatewayKey, loadGatewayKey } from "#hosting/channel/gateway-key.ts";
import { takeReport } from "#hosting/channel/report.ts";
import { sync } from "#hosting/channel/sync.ts";
import { hasOneHost } from "#lib/net/host-lines.ts";
import type { TlsPair } from "#lib/net/tls-pair.ts";
import { joinPath, reportPath, syncPath } from "#nodes/agent/messages.ts";
import { signatureHeader } from "#nodes/agent/request-signature.ts";
import { pinOf } from "#nodes/agent/transport.ts";

const requestTimeoutMs = 30_000;
const connectionsMaxDefault = 2_000;
const failureWindowMs = 60_000;
const failuresMax = 20;
/** Of a node that was good from the same address lately. */
const knownGoodFailuresMax = 100;

/** Without TLS it speaks plain HTTP: on loopback, or behind a proxy that speaks TLS. */
export interface AgentEndpointOptions extends FrontOptions {
  /** How often the files of its certificate are looked at. Default 10 s. */
  tlsLookMs?: number;
  /** Where nodes find it; by default where it listens. */
  url?: string;
}

export interface AgentEndpoint {
  port: number;
  url: string;
  /** Lets go of the nodes that wait, and closes. */
  close(): Promise<void>;
}

/** @throws when the address cannot be listened on, or the certificate cannot be read */
export async function startAgentEndpoint(context: Context, options: AgentEndpointOptions): Promise<AgentEndpoint> {
  const gatewayKey = await loadGatewayKey(context);
  const { clock } = context;
  const budget = createSourceBudget({ clock, windowMs: failureWindowMs, failuresMax, knownGoodFailuresMax });
  const closing = new AbortController();

  async function answer({ message, sourceAddress, signal }: HttpRequest): Promise<HttpAnswer> {
    const { method = "", url: path = "", headers } = message;
    if (!hasOneHost(message)) return { ...refusal(new AgentRefusal(400, "not_understood")), isLast: true };
    const answered = await answerAgent(context, gatewayKey, budget, {
      ...{ method, path, headers, sourceAddress },
      signal: AbortSignal.any([signal(), closing.signal]),
      readBody: (bytesMax) => readAgentBody(message, bytesMax),
    });
    // What of the body was not read is not wanted any more, and whoever guesses too much has to connect again.
    return { ...answered, isLast: !message.complete || answered.status === 429 };
  }

  const server = await startHttpServer({
    ...options,
    ...{ connectionsMax: options.connectionsMax ?? connectionsMaxDefault, requestTimeoutMs, cutsAtClose: true },
    answer,
    refuse: (reason) => refusal(refusals[reason]),
  });
  const { port } = server;
  const url = options.url ?? `${options.tls ? "https" : "http"}://${hostInUrl(options.host)}:${port}`;
  await announceEndpoint(context, url, options.tls ? pinOf(new X509Certificate(options.tls.certificate)) : null);
  const unfollow = options.tls && followTls(context, options, options.tls, server);
  context.log.info({ port, url }, "the endpoint for the agents of hosting nodes listens");
  return {
    port,
    url,
    close: () => {
      closing.abort();
      unfollow?.();
      return server.close();
    },
  };
}

const refusals: Record<FrontRefusal, AgentRefusal> = {
  busy: new AgentRefusal(503, "unavailable"),
  "not-http": new AgentRefusal(400, "not_understood"),
  "headers-too-large": new AgentRefusal(431, "too_large"),
  timeout: new AgentRefusal(408, "timeout"),
};

/** Nodes trust the key that was announced, whatever certificate it is in. */
function followTls(
  context: Context,
  { tlsLookMs }: AgentEndpointOptions,
  served: TlsPair,
  server: HttpServer,
): () => void {
  const pin = pinOf(new X509Certificate(served.certificate));
  return followCertificate(context, {
    ...{ subject: "the door of the nodes", served, lookMs: tlsLookMs },
    serve(pair) {
      if (pinOf(new X509Certificate(pair.certificate)) !== pin) {
        throw new Error("its key is another one than nodes trust; renew it for the same key, or see docs/hosting.md");
      }
      server.useCertificate(pair);
    },
  });
}

async function answerAgent(
  context: Context,
  gatewayKey: GatewayKey,
  budget: SourceBudget,
  request: AgentRequest,
): Promise<HttpAnswer> {
  try {
    if (request.method !== "POST") throw new AgentRefusal(404, "not_found");
    if (request.path === joinPath) return json(200, await acceptJoin(context, gatewayKey, budget, request));
    if (request.path !== syncPath && request.path !== reportPath) throw new AgentRefusal(404, "not_found");
    return await answerNode(context, gatewayKey, budget, request).catch(recordRepetition(context, request));
  } catch (error) {
    if (error instanceof AgentRefusal) return refusal(error);
    if (error instanceof TooManyWaiting) return refusal(new AgentRefusal(429, "too_many_waiting"));
    if (error instanceof DatabaseUnavailable) return refusal(new AgentRefusal(503, "unavailable"));
    context.log.error({ err: error }, "a node's request failed");
    return refusal(new AgentRefusal(500, "failed"));
  }
}

/** @throws AgentRefusal */
async function answerNode(
  context: Context,
  gatewayKey: GatewayKey,
  budget: SourceBudget,
  request: AgentRequest,
): Promise<HttpAnswer> {
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
function recordRepetition(context: Context, request: AgentRequest) {
  return async (error: unknown): Promise<never> => {
    const isRepetition = error instanceof AgentRefusal && error.code === "counter_too_low";
    if (isRepetition) await recordRefusal(context, readClaim(request)?.node, request, "a repeated or late request");
    throw error;
  };
}

const jsonType = { "content-type": "application/json" };

function json(status: number, content: object): HttpAnswer {
  return { status, headers: jsonType, body: JSON.stringify(content) };
}

/** Every refusal's one form. */
function refusal({ status, code, counter }: AgentRefusal): HttpAnswer {
  return json(status, { error: code, ...(counter === undefined ? {} : { counter }) });
}

/** RFC 3986 section 3.2.2 */
function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
