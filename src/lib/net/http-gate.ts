/**
 * The gate before an HTTP server's parser. Node reads 64 KiB at once and dispatches every request in them, even when
 * the socket is paused or destroyed in the meantime: thousands of requests from one read, all in progress at the same
 * time. So the gate takes the bytes that a socket reads and passes them to the parser in slices: up to the next blank
 * line, and only the bytes of the body while a request has no answer. The rest waits as raw bytes, one read per
 * connection. The slices of all connections go through one queue.
 *
 * The gate decides only that a kilobyte of blank lines is no beginning of a request, which a parser would read for ever. Otherwise a
 * parser takes slices as it takes packets, and it alone finds where requests begin and end.
 */
import { subscribe } from "node:diagnostics_channel";
import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import { BlankLines } from "#lib/net/blank-lines.ts";
import { TurnQueue } from "#lib/net/turn-queue.ts";

/** 32 requests without a key take about 4 ms with all that follows them: a turn may delay other reads that long. */
const turnTasksMax = 32;
/** How long a turn may parse. */
const turnMsMax = 2;
/**
 * Of a head and of a body in chunks, whose cost depends on what is in them: 170 chunks of one byte take 0.2 ms, and one read has
 * 11,000; 64 KiB of blank lines take 6 ms.
 */
const sliceBytesMax = 1_024;
/** What a client may still send after the last answer: it would lose an answer on a connection that is cut. */
const surplusBytesMax = 65_536;
/** Shared by all servers of this process, because they share its one thread. */
const slices = new TurnQueue({ turnMsMax, turnTasksMax });
/** No parser accepts this as the beginning of a message, so each server refuses it as it refuses all that is not HTTP. */
const notHttp = Buffer.from("\0");

const connections = new WeakMap<Socket, GatedConnection>();

// Fires for every request, including those that Node answers itself, such as one with an unknown expectation.
subscribe("http.server.request.start", (message) => {
  const { request, response, socket } = message as Record<string, unknown>;
  connections.get(socket as Socket)?.begin(request as IncomingMessage, response as ServerResponse);
});

export interface GateOptions {
  /** A socket's first request has arrived, with its whole head. */
  opened?: (socket: Socket) => void;
  /** The client has sent everything and may still read. */
  ended?: (socket: Socket) => void;
}

/**
 * Puts the gate before a server's parser, and lets a client that has ended its side read the answers to its requests.
 * @param server a server that does not listen yet, plain or with TLS; its existing listeners cut what must not be
 * served
 */
export function gateRequests(server: HttpServer, options: GateOptions = {}): void {
  // Otherwise Node closes the connection at the client's FIN: requests in progress are carried out but not answered.
  Object.assign(server, { allowHalfOpen: true, httpAllowHalfOpen: true });
  // libuv 1.52 accepts one connection per turn, so a turn with many requests would delay all new clients.
  server.on("connection", () => slices.shorten());
  // Node's listener, which creates the parser, runs before this one.
  server.on(server instanceof TlsServer ? "secureConnection" : "connection", (socket: Socket) => {
    if (!socket.destroyed) connections.set(socket, new GatedConnection(socket, options));
  });
}

class GatedConnection {
  readonly #socket: Socket;
  readonly #options: GateOptions;
  readonly #parse: (bytes: Buffer) => void;
  readonly #parseEnd: () => void;
  readonly #blankLines = new BlankLines();
  /** Bytes that the parser has not received yet. */
  #waiting: Buffer | undefined;
  #isQueued = false;
  /** After the last answer. */
  #surplusBytes = 0;
  #isHeld = false;
  #hasEnded = false;
  /** The last request whose head is complete. */
  #request: IncomingMessage | undefined;
  #isAnswered = true;
  /** Set for a request with a content length. */
  #bodyBytesLeft: number | undefined;

