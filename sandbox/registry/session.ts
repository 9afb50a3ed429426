import { setImmediate as nextTurn } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import { greeting, response } from "./answer.ts";
import { sleep } from "./clock.ts";
import { encodeFrame, FrameLengthError, FrameReader } from "./framing.ts";
import { redactXml } from "./journal.ts";
import type { Delivery } from "./labels.ts";
import { type Processed, processFrame, readIncoming, recordDropped } from "./process-frame.ts";
import type { Registry, SessionState } from "./registry.ts";

/**
 * One connection from greeting to end: reads frames, has each executed, waits until what it changed is on disk, and
 * answers. The next frame is read only after that, so pipelined commands are answered in order (RFC 5734 §3).
 */
export class Session {
  readonly #socket: TLSSocket;
  readonly #registry: Registry;
  readonly #state: SessionState;
  readonly #ended = new AbortController();

  constructor(socket: TLSSocket, registry: Registry) {
    this.#socket = socket;
    this.#registry = registry;
    this.#state = { connection: registry.store.nextNumber(), services: new Set(), loginFailures: 0 };
    socket.setTimeout(registry.settings.idleTimeoutMs, () => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.once("close", () => {
      this.#ended.abort();
      // At once, although a frame may still be held: a client that comes back is not a session too many.
      registry.sessions.delete(this.#state);
    });
  }

  /** Resolves when the connection is done. Rejects only for a defect of the registry itself, or a full disk. */
  async run(): Promise<void> {
    this.#registry.sessions.add(this.#state);
    try {
      await this.#send({
        about: { command: "greeting" },
        answer: greeting(this.#registry.now(), this.#registry.settings),
        delivery: normal,
      });
      await this.#readFrames();
    } finally {
      if (!this.#socket.writableEnded) this.#socket.destroy();
    }
  }

  async #readFrames(): Promise<void> {
    const reader = new FrameReader(this.#registry.settings.frameBytesMax);
    try {
      for await (const chunk of chunksOf(this.#socket)) {
        for (const body of reader.push(chunk)) {
          await this.#serve(body);
          if (!this.#socket.writable) return;
        }
      }
    } catch (error) {
      if (!(error instanceof FrameLengthError)) throw error;
      const svTRID = `SBX-${this.#registry.store.nextNumber()}`;
      const answer = response({ code: 2500, reason: error.message, svTRID });
      await this.#send({ about: { svTRID, code: 2500 }, answer, delivery: normal });
      this.#end();
    }
  }

  async #serve(body: Buffer): Promise<void> {
    const { holds, store } = this.#registry;
    const incoming = readIncoming(this.#registry, body);
    if (!(await holds.pass("before-execution", incoming.frame, this.#state, this.#ended.signal))) {
      recordDropped(this.#registry, this.#state, incoming);
      return;
    }
    const processed = processFrame(this.#registry, this.#state, incoming);
    await store.durable();
    await holds.pass("before-answer", incoming.frame, this.#state, this.#ended.signal);
    await this.#send(processed);
    if (processed.closes) this.#end();
  }

  /** Says goodbye, and keeps reading, so that the client's own goodbye is seen. */
  #end(): void {
    this.#socket.end();
    this.#socket.resume();
  }

  async #send({ about, answer, delivery }: Pick<Processed, "about" | "answer" | "delivery">): Promise<void> {
    if (answer === undefined || delivery.kind === "drop-before" || delivery.kind === "drop-after") {
      this.#socket.destroy();
      return;
    }
    const fault = this.#registry.settings.assertAnswers ? this.#registry.validator.findFault(answer) : undefined;
    if (fault !== undefined) throw new Error(`an answer breaks the schema: ${fault}\n${answer}`);
    if (delivery.kind === "delay") await sleep(delivery.delayMs, this.#ended.signal);
    if (this.#socket.destroyed) return;
    const text = spoil(answer, delivery);
    this.#registry.store.journal.record({
      number: this.#registry.store.nextNumber(),
      at: this.#registry.now().toISOString(),
      connection: this.#state.connection,
      registrar: this.#state.registrar,
      direction: "out",
      ...about,
      executed: false,
      xml: redactXml(text),
    });
    await write(this.#socket, encodeFrame(text), delivery);
  }
}

const normal: Delivery = { kind: "normal" };

/** The connection's bytes until it ends or breaks: to a registry, a broken connection is an end. */
async function* chunksOf(socket: TLSSocket): AsyncGenerator<Buffer> {
  try {
    yield* socket.iterator({ destroyOnReturn: false });
  } catch {
    socket.destroy();
  }
}

function spoil(answer: string, delivery: Delivery): string {
  if (delivery.kind === "garbage") return "\u0001 this is not XML <<<";
  if (delivery.kind === "wrong-trid") return answer.replace(/<clTRID>[^<]*</, "<clTRID>SBX-NEVER-SENT<");
  return answer;
}

async function write(socket: TLSSocket, frame: Buffer, delivery: Delivery): Promise<void> {
  if (delivery.kind === "short") {
    socket.write(frame.subarray(0, frame.length / 2), () => socket.destroy());
  } else if (delivery.kind === "dribble") {
    for (const byte of frame) {
      socket.write(Buffer.of(byte));
      await nextTurn();
    }
  } else {
    socket.write(frame);
  }
}
