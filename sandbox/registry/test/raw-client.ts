import { readFileSync } from "node:fs";
import { connect, type TLSSocket } from "node:tls";
import { encodeFrame, FrameReader } from "../framing.ts";
import { childrenOf, findChild, parseXml, tokenOf, type XmlElement } from "../xml.ts";
import { type LoginChanges, loginFrame } from "./frames.ts";

const frameBytesMax = 4 * 1024 * 1024;

/** An answer, as tests use it. */
export interface Answer {
  xml: string;
  code: number;
  clTRID: string | undefined;
  svTRID: string;
  root: XmlElement;
}

/** A minimal EPP client over TLS: sends bytes and receives frames, without any rules. */
export class RawClient {
  readonly socket: TLSSocket;
  readonly #frames: string[] = [];
  #wake: () => void = () => undefined;
  #isClosed = false;

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    const reader = new FrameReader(frameBytesMax);
    socket.on("data", (chunk: Buffer) => {
      for (const body of reader.push(chunk)) this.#frames.push(body.toString("utf8"));
      this.#wake();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  /** Connects with the CA pinned, and with `identity` as the client certificate. */
  static async connect(
    port: number,
    caFile: string,
    identity: { cert?: Buffer; key?: Buffer } = {},
  ): Promise<RawClient> {
    const ca = readFileSync(caFile);
    const socket = connect({ host: "127.0.0.1", port, ca, servername: "localhost", ...identity });
    const client = new RawClient(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("secureConnect", resolve);
      socket.once("error", reject);
    });
    return client;
  }

  /** Connects, reads the greeting, logs in. */
  static async login(
    { port, caFile }: { port: number; caFile: string },
    registrar = "gate-one",
    password = "secret-1",
    changes: LoginChanges = {},
  ): Promise<RawClient> {
    const client = await RawClient.connect(port, caFile);
    await client.receive();
    const { code } = await client.ask(loginFrame(registrar, password, changes));
    if (code !== 1000) throw new Error(`login answered ${code}`);
    return client;
  }

  /** The next frame's XML; undefined if the connection ends first. */
  async receive(): Promise<string | undefined> {
    while (this.#frames.length === 0 && !this.#isClosed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#frames.shift();
  }

  send(xml: string): void {
    this.socket.write(encodeFrame(xml));
  }

  /** Sends a frame. @returns the answer @throws Error when the connection ends instead */
  async ask(xml: string): Promise<Answer> {
    this.send(xml);
    return this.answer();
  }

  async answer(): Promise<Answer> {
    const xml = await this.receive();
    if (xml === undefined) throw new Error("the connection ended without an answer");
    const root = parseXml(xml);
    const response = findChild(root, "response")!;
    const ids = findChild(response, "trID")!;
    const clTRID = findChild(ids, "clTRID");
    return {
      xml,
      code: Number(childrenOf(response, "result")[0]?.attributes.code),
      clTRID: clTRID && tokenOf(clTRID),
      svTRID: tokenOf(findChild(ids, "svTRID")!),
      root,
    };
  }

  close(): void {
    this.socket.destroy();
  }
}

/** The first element of that name anywhere below `element`. */
function findDeep(element: XmlElement, local: string): XmlElement | undefined {
  for (const child of element.children) {
    const found = child.local === local ? child : findDeep(child, local);
    if (found) return found;
  }
  return undefined;
}

/** The text of the first element of that name, "" if there is none. */
export function textOf(answer: Answer, local: string): string {
  const found = findDeep(answer.root, local);
  return found ? tokenOf(found) : "";
}
