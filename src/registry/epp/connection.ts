/**
 * One TLS connection with one request at a time.
 *
 * It guarantees that an answer belongs to its request. Anything that makes that doubtful (a timeout, an early end, garbage, an
 * unsolicited frame) destroys the connection at once, so that a late answer is never read.
 */
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { checkServerIdentity, connect as connectTls, type TLSSocket } from "node:tls";
import { Secret } from "#lib/secret.ts";
import { EppNotSent, EppUnanswered } from "#registry/epp/errors.ts";
import { encodeFrame, FrameDecoder, FrameError, headBytesMax } from "#registry/epp/frame.ts";
import { secretsIn } from "#registry/epp/redaction.ts";
import type { FrameValidator } from "#registry/epp/xml/schema.ts";
import { writeXml, writeXmlRedacted } from "#registry/epp/xml/writer.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { parseXml } from "#registry/epp/xml/xml.ts";

/** How the registry's identity is verified. Verification cannot be switched off. */
export interface EppTls {
  /** PEM: the only trusted certificate authorities. */
  readonly ca: string | readonly string[];
  /** PEM: our client certificate and its key, if the registry requires one. */
  readonly cert?: string | undefined;
  readonly key?: Secret | undefined;
  /** The name that we send (SNI) and that the registry's certificate must contain; or its address, which is not sent. */
  readonly servername: string;
}

/** Gets every frame, with passwords and authInfo redacted unless `revealsSecrets` is set. Must not throw. */
export type FrameTrace = (direction: "sent" | "received", xml: string) => void;

export interface ConnectionOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: EppTls;
  readonly connectMs: number;
  readonly greetingMs: number;
  readonly validate: FrameValidator;
  readonly trace?: FrameTrace | undefined;
  /** Traces frames with their secrets, for a person who asked to see them. Never for a log. */
  readonly revealsSecrets?: boolean;
  /**
   * Called before each frame, in the same turn of the event loop as the write. Once it returns false nothing more is sent: the
   * connection is reset, so that the kernel drops what it has not delivered yet. Default: always true.
   */
  readonly mayWrite?: (() => boolean) | undefined;
  /** Aborts connecting. */
  readonly signal: AbortSignal;
}

const keepAliveDelayMs = 60_000;
/**
 * How long each of a name's addresses may take before Node gives it up and tries the next. Node's default of 250 ms is shorter
 * than a round trip around the earth, and than the retransmission of a lost SYN after one second (RFC 6298 §2).
 */
const addressAttemptMs = 2_000;

/**
 * Connects and waits for the first frame, the greeting.
 * @throws the socket's error, or EppUnanswered when no greeting comes
 */
export async function openConnection(
  options: ConnectionOptions,
): Promise<{ connection: Connection; first: XmlElement }> {
  options.signal.throwIfAborted();
  // The socket below it: a TLSSocket cannot be reset (resetAndDestroy throws ERR_INVALID_HANDLE_TYPE), but this one can.
  const tcp = connectTcp({
    host: options.host,
    port: options.port,
    autoSelectFamilyAttemptTimeout: addressAttemptMs,
  });
  tcp.setNoDelay(true).setKeepAlive(true, keepAliveDelayMs);
  const opened = Promise.withResolvers<{ connection: Connection; greeting: Promise<XmlElement> }>();
  let connection: Connection | undefined;
  const giveUp = (error: Error) => {
    opened.reject(error);
    if (connection) connection.destroy(error);
    else tcp.destroy();
  };
  const abort = () => giveUp(new Error("the pool is closing"));
  options.signal.addEventListener("abort", abort);
  const timer = setTimeout(() => giveUp(new Error("connecting took too long")), options.connectMs);
  try {
    tcp.on("error", opened.reject);
    // Not earlier: while Node tries several addresses it replaces the socket's handle.
    tcp.once("connect", () => {
      const socket = secure(tcp, options.tls);
      socket.on("error", opened.reject);
      socket.on("close", () => opened.reject(new Error("the registry closed during the handshake")));
      // Reads from the handshake on: the greeting may be in the same packet.
      socket.once("secureConnect", () => {
        connection = new Connection({ tcp, socket }, options);
        opened.resolve({ connection, greeting: connection.receive(options.greetingMs) });
      });
    });
    const begun = await opened.promise.finally(() => clearTimeout(timer));
    return { connection: begun.connection, first: await begun.greeting };
  } finally {
    options.signal.removeEventListener("abort", abort);
  }
}

function secure(tcp: Socket, { ca, cert, key, servername }: EppTls): TLSSocket {
  return connectTls({
    socket: tcp,
    ca: typeof ca === "string" ? ca : [...ca],
    cert,
    key: key?.reveal(),
    // RFC 6066 §3: an address is not sent as SNI, but the certificate must contain it.
    servername: isIP(servername) === 0 ? servername : "",
    checkServerIdentity: (_host, certificate) => checkServerIdentity(servername, certificate),
    minVersion: "TLSv1.2",
    rejectUnauthorized: true,
  });
}

/** In Latin-1, because the answer need not be text. */
function headOf(body: Buffer | undefined): Secret | undefined {
  return body && new Secret(body.subarray(0, headBytesMax).toString("latin1"));
}

