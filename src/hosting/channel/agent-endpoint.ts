/** The HTTP endpoint for the agents of nodes, separate from the resellers' api. */
import { X509Certificate } from "node:crypto";
import type { Context } from "#context.ts";
import { DatabaseUnavailable } from "#db/errors.ts";
import { followCertificate } from "#front/certificate.ts";
import { createCounts } from "#front/counts.ts";
import {
  type FrontOptions,
  type FrontRefusal,
  type HttpAnswer,
  type HttpRequest,
  type HttpServer,
  startHttpServer,
} from "#front/http-server.ts";
import { createSourceBudget, type SourceBudget } from "#front/rate-limit.ts";
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
import { hostInUrl } from "#lib/net/near-address.ts";
import type { TlsPair } from "#lib/net/tls-pair.ts";
import { TooManyWaiting } from "#lib/queues/source-turns.ts";
import { joinPath, reportPath, syncPath } from "#nodes/agent/messages.ts";
import { signatureHeader } from "#nodes/agent/request-signature.ts";
import { pinOf } from "#nodes/agent/transport.ts";

const requestTimeoutMs = 30_000;
const connectionsMaxDefault = 2_000;
const failureWindowMs = 60_000;
const failuresMax = 20;
/** For a node that lately sent a valid request from the same address. */
const knownGoodFailuresMax = 100;

/** Without TLS it serves plain HTTP: on loopback, or behind a proxy that terminates TLS. */
export interface AgentEndpointOptions extends FrontOptions {
  /** How often to check the certificate's files for changes. Default 10 s. */
  tlsLookMs?: number;
  /** The URL that nodes connect to. Default: the listening address. */
  url?: string;
}

export interface AgentEndpoint {
  port: number;
  url: string;
  /** Ends the requests that are held, and closes. */
  close(): Promise<void>;
}

/** @throws when it cannot listen on the address, or the certificate cannot be read */
export async function startAgentEndpoint(context: Context, options: AgentEndpointOptions): Promise<AgentEndpoint> {
  const gatewayKey = await loadGatewayKey(context);
  const { failures, knownGood } = createCounts({ clock: context.clock, windowMs: failureWindowMs });
  const budget = createSourceBudget({ failures, knownGood, failuresMax, knownGoodFailuresMax });

  async function answer({ message, sourceAddress, signal }: HttpRequest): Promise<HttpAnswer> {
    const { method = "", url: path = "", headers } = message;
    if (!hasOneHost(message)) return { ...refusal(new AgentRefusal(400, "not_understood")), isLast: true };
    const answered = await answerAgent(context, gatewayKey, budget, {
      method,
      path,
      headers,
      sourceAddress,
      signal: signal(),
      readBody: (bytesMax) => readAgentBody(message, bytesMax),
    });
    // The rest of an unread body is not wanted. A client that guesses too often has to connect again.
    return { ...answered, isLast: !message.complete || answered.status === 429 };
  }

  const server = await startHttpServer({
    ...options,
    door: "agents",
    log: context.log,
    connectionsMax: options.connectionsMax ?? connectionsMaxDefault,
    requestTimeoutMs,
    cutsAtClose: true,
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
    async close() {
      unfollow?.();
      await server.close();
    },
  };
}

const refusals: Record<FrontRefusal, AgentRefusal> = {
  busy: new AgentRefusal(503, "unavailable"),
  "not-http": new AgentRefusal(400, "not_understood"),
  "headers-too-large": new AgentRefusal(431, "too_large"),
  timeout: new AgentRefusal(408, "timeout"),
};

/** Nodes trust the announced key, in whatever certificate. */
function followTls(
  context: Context,
  { tlsLookMs }: AgentEndpointOptions,
  served: TlsPair,
  server: HttpServer,
): () => void {
  const pin = pinOf(new X509Certificate(served.certificate));
  return followCertificate(context, {
    subject: "the agents' endpoint",
    served,
    lookMs: tlsLookMs,
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

/** For `catch`: records a signed request that is repeated or late. */
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

/** All refusals have this form. */
function refusal({ status, code, counter }: AgentRefusal): HttpAnswer {
  return json(status, { error: code, ...(counter === undefined ? {} : { counter }) });
}