  constructor(socket: Socket, options: GateOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#parse = takeListener(socket, "data");
    this.#parseEnd = takeListener(socket, "end");
    // Node bypasses a socket's stream until its data has a listener.
    socket.on("data", this.#read).on("end", this.#end).on("resume", this.#resumed);
  }

  begin(request: IncomingMessage, response: ServerResponse): void {
    if (this.#request === undefined) this.#options.opened?.(this.#socket);
    this.#request = request;
    this.#isAnswered = false;
    this.#blankLines.begin();
    const length = request.headers["content-length"];
    const isChunked = request.headers["transfer-encoding"] !== undefined;
    this.#bodyBytesLeft = length === undefined || isChunked ? undefined : Number(length);
    // Node releases the response only on close, not when it is finished.
    response.on("close", this.#answered);
  }

  readonly #answered = (): void => {
    this.#isAnswered = true;
    if (this.#request?.complete) this.#blankLines.begin();
    if (this.#waiting !== undefined) this.#advance();
  };

  readonly #read = (bytes: Buffer): void => {
    this.#waiting = this.#waiting === undefined ? bytes : Buffer.concat([this.#waiting, bytes]);
    this.#advance();
  };

  readonly #end = (): void => {
    this.#hasEnded = true;
    this.#options.ended?.(this.#socket);
    if (this.#waiting === undefined) this.#parseEnd();
  };

  /** Node resumes a socket when a message is complete, and when there is room for more of a body. */
  readonly #resumed = (): void => {
    if (this.#isHeld) this.#stopReading();
    else setReading(this.#socket, true);
  };

  readonly #takeTurn = (): void => {
    this.#isQueued = false;
    if (this.#waiting !== undefined && this.#isWanted()) this.#pass(this.#waiting);
    this.#advance();
  };

  /** Gives the parser what it may have now, and continues reading when nothing is left. */
  #advance(): void {
    while (this.#waiting !== undefined && !this.#isQueued && this.#isWanted()) {
      if (slices.takeNow()) {
        this.#pass(this.#waiting);
      } else {
        this.#isQueued = true;
        slices.add(this.#takeTurn);
      }
    }
    if (this.#waiting === undefined) this.#letGo();
    else this.#hold();
  }

  /**
   * Whether the parser may have more: of the body that it is reading, or another request after the last was answered.
   */
  #isWanted(): boolean {
    if (!this.#socket.writable) {
      // Nothing that arrives now could be answered.
      this.#surplusBytes += this.#waiting?.length ?? 0;
      this.#waiting = undefined;
      if (this.#surplusBytes > surplusBytesMax) this.#socket.destroy();
      return false;
    }
    return this.#isAnswered || this.#request?.complete === false;
  }

  #pass(bytes: Buffer): void {
    const count = this.#cut(bytes);
    const isAll = count === bytes.length;
    this.#waiting = isAll ? undefined : bytes.subarray(count);
    this.#parse(this.#blankLines.isFlood ? notHttp : isAll ? bytes : bytes.subarray(0, count));
    if (!hasParser(this.#socket)) this.#leave();
  }

  /** How many of the bytes the parser gets at once. */
  #cut(bytes: Buffer): number {
    const isInBody = this.#request?.complete === false;
    if (!isInBody || this.#bodyBytesLeft === undefined) return this.#blankLines.cut(bytes.subarray(0, sliceBytesMax));
    const count = Math.min(bytes.length, this.#bodyBytesLeft);
    this.#bodyBytesLeft -= count;
    return count;
  }

  #hold(): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#stopReading();
  }

  #stopReading(): void {
    this.#socket.pause();
    // A paused stream alone continues to read until its buffer is full.
    setReading(this.#socket, false);
  }

  #letGo(): void {
    if (this.#hasEnded) this.#parseEnd();
    if (!this.#isHeld) return;
    this.#isHeld = false;
    const body = this.#request?.complete === false ? this.#request : undefined;
    // A handler that reads a body slowly resumes the socket when there is room again.
    if (body === undefined || body.readableLength < body.readableHighWaterMark) this.#socket.resume();
  }

  /** Another protocol begins, which has a different reader. */
  #leave(): void {
    const socket = this.#socket;
    socket.off("data", this.#read).off("end", this.#end).off("resume", this.#resumed);
    if (this.#waiting !== undefined && !socket.destroyed) socket.unshift(this.#waiting);
    this.#waiting = undefined;
    if (this.#isHeld) setReading(socket, true);
    this.#isHeld = false;
  }
}

/** Removes the listener of Node's server from the socket. */
function takeListener(socket: Socket, event: "data" | "end"): (bytes?: Buffer) => void {
  const listener = socket.listeners(event).at(-1) as (bytes?: Buffer) => void;
  socket.off(event, listener);
  return listener;
}

/** Node's server makes the same check: a socket loses its parser when a request changes the protocol. */
function hasParser(socket: Socket): boolean {
  return Boolean((socket as { parser?: unknown }).parser);
}

interface Handle {
  reading: boolean;
  readStart(): void;
  readStop(): void;
}

/** Does what Node's HTTP server does, because streams have no way to express it. */
function setReading(socket: Socket, isWanted: boolean): void {
  const { _handle: handle } = socket as unknown as { _handle: Handle | null };
  if (!handle || handle.reading === isWanted) return;
  handle.reading = isWanted;
  if (isWanted) handle.readStart();
  else handle.readStop();
}