interface Awaited {
  readonly answer: PromiseWithResolvers<XmlElement>;
  readonly timer: NodeJS.Timeout;
}

export class Connection {
  readonly #tcp: Socket;
  readonly #socket: TLSSocket;
  readonly #mayWrite: () => boolean;
  readonly #validate: FrameValidator;
  readonly #trace: FrameTrace | undefined;
  readonly #revealsSecrets: boolean;
  readonly #decoder = new FrameDecoder();
  readonly #utf8 = new TextDecoder("utf-8", { fatal: true });
  readonly #closed = Promise.withResolvers<Error>();
  /** The secrets of the last frame that was sent: its answer may echo them. */
  #secrets: readonly string[] = [];
  #awaited: Awaited | undefined;
  #failure: Error | undefined;

  constructor(
    { tcp, socket }: { tcp: Socket; socket: TLSSocket },
    options: Pick<ConnectionOptions, "validate" | "trace" | "revealsSecrets" | "mayWrite">,
  ) {
    const { validate, trace, revealsSecrets = false, mayWrite = () => true } = options;
    this.#tcp = tcp;
    this.#socket = socket;
    this.#mayWrite = mayWrite;
    this.#validate = validate;
    this.#trace = trace;
    this.#revealsSecrets = revealsSecrets;
    socket.on("error", (error) => this.#fail(new EppUnanswered("closed", error)));
    socket.on("end", () => this.#fail(new EppUnanswered("closed", new Error(this.#describeEnd()))));
    socket.on("close", () => this.#fail(new EppUnanswered("closed")));
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  /** Fulfilled with the reason once the connection is gone. */
  get closed(): Promise<Error> {
    return this.#closed.promise;
  }

  get isOpen(): boolean {
    return this.#failure === undefined && this.#socket.writable;
  }

  /**
   * Sends one frame and waits for the answer.
   * @param timeoutMs for the whole answer
   * @throws EppFrameInvalid before anything is sent; the connection stays usable
   * @throws EppNotSent when the connection was already closed, or must no longer send
   * @throws EppUnanswered when the frame was possibly sent; the connection is closed
   */
  async exchange(frame: XmlElement, timeoutMs: number): Promise<XmlElement> {
    const xml = writeXml(frame);
    this.#validate(xml);
    const bytes = encodeFrame(xml);
    if (!this.isOpen) throw new EppNotSent(this.#failure);
    if (!this.#mayWrite()) {
      this.destroy("nothing may be written any more");
      throw new EppNotSent(this.#failure);
    }
    const answer = this.receive(timeoutMs);
    // Only the trace redacts them.
    if (this.#trace) this.#secrets = secretsIn(frame);
    this.#socket.write(bytes);
    this.#trace?.("sent", this.#revealsSecrets ? xml : writeXmlRedacted(frame));
    return answer;
  }

  /** Waits for a frame without sending one: the greeting. @throws EppUnanswered as `exchange` does */
  receive(timeoutMs: number): Promise<XmlElement> {
    if (this.#awaited) throw new Error("one command at a time: the previous one has no answer yet");
    const answer = Promise.withResolvers<XmlElement>();
    const timer = setTimeout(() => this.#fail(new EppUnanswered("timeout")), timeoutMs);
    this.#awaited = { answer, timer };
    return answer.promise;
  }

  /** Closes the connection without a logout. A request in progress fails with EppUnanswered. */
  destroy(cause?: unknown): void {
    this.#fail(new EppUnanswered("closed", cause));
  }

  #read(chunk: Buffer): void {
    try {
      for (const body of this.#decoder.push(chunk)) this.#deliver(body);
    } catch (error) {
      const head = error instanceof FrameError ? error.head : undefined;
      this.#fail(error instanceof EppUnanswered ? error : new EppUnanswered("malformed", error, headOf(head)));
    }
  }

  #deliver(body: Buffer): void {
    // This frame came in the same packet, behind one that ended the connection.
    if (this.#failure) return;
    const { root, xml } = this.#parse(body);
    this.#trace?.("received", this.#revealsSecrets ? xml : writeXmlRedacted(root, this.#secrets));
    const awaited = this.#awaited;
    if (!awaited) throw new EppUnanswered("unsolicited");
    this.#awaited = undefined;
    clearTimeout(awaited.timer);
    awaited.answer.resolve(root);
  }

  #parse(body: Buffer): { root: XmlElement; xml: string } {
    try {
      const xml = this.#utf8.decode(body);
      return { root: parseXml(xml), xml };
    } catch (error) {
      throw new EppUnanswered("malformed", error, headOf(body));
    }
  }

  #describeEnd(): string {
    return this.#decoder.isPartial ? "the registry closed in the middle of a frame" : "the registry closed";
  }

  #fail(failure: EppUnanswered): void {
    if (this.#failure) return;
    this.#failure = failure;
    if (!this.#mayWrite()) this.#tcp.resetAndDestroy();
    this.#socket.destroy();
    if (this.#awaited) {
      clearTimeout(this.#awaited.timer);
      this.#awaited.answer.reject(failure);
      this.#awaited = undefined;
    }
    this.#closed.resolve(failure);
  }
}
