import { once } from "node:events";
import type { TLSSocket } from "node:tls";
import { greeting, response } from "./answer.ts";
import { sleep } from "./clock.ts";
import type { ConnectFate } from "./faults.ts";
import { encodeFrame, FrameLengthError, FrameReader } from "./framing.ts";
import { type Delivery, normalDelivery } from "./labels.ts";
import { leaveOut } from "./omissions.ts";
import { drop, type Processed, processFrame, readIncoming } from "./process-frame.ts";
import { redactXml } from "./redact.ts";
import type { Registry, SessionState } from "./registry.ts";
import type { ResultCode } from "./result-codes.ts";
import { findSchemaFault } from "./schema.ts";
import { restyle } from "./style.ts";

/**
 * One connection from greeting to end: reads a frame, executes it, waits until its changes are on disk, and answers. Only then
 * it reads the next frame, so pipelined commands are answered in order (RFC 5734 §3).
 */
export class Session {
  readonly #socket: TLSSocket;
  readonly #registry: Registry;
  readonly #state: SessionState;
  readonly #ended = new AbortController();
  #ageMs: number | null = null;
  #ageTimer: NodeJS.Timeout | undefined;
  /** A frame is in progress: the session ends after its answer. */
  #isBusy = false;
  #isOverdue = false;

  constructor(socket: TLSSocket, registry: Registry) {
    this.#socket = socket;
    this.#registry = registry;
    this.#state = {
      connection: registry.store.nextNumber(),
      services: new Set(),
      loginFailures: 0,
      commands: 0,
      commandsSinceLogin: 0,
    };
    this.#setTimers();
    const forget = registry.faults.onChange(() => this.#setTimers());
    // A client that waits for an answer is not idle.
    socket.on("timeout", () => {
      if (!this.#isBusy) this.#expire();
    });
    socket.on("error", () => socket.destroy());
    socket.once("close", () => {
      forget();
      clearTimeout(this.#ageTimer);
      this.#ended.abort();
      // At once, although a frame may still be held, so that the session of a client that reconnects fits the limit.
      registry.sessions.delete(this.#state);
    });
  }

  /** Resolves when the connection has ended. Rejects only for a defect of the registry, or a full disk. */
  async run(): Promise<void> {
    this.#registry.sessions.add(this.#state);
    try {
      const fate = this.#registry.faults.takeConnectFate("greeting", this.#registry.now());
      if (fate) return await this.#refuse(fate);
      const answer = greeting(this.#registry.now(), this.#registry.settings);
      await this.#send({ about: { command: "greeting" }, answer, delivery: normalDelivery });
      await this.#readFrames();
    } finally {
      if (!this.#socket.writableEnded) this.#socket.destroy();
    }
  }

  /** Refuses with a code instead of a greeting, or sends nothing until the client disconnects. */
  async #refuse(fate: ConnectFate): Promise<void> {
    const code = { "refuse-2500": 2500, "refuse-2501": 2501, "refuse-2502": 2502 }[fate as string];
    if (code !== undefined) return this.#endWith(code as ResultCode);
    this.#socket.resume();
    if (!this.#socket.destroyed) await once(this.#ended.signal, "abort");
  }

  async #readFrames(): Promise<void> {
    const reader = new FrameReader(this.#registry.settings.frameBytesMax);
    try {
      for await (const chunk of chunksOf(this.#socket)) {
        for (const body of reader.push(chunk)) {
          this.#isBusy = true;
          await this.#serve(body);
          this.#isBusy = false;
          if (this.#isOverdue) this.#expire();
          if (!this.#socket.writable) return;
        }
      }
    } catch (error) {
      if (!(error instanceof FrameLengthError)) throw error;
      await this.#endWith(2500, error.message);
    }
  }

  async #serve(body: Buffer): Promise<void> {
    const { holds, store } = this.#registry;
    const incoming = readIncoming(body, this.#registry.settings);
    const isToBeDone = await holds.pass("before-execution", incoming.frame, this.#state, this.#ended.signal);
    const serve = isToBeDone ? processFrame : drop;
    const processed = serve(this.#registry, this.#state, incoming);
    await store.durable();
    await holds.pass("before-answer", incoming.frame, this.#state, this.#ended.signal);
    await this.#send(processed);
    if (processed.closes) this.#end();
  }

  /** Starts the timers that end the session, from the current faults and settings. */
  #setTimers(): void {
    const { faults, settings } = this.#registry;
    const { idleMs, ageMs } = faults.current;
    this.#socket.setTimeout(idleMs ?? settings.idleTimeoutMs);
    if (ageMs === this.#ageMs) return;
    this.#ageMs = ageMs;
    clearTimeout(this.#ageTimer);
    if (ageMs !== null) this.#ageTimer = setTimeout(() => this.#expire(), ageMs);
  }

  /** Ends an idle or old session between two answers, with or without a notice. */
  #expire(): void {
    this.#isOverdue = true;
    if (this.#isBusy) return;
    const { endNoticeCode } = this.#registry.faults.current;
    // Not caught, so that a defect of the registry ends the process.
    if (endNoticeCode !== null && this.#socket.writable) this.#endWith(endNoticeCode);
    else this.#socket.destroy();
  }

  /** Sends an unsolicited answer, and ends. */
  async #endWith(code: ResultCode, reason?: string): Promise<void> {
    const svTRID = `SBX-${this.#registry.store.nextNumber()}`;
    await this.#send({ about: { svTRID, code }, answer: response({ code, reason, svTRID }), delivery: normalDelivery });
    this.#end();
  }

  /** Ends our side, and keeps reading, so that the client's end is noticed. */
  #end(): void {
    this.#socket.end();
    this.#socket.resume();
  }

  async #send({ about, answer, delivery }: Pick<Processed, "about" | "answer" | "delivery">): Promise<void> {
    if (answer === undefined || delivery.drops) {
      this.#socket.destroy();
      return;
    }
    if (delivery.delayMs !== undefined) await sleep(delivery.delayMs, this.#ended.signal);
    const text = this.#styled(answer, delivery);
    if (this.#socket.destroyed) return;
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
    const frame = encodeFrame(text);
    if (delivery.write) await delivery.write(this.#socket, frame);
    else this.#socket.write(frame);
  }

  /** The answer as it is sent: checked, in the requested style, changed by the label of its name. */
  #styled(answer: string, delivery: Delivery): string {
    const { settings, faults } = this.#registry;
    const { styles } = faults.current;
    const whole = delivery.change?.(answer) ?? answer;
    const sent = leaveOut(whole, settings, this.#state.registrar);
    const text = restyle(sent, styles);
    const checked = styles.includes("disordered") || sent !== whole ? answer : text;
    const fault = settings.assertAnswers ? findSchemaFault(checked) : undefined;
    if (fault !== undefined) throw new Error(`an answer breaks the schema: ${fault}\n${checked}`);
    return delivery.instead ?? text;
  }
}

/** The connection's bytes until it ends or breaks. */
async function* chunksOf(socket: TLSSocket): AsyncGenerator<Buffer> {
  try {
    yield* socket.iterator({ destroyOnReturn: false });
  } catch {
    socket.destroy();
  }
}
