import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { createRequestsAtWork } from "#front/requests-at-work.ts";
import { clientAddress, type ProxySettings, readProxyHeaders } from "#lib/net/behind-proxies.ts";

/** As many as a source may have connections of its own. */
const sourceRequestsMaxDefault = 256;

export interface BelievedProxies {
  /** Without it, nobody is believed. */
  proxies?: ProxySettings | undefined;
  /** Of one source, over all connections of proxies. Default 256. */
  sourceRequestsMax?: number | undefined;
  isExempt?(request: FastifyRequest): boolean;
  refuse(request: FastifyRequest, reply: FastifyReply): void;
}

/**
 * Believes trusted proxies from now on. Their connections are nobody's in particular and have no cap, so the requests on
 * them have one for each source: from the end of their headers, or bodies that never end would hold all connections.
 * @param app its server's other listeners are there already
 */
export function believeProxies(app: FastifyInstance, options: BelievedProxies): void {
  const { proxies, sourceRequestsMax = sourceRequestsMaxDefault, isExempt = () => false, refuse } = options;
  if (!proxies) return;
  const atWork = createRequestsAtWork(sourceRequestsMax);
  app.addHook("onRequest", (request, reply, done) => {
    const isProxied = proxies.trusted.isTrusted(request.socket.remoteAddress ?? "");
    if (!isProxied || isExempt(request) || atWork.take(clientAddress(proxies, request.raw), reply.raw)) return done();
    refuse(request, reply);
  });
  if (!proxies.proxyProtocol) return;
  const cutWaiting = readProxyHeaders(app.server, proxies);
  app.addHook("preClose", async () => cutWaiting());
}
