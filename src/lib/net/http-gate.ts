/**
 * The gate before an HTTP server's parser. Node reads 64 KiB at once and dispatches every request in them, whatever is
 * paused or destroyed meanwhile: thousands from one read, and all of them are at work at the same time. So the gate takes
 * what a socket reads away from the server and gives it to the parser in slices: up to the next blank line, and nothing
 * but the body's bytes while a request has no answer. What waits, waits as raw bytes, one read of each connection. The
 * slices of all connections go through one queue.
 *
 * The gate decides nothing: a parser takes slices as it takes packets. Where requests begin and end is its business alone.
 */
import { subscribe } from "node:diagnostics_channel";
import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import { BlankLines } from "#lib/net/blank-lines.ts";
import { TurnQueue } from "#lib/net/turn-queue.ts";

/** 32 requests without a key take some 4 ms: so long a turn may keep others from being read. */
const turnSlicesMax = 32;
/** A chunk may hold one byte, and costs as much as one of many: 170 of them take 0.2 ms, and one read has 11,000. */
const chunkedSliceBytesMax = 1_024;
/** Of all servers of this process, since they share its one thread. */
const slices = new TurnQueue(turnSlicesMax);

const connections = new WeakMap<Socket, GatedConnection>();

// Of every request, also of those that Node answers by itself, such as one with an expectation that it does not know.
subscribe("http.server.request.start", (message) => {
  const { request, response, socket } = message as Record<string, unknown>;
  connections.get(socket as Socket)?.begin(request as IncomingMessage, response as ServerResponse);
});

export interface GateOptions {
  /** A socket's first request has come, with all of its head. */
  opened?: (socket: Socket) => void;
  /** The client has sent all that it will ever send, and may still read. */
  ended?: (socket: Socket) => void;
}

/**
 * Puts the gate before a server's parser, and lets a client that has ended its side read the answers to what it has sent.
 * @param server one that does not listen yet, plain or with TLS; what is not to be served is cut by its listeners so far
 */
export function gateRequests(server: HttpServer, options: GateOptions = {}): void {
  // Without them Node closes the connection at the client's FIN: what is at work is carried out, and not answered.
  Object.assign(server, { allowHalfOpen: true, httpAllowHalfOpen: true });
  // libuv 1.52 accepts one connection in a turn, so that a turn of many requests keeps all new clients waiting.
  server.on("connection", () => slices.shorten());
  // Node's own listener, which makes the parser, comes before this one.
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
  /** What the parser has not been given yet. */
  #waiting: Buffer | undefined;
  #isQueued = false;
  #isHeld = false;
  #hasEnded = false;
  /** The last one whose head was whole. */
  #request: IncomingMessage | undefined;
  #isAnswered = true;
  /** Of a request that says how long its body is. */
  #bodyBytesLeft: number | undefined;

  constructor(socket: Socket, options: GateOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#parse = takeListener(socket, "data");
    this.#parseEnd = takeListener(socket, "end");
    // Node reads past a socket's stream until somebody listens to its data.
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
    // Only then, not when it is finished, has Node let go of the answer.
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

  /** Node resumes a socket when a message is complete, and when there is room again for more of a body. */
  readonly #resumed = (): void => {
    if (this.#isHeld) this.#stopReading();
    else setReading(this.#socket, true);
  };

  readonly #takeTurn = (): void => {
    this.#isQueued = false;
    if (this.#waiting !== undefined && this.#isWanted()) this.#pass(this.#waiting);
    this.#advance();
  };

  /** Gives the parser what it may have now, and reads on when nothing is left. */
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

  /** Whether the parser may have more: of the body that it is reading, or another request once the last is answered. */
  #isWanted(): boolean {
    if (!this.#socket.writable) {
      // Nothing that comes now could be answered.
      this.#waiting = undefined;
      return false;
    }
    return this.#isAnswered || this.#request?.complete === false;
  }

  #pass(bytes: Buffer): void {
    const count = this.#cut(bytes);
    const isAll = count === bytes.length;
    this.#waiting = isAll ? undefined : bytes.subarray(count);
    this.#parse(isAll ? bytes : bytes.subarray(0, count));
    if (!hasParser(this.#socket)) this.#leave();
  }

  /** How many of the bytes the parser gets at once. */
  #cut(bytes: Buffer): number {
    const isInBody = this.#request?.complete === false;
    if (!isInBody) return this.#blankLines.cut(bytes);
    if (this.#bodyBytesLeft === undefined) return this.#blankLines.cut(bytes.subarray(0, chunkedSliceBytesMax));
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
    // A paused stream alone reads on until its own buffer is full.
    setReading(this.#socket, false);
  }

  #letGo(): void {
    if (this.#hasEnded) this.#parseEnd();
    if (!this.#isHeld) return;
    this.#isHeld = false;
    const body = this.#request?.complete === false ? this.#request : undefined;
    // Whoever reads a body more slowly than it comes resumes the socket when there is room again.
    if (body === undefined || body.readableLength < body.readableHighWaterMark) this.#socket.resume();
  }

  /** Another protocol begins, which somebody else reads. */
  #leave(): void {
    const socket = this.#socket;
    socket.off("data", this.#read).off("end", this.#end).off("resume", this.#resumed);
    if (this.#waiting !== undefined && !socket.destroyed) socket.unshift(this.#waiting);
    this.#waiting = undefined;
    if (this.#isHeld) setReading(socket, true);
    this.#isHeld = false;
  }
}

/** Takes the listener that Node's server has put there away from the socket. */
function takeListener(socket: Socket, event: "data" | "end"): (bytes?: Buffer) => void {
  const listener = socket.listeners(event).at(-1) as (bytes?: Buffer) => void;
  socket.off(event, listener);
  return listener;
}

/** What Node's own server asks: a parser is taken away when a request changes the protocol. */
function hasParser(socket: Socket): boolean {
  return Boolean((socket as { parser?: unknown }).parser);
}

interface Handle {
  reading: boolean;
  readStart(): void;
  readStop(): void;
}

/** As Node's own server does, since streams have no way to say it. */
function setReading(socket: Socket, isWanted: boolean): void {
  const { _handle: handle } = socket as unknown as { _handle: Handle | null };
  if (!handle || handle.reading === isWanted) return;
  handle.reading = isWanted;
  if (isWanted) handle.readStart();
  else handle.readStop();
}
