import type { Server } from "node:http";
import type { Socket } from "node:net";
import { ConnectionLimits, type ConnectionLimitsOptions } from "#lib/net/connection-limits.ts";
import { gateRequests } from "#lib/net/http-gate.ts";

export interface GuardOptions extends ConnectionLimitsOptions {
  /** The client has sent everything and may still read. */
  ended?: (socket: Socket) => void;
}

/**
 * Keeps one client of an HTTP server from taking the others' turns: its connections are counted, and each has one
 * request in progress.
 * @param server a server that does not listen yet, plain or with TLS
 * @returns the limits; the caller must refuse the requests of refused connections
 */
export function guardServer(server: Server, { ended, ...options }: GuardOptions): ConnectionLimits {
  const limits = new ConnectionLimits(options);
  limits.guard(server);
  gateRequests(server, { opened: (socket) => limits.opened(socket), ...(ended && { ended }) });
  return limits;
}
