/**
 * The control connection: reads lines, writes replies, and switches to TLS.
 *
 * Commands run one after the other; commands sent ahead wait, up to a limit. When TLS starts, waiting commands are discarded:
 * they arrived unencrypted, and an attacker may have injected them (RFC 4217 §15.1).
 */
import { isUtf8 } from "node:buffer";
import type { Socket } from "node:net";
import { type SecureContext, TLSSocket } from "node:tls";
import { reportDefect } from "#lib/report-defect.ts";
import { FtpFailure } from "#nodes/embedded/ftp/reply.ts";
import type { EmbeddedNodeLimits } from "#nodes/embedded/limits.ts";

const telnetEscape = 0xff;
const lineFeed = 0x0a;
/** How long a client may take to read the last reply before its connection is destroyed. */
const farewellMs = 1_000;

export interface ControlChannelOptions {
  socket: Socket;
  limits: EmbeddedNodeLimits;
  /** An ABOR has arrived while a command runs. Later it is also passed to `onLine`. */
  onAbort: () => void;
  /** Runs one command and never throws; the next line waits for it. */
  onLine: (line: string) => Promise<void>;
  onClose: () => void;
}

export class ControlChannel {
  readonly #options: ControlChannelOptions;
  #socket: Socket;
  #partial = Buffer.alloc(0);
  #waiting: Buffer[] = [];
  #isRunning = false;
  #isEnding = false;

  constructor(options: ControlChannelOptions) {
    this.#options = options;
    this.#socket = options.socket;
    this.#attach();
  }

  get isTls(): boolean {
    return this.#socket instanceof TLSSocket;
  }

  reply(code: number, text: string): void {
    this.#write(`${code} ${text}\r\n`);
  }

  replyLines(code: number, first: string, lines: string[], last: string): void {
    this.#write([`${code}-${first}`, ...lines.map((line) => ` ${line}`), `${code} ${last}`, ""].join("\r\n"));
  }

  /** Sends a last reply, and accepts no further command. */
  end(code: number, text: string): void {
    if (this.#isEnding) return;
    this.reply(code, text);
    this.#isEnding = true;
    this.#waiting = [];
    this.#socket.end();
    setTimeout(() => this.destroy(), farewellMs).unref();
  }

  destroy(): void {
    this.#isEnding = true;
    this.#waiting = [];
    this.#socket.destroy();
  }

  /** Sends the reply unencrypted, then starts TLS. Synchronous, so that no unencrypted byte becomes a command afterwards. */
  startTls(secureContext: SecureContext, code: number, text: string): void {
    this.reply(code, text);
    const clear = this.#socket;
    clear.off("data", this.#take);
    clear.off("close", this.#options.onClose);
    this.#partial = Buffer.alloc(0);
    this.#waiting = [];
    this.#socket = new TLSSocket(clear, { isServer: true, secureContext });
    this.#attach();
  }

  #attach(): void {
    const socket = this.#socket;
    socket.on("data", this.#take);
    socket.on("close", this.#options.onClose);
    socket.on("error", () => socket.destroy());
  }

  #write(text: string): void {
    if (this.#isEnding || !this.#socket.writable) return;
    this.#socket.write(text);
    if (this.#socket.writableLength > this.#options.limits.repliesBytesMax) this.destroy();
  }

  readonly #take = (chunk: Buffer): void => {
    if (this.#isEnding) return;
    const problem = this.#split(chunk);
    if (problem !== undefined) this.end(problem.code, problem.message);
    else if (!this.#isRunning) this.#run().catch(this.#defect);
    else if (this.#waiting.some(isAbort)) this.#options.onAbort();
  };

  readonly #defect = (error: unknown): void => {
    reportDefect(error);
    this.destroy();
  };

  /** Appends complete lines to the waiting ones. */
  #split(chunk: Buffer): FtpFailure | undefined {
    const { lineBytesMax, linesWaitingMax, linesWaitingBytesMax } = this.#options.limits;
    let waitingBytes = this.#waiting.reduce((sum, line) => sum + line.length, 0);
    const bytes = this.#partial.length === 0 ? chunk : Buffer.concat([this.#partial, chunk]);
    let start = 0;
    for (let end = bytes.indexOf(lineFeed); end !== -1; end = bytes.indexOf(lineFeed, start)) {
      if (end - start > lineBytesMax) return new FtpFailure(500, "Line too long.");
      waitingBytes += end - start;
      if (this.#waiting.length >= linesWaitingMax || waitingBytes > linesWaitingBytesMax) {
        return new FtpFailure(421, "Too many commands ahead.");
      }
      this.#waiting.push(bytes.subarray(start, end));
      start = end + 1;
    }
    // A copy, because a slice would keep the whole chunk in memory.
    this.#partial = Buffer.from(bytes.subarray(start));
    return this.#partial.length > lineBytesMax ? new FtpFailure(500, "Line too long.") : undefined;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let line = this.#waiting.shift(); line !== undefined; line = this.#waiting.shift()) {
      const clean = withoutTelnet(line);
      if (!isUtf8(clean) || clean.includes(0)) this.reply(501, "Not UTF-8 text.");
      else await this.#options.onLine(clean.toString("utf8").replace(/\r$/, ""));
    }
    this.#isRunning = false;
  }
}

function isAbort(line: Buffer): boolean {
  return withoutTelnet(line).toString("latin1", 0, 4).toUpperCase() === "ABOR";
}

/** Drops the telnet signals that clients send before ABOR (RFC 959 §4.1.3): a byte 255 and the byte after it. */
function withoutTelnet(line: Buffer): Buffer {
  if (!line.includes(telnetEscape)) return line;
  return Buffer.from(line.filter((byte, at) => byte !== telnetEscape && line[at - 1] !== telnetEscape));
}
