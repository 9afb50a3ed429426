/** Answers questions over UDP and TCP at one address. */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, type BlockList, createServer, isIPv6, type Server, type Socket } from "node:net";
import type { Feed } from "#dns/feed.ts";
import { Refusals } from "#dns/refusals.ts";
import { createResponder, type Peer, type Response } from "#dns/respond.ts";
import type { ServedZone } from "#dns/served-zone.ts";
import { FrameReader, frame } from "#dns/tcp-frames.ts";
import { headerBytes } from "#dns/wire.ts";
import type { Clock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { acceptBacklogMax, ConnectionLimits } from "#lib/net/connection-limits.ts";
import { plainAddress } from "#lib/net/plain-address.ts";

export interface DnsLimits {
  /** Until a connection's first or next question is complete. */
  idleMs: number;
  /** How long a peer may leave our answers unread. */
  unreadMs: number;
  sourceConnectionsMax: number;
  connectionsMax: number;
  /** REFUSED, to one source in a second. */
  refusalsMax: number;
  /** Questions over UDP whose zone is being looked up. More get silence, and are asked again. */
  udpQuestionsMax: number;
}

const limitsDefault: DnsLimits = {
  idleMs: 10_000,
  unreadMs: 30_000,
  sourceConnectionsMax: 20,
  connectionsMax: 500,
  refusalsMax: 10,
  udpQuestionsMax: 1_000,
};

export interface DnsServerOptions {
  host: string;
  /** 0 takes any port that is free for both UDP and TCP. */
  port: number;
  /** Sources that get answers; all others are refused. */
  answered: BlockList;
  /** As `ResponderOptions.findZone`. */
  findZone(name: string): Promise<ServedZone | undefined>;
  /** Name servers that take zones from here. */
  feed?: Feed | undefined;
  clock: Pick<Clock, "monotonicMs">;
  log: Log;
  limits?: Partial<DnsLimits>;
}

export interface DnsServer {
  port: number;
  /** Cuts all connections. */
  close(): Promise<void>;
}

type Respond = (bytes: Buffer, peer: Peer) => Promise<Response>;

/** @throws the error of the system if it cannot listen there */
export async function startDnsServer(options: DnsServerOptions): Promise<DnsServer> {
  const limits: DnsLimits = Object.assign({}, limitsDefault, options.limits);
  const refusals = new Refusals(limits.refusalsMax, options.clock);
  const respond = createResponder({
    answered: options.answered,
    findZone: (name) => options.findZone(name),
    found: reportChanges(options.log),
    feed: options.feed,
    mayRefuse: (source) => refusals.take(source),
  });
  const { tcp, udp } = await openBoth(options);
  answerDatagrams(udp, respond, limits, options.log);
  const sockets = answerConnections(tcp, respond, limits, options.log);
  return {
    port: (tcp.address() as AddressInfo).port,
    async close() {
      const closed = [once(tcp.close(), "close"), once(udp, "close")];
      udp.close();
      for (const socket of sockets) socket.destroy();
      await Promise.all(closed);
    },
  };
}

/** Logs when the database goes away and when it is back, and not every question in between. */
function reportChanges(log: Log): (error?: unknown) => void {
  let isAway = false;
  return (error) => {
    if (isAway === (error !== undefined)) return;
    isAway = error !== undefined;
    if (isAway) log.warn({ err: error }, "zones cannot be looked up: questions get SERVFAIL");
    else log.info("zones can be looked up again");
  };
}

/** Another program may have the UDP port that TCP has found free. */
const portTriesMax = 10;

async function openBoth({ host, port }: DnsServerOptions): Promise<{ tcp: Server; udp: UdpSocket }> {
  for (let tries = 1; ; tries += 1) {
    const tcp = createServer({ allowHalfOpen: true });
    tcp.listen({ host, port, backlog: acceptBacklogMax });
    await once(tcp, "listening");
    const udp = createSocket(isIPv6(host) ? "udp6" : "udp4");
    try {
      udp.bind((tcp.address() as AddressInfo).port, host);
      await once(udp, "listening");
      return { tcp, udp };
    } catch (error) {
      tcp.close();
      udp.close();
      if (port !== 0 || tries === portTriesMax) throw error;
    }
  }
}

/** Without the zone of a link-local address. */
const peerAddress = (address: string | undefined): string => plainAddress(address).replace(/%.*$/, "");

function answerDatagrams(udp: UdpSocket, respond: Respond, limits: DnsLimits, log: Log): void {
  let askedCount = 0;
  const answerOne = async (bytes: Buffer, from: RemoteInfo) => {
    askedCount += 1;
    try {
      const response = await respond(bytes, { address: peerAddress(from.address), isTcp: false });
      // It may be lost on its way, so an error here means no more than that.
      if (Buffer.isBuffer(response)) udp.send(response, from.port, from.address, () => {});
    } finally {
      askedCount -= 1;
    }
  };
  udp.on("error", (error) => log.warn({ err: error }, "a datagram was lost"));
  udp.on("message", (bytes, from) => {
    if (askedCount >= limits.udpQuestionsMax) return;
    answerOne(bytes, from).catch((error: unknown) => log.error({ err: error }, "a question has no answer"));
  });
}

function answerConnections(tcp: Server, respond: Respond, limits: DnsLimits, log: Log): Set<Socket> {
  const sockets = new Set<Socket>();
  const shares = new ConnectionLimits({
    connectionsMax: limits.connectionsMax,
    sourceConnectionsMax: limits.sourceConnectionsMax,
    sourceHalfOpenMax: limits.sourceConnectionsMax,
    halfOpenMs: limits.idleMs,
    reservedPercent: 0,
    fewConnectionsMax: 0,
  });
  tcp.on("error", (error) => log.warn({ err: error }, "a connection was not accepted"));
  tcp.on("connection", (socket: Socket) => {
    if (shares.isRefused(socket)) return socket.destroy();
    // Its idle time is measured here, from question to question.
    shares.opened(socket);
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    answerFrames(socket, respond, limits)
      .catch((error: unknown) => {
        const isOver = socket.destroyed || socket.errored;
        if (!isOver) log.error({ err: error }, "a question has no answer");
      })
      .finally(() => socket.destroy());
    return undefined;
  });
  shares.guard(tcp);
  return sockets;
}

/** Answers one question after the other: a peer that does not read is not read from either. */
async function answerFrames(socket: Socket, respond: Respond, { idleMs, unreadMs }: DnsLimits): Promise<void> {
  const reader = new FrameReader();
  const peer = { address: peerAddress(socket.remoteAddress), isTcp: true };
  const gone = new AbortController();
  const cut = () => {
    socket.destroy();
  };
  socket.on("error", cut);
  socket.once("close", () => gone.abort());
  let timer = setTimeout(cut, idleMs);
  const allow = (delayMs: number) => {
    clearTimeout(timer);
    timer = setTimeout(cut, delayMs);
  };
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      for (const message of reader.push(chunk)) {
        // Otherwise empty frames would keep the connection open.
        if (message.length < headerBytes) return;
        clearTimeout(timer);
        const response = await respond(message, peer);
        for await (const part of Buffer.isBuffer(response) ? [response] : (response ?? [])) {
          allow(unreadMs);
          if (!socket.write(frame(part))) await once(socket, "drain", gone);
        }
        allow(idleMs);
      }
    }
    allow(unreadMs);
    await new Promise<void>((resolve) => socket.end(resolve));
  } finally {
    clearTimeout(timer);
  }
}
