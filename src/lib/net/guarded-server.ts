import type { Server } from "node:http";
import type { Socket } from "node:net";
import { ConnectionLimits, type ConnectionLimitsOptions } from "#lib/net/connection-limits.ts";
import { gateRequests } from "#lib/net/http-gate.ts";

export interface GuardOptions extends ConnectionLimitsOptions {
  /** The client has sent all that it will ever send, and may still read. */
  ended?: (socket: Socket) => void;
}

/**
 * Keeps one client of an HTTP server from taking the others' turns: its connections are counted, and each has one request
 * at work.
 * @param server one that does not listen yet, plain or with TLS
 * @returns who may be served; requests of refused connections are still to be refused
 */
export function guardServer(server: Server, { ended, ...options }: GuardOptions): ConnectionLimits {
  const limits = new ConnectionLimits(options);
  limits.guard(server);
  gateRequests(server, { opened: (socket) => limits.opened(socket), ...(ended && { ended }) });
  return limits;
}
