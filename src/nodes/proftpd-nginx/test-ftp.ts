/** For tests: a control connection on which a test says what it likes, in clear or over TLS. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { TestProftpdNode } from "#nodes/proftpd-nginx/test-node.ts";

const replyMs = 20_000;

export class RawFtp {
  #socket: Socket;
  #tls: TLSSocket | undefined;
  #text = "";
  #waiting: (() => void) | undefined;
  #isClosed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#listen();
  }

  /** @param from the address that the connection comes from */
  static async connect({ ftp }: TestProftpdNode, from = "127.0.0.1"): Promise<RawFtp> {
    const socket = connect({ ...ftp, localAddress: from });
    const ftpClient = new RawFtp(socket);
    await once(socket, "connect");
    return ftpClient;
  }

  /** Greeted and on TLS. */
  static async secure(node: TestProftpdNode, from?: string): Promise<RawFtp> {
    const client = await RawFtp.connect(node, from);
    await client.reply();
    await client.ask("AUTH TLS");
    await client.startTls();
    return client;
  }

  /** Logged in. @throws when the login fails */
  static async login(node: TestProftpdNode, user: string, password: string, from?: string): Promise<RawFtp> {
    const client = await RawFtp.secure(node, from);
    await client.ask(`USER ${user}`);
    const answer = await client.ask(`PASS ${password}`);
    if (!answer.startsWith("230")) throw new Error(answer);
    await client.ask("PBSZ 0");
    await client.ask("PROT P");
    return client;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  send(bytes: string | Buffer): void {
    this.#socket.write(bytes);
  }

  ask(line: string): Promise<string> {
    this.send(`${line}\r\n`);
    return this.reply();
  }

  /** The next whole reply, without its line end; "" once the connection is closed. */
  async reply(): Promise<string> {
    const over = AbortSignal.timeout(replyMs);
    for (;;) {
      const [reply] = /^(\d{3})(?: .*|-[\s\S]*?\r\n\1 .*)\r\n/.exec(this.#text) ?? [];
      if (reply !== undefined) {
        this.#text = this.#text.slice(reply.length);
        return reply.trimEnd();
      }
      if (this.#isClosed) return "";
      if (over.aborted) throw new Error(`no whole reply: ${this.#text}`);
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
        over.addEventListener("abort", () => resolve(), { once: true });
      });
    }
  }

  async startTls(): Promise<void> {
    const plain = this.#socket;
    plain.removeAllListeners("data");
    // TLS 1.2: its session is there with the handshake, for the data connections, which must show it again.
    this.#tls = connectTls({ socket: plain, rejectUnauthorized: false, maxVersion: "TLSv1.2" });
    this.#socket = this.#tls;
    this.#listen();
    await once(this.#socket, "secureConnect");
  }

  /** The port that the next transfer connects to. */
  async passivePort(): Promise<number> {
    return Number(/\|\|\|(\d+)\|/.exec(await this.ask("EPSV"))?.[1]);
  }

  /** Uploads this many bytes. @returns the last reply */
  async store(path: string, bytes: number): Promise<string> {
    const data = await this.beginStore(path);
    if (typeof data === "string") return data;
    data.end(Buffer.alloc(bytes, "x"));
    const reply = await this.reply();
    data.destroy();
    return reply;
  }

  /** Begins an upload. @returns the data connection, or the reply that refuses it */
  async beginStore(path: string): Promise<TLSSocket | string> {
    const port = await this.passivePort();
    const plain = connect({ host: "127.0.0.1", port });
    plain.on("error", () => {});
    const first = await this.ask(`STOR ${path}`);
    if (!first.startsWith("150")) return first;
    const session = this.#tls?.getSession();
    const data = connectTls({ socket: plain, rejectUnauthorized: false, maxVersion: "TLSv1.2", session });
    // The server closes it when there is too much: what counts is what it says.
    data.on("error", () => {});
    return data;
  }

  /** Resolves when the server has ended the connection. */
  async closed(): Promise<void> {
    while (!this.#isClosed) await new Promise<void>((resolve) => (this.#waiting = resolve));
  }

  close(): void {
    this.#socket.destroy();
  }

  #listen(): void {
    const wake = () => {
      this.#waiting?.();
      this.#waiting = undefined;
    };
    this.#socket.on("data", (data) => {
      this.#text += data.toString("latin1");
      wake();
    });
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => {
      this.#isClosed = true;
      wake();
    });
  }
}
