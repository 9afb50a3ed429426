/** For tests: a control connection that sends exactly the given bytes. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { password } from "#nodes/test-account.ts";

export interface Reply {
  code: number;
  text: string;
}

export class TestFtpClient {
  #socket: Socket;
  #received = "";
  #wake: () => void = () => {};
  #tlsSession: Buffer | undefined;
  #isClosed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#attach();
  }

  /** Connects and takes the greeting, whatever it is. */
  static async connect(port: number, localAddress = "127.0.0.1"): Promise<{ client: TestFtpClient; greeting: Reply }> {
    const socket = connect({ host: "127.0.0.1", port, localAddress });
    await once(socket, "connect");
    const client = new TestFtpClient(socket);
    return { client, greeting: await client.reply() };
  }

  static async logIn(port: number, user: string, secret = password, localAddress?: string): Promise<TestFtpClient> {
    const { client } = await TestFtpClient.connect(port, localAddress);
    await client.send(`USER ${user}`);
    const reply = await client.send(`PASS ${secret}`);
    if (reply.code !== 230) throw new Error(`login refused: ${reply.code}`);
    return client;
  }

  write(bytes: string | Buffer): void {
    this.#socket.write(bytes);
  }

  /** Sends a command and takes its first reply. */
  send(line: string): Promise<Reply> {
    this.write(`${line}\r\n`);
    return this.reply();
  }

  /** The next reply; code 0 when the connection is closed instead. */
  async reply(): Promise<Reply> {
    for (;;) {
      const [all, code, text] = /^(\d{3}) (.*)\r\n/m.exec(this.#received) ?? [];
      if (all !== undefined) {
        this.#received = this.#received.slice(this.#received.indexOf(all) + all.length);
        return { code: Number(code), text: text ?? "" };
      }
      if (this.#isClosed) return { code: 0, text: "" };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async startTls(): Promise<void> {
    const clear = this.#socket;
    clear.removeAllListeners("data");
    clear.removeAllListeners("close");
    const secure = connectTls({ socket: clear, rejectUnauthorized: false });
    secure.on("session", (session) => {
      this.#tlsSession = session;
    });
    this.#socket = secure;
    this.#attach();
    await once(secure, "secureConnect");
  }

  /** Speaks TLS on a data connection whose command was answered 150, with the control connection's session. */
  async secureData(data: Socket): Promise<TLSSocket> {
    const secure = connectTls({ socket: data, session: this.#tlsSession, rejectUnauthorized: false });
    secure.on("error", () => {});
    await once(secure, "secureConnect");
    return secure;
  }

  /** A data connection to the port that EPSV gives. */
  async openData(localAddress = "127.0.0.1"): Promise<Socket> {
    return this.connectData(await this.passivePort(), localAddress);
  }

  async connectData(port: number, localAddress = "127.0.0.1"): Promise<Socket> {
    const data = connect({ host: "127.0.0.1", port, localAddress });
    data.on("error", () => {});
    await once(data, "connect");
    return data;
  }

  async passivePort(): Promise<number> {
    const { text } = await this.send("EPSV");
    return Number(/\|\|\|(\d+)\|/.exec(text)?.[1]);
  }

  /** Uploads and returns the last reply. */
  async store(path: string, content: string | Buffer): Promise<Reply> {
    const data = await this.openData();
    const first = await this.send(`STOR ${path}`);
    if (first.code !== 150) {
      data.destroy();
      return first;
    }
    data.end(content);
    return this.reply();
  }

  /** Runs a command that sends data, and returns them with the last reply. */
  async receive(command: string): Promise<{ reply: Reply; content: string }> {
    const data = await this.openData();
    const first = await this.send(command);
    if (first.code !== 150) {
      data.destroy();
      return { reply: first, content: "" };
    }
    let content = "";
    for await (const chunk of data.setEncoding("utf8")) content += chunk;
    return { reply: await this.reply(), content };
  }

  close(): void {
    this.#socket.destroy();
  }

  #attach(): void {
    this.#socket.setNoDelay(true);
    this.#socket.on("error", () => {});
    this.#socket.on("data", (chunk: Buffer) => {
      this.#received += chunk.toString("utf8");
      this.#wake();
    });
    this.#socket.on("close", () => {
      this.#isClosed = true;
      this.#wake();
    });
  }
}
