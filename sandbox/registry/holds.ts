import { isCommand, type ParsedFrame } from "./command.ts";

/**
 * Holds frames at the points where a client may die: read but not executed, or executed and on disk but not answered. A test
 * kills its client there, and then decides whether the registry executes the frame, because both happen at real registries.
 * Frames of other connections are not affected.
 */

/** Read and not executed; executed, durable and not answered. */
export const holdPoints = ["before-execution", "before-answer"] as const;
export type HoldPoint = (typeof holdPoints)[number];

export interface HoldRequest {
  /** As in the journal: "domain:create", "poll:ack", "login", "hello" … or finer: "domain:restore-report". */
  command: string;
  /** Only this domain name, contact id or message id; absent: any. */
  name?: string;
  at: HoldPoint;
  /** Holds this many frames and lets later ones pass; absent: all, until release. */
  times?: number;
}

/** A held frame as a caller sees it. */
export interface HeldFrame {
  connection: number;
  registrar?: string;
  clTRID?: string;
  name?: string;
  /** False once the client's connection is lost. */
  connected: boolean;
}

export interface Hold {
  id: number;
  /** Resolves when `count` frames have been held since the hold was placed; rejects if it is released before. */
  reached(count: number): Promise<void>;
  /** Resolves when `count` held frames have lost their connection; rejects if the hold is released before. */
  abandoned(count: number): Promise<void>;
  /** The number of frames that are held now. */
  waiting(): number;
  /**
   * Ends the hold and releases its frames. A frame that was held before execution and has lost its connection is executed (the
   * default), or dropped as if it had never arrived.
   */
  release(choice?: { execute?: boolean }): void;
}

/** A frame, as far as a hold needs it. */
type PassingFrame = Pick<ParsedFrame, "operation" | "name" | "clTRID">;

interface Passer {
  connection: number;
  registrar?: string | undefined;
}

/** All holds of a registry, in the order they were placed. */
export class Holds {
  readonly #holds = new Set<PlacedHold>();
  #lastId = 0;

  place(request: HoldRequest): Hold {
    this.#lastId += 1;
    const hold = new PlacedHold(this.#lastId, request, () => this.#holds.delete(hold));
    this.#holds.add(hold);
    return hold;
  }

  find(id: number): Hold | undefined {
    return [...this.#holds].find((hold) => hold.id === id);
  }

  /** Every hold with the frames it holds, as the control port shows it. */
  list(): (HoldRequest & { id: number; reached: number; frames: HeldFrame[] })[] {
    return [...this.#holds].map((hold) => ({ id: hold.id, ...hold.request, ...hold.held() }));
  }

  releaseAll(choice: { execute?: boolean } = {}): void {
    for (const hold of [...this.#holds]) hold.release(choice);
  }

  /** Ends all holds and drops their frames, when the registry closes its connections itself. */
  dropAll(): void {
    for (const hold of [...this.#holds]) hold.end("drop");
  }

  /**
   * Holds a frame if a hold matches it. Resolves with whether to execute it: false only if its connection was lost and release
   * chose so. `ended` fires when the connection is lost.
   */
  async pass(at: HoldPoint, frame: PassingFrame | undefined, passer: Passer, ended: AbortSignal): Promise<boolean> {
    const hold = frame && [...this.#holds].find((placed) => placed.wants(at, frame));
    if (!hold) return true;
    const fate = await hold.keep(frame, passer, ended);
    return fate === "execute" || (fate === "drop-if-dead" && !ended.aborted);
  }
}

/** What happens to the held frames at the end of a hold. */
type Fate = "execute" | "drop-if-dead" | "drop";

interface Waiter {
  isDone: () => boolean;
  resolve: () => void;
  reject: (error: Error) => void;
}

class PlacedHold implements Hold {
  readonly id: number;
  readonly request: HoldRequest;
  readonly #remove: () => void;
  readonly #frames = new Set<{ about: Omit<HeldFrame, "connected">; ended: AbortSignal }>();
  readonly #released = Promise.withResolvers<Fate>();
  #waiters: Waiter[] = [];
  #reached = 0;
  #abandoned = 0;
  #isOver = false;

  constructor(id: number, request: HoldRequest, remove: () => void) {
    this.id = id;
    this.request = request;
    this.#remove = remove;
  }

  wants(at: HoldPoint, frame: PassingFrame): boolean {
    const { command, name: wantedName, at: wantedAt, times = Number.POSITIVE_INFINITY } = this.request;
    const isNamed = wantedName === undefined || wantedName === frame.name;
    return at === wantedAt && isCommand(frame, command) && isNamed && this.#reached < times;
  }

  async keep({ name, clTRID }: PassingFrame, { connection, registrar }: Passer, ended: AbortSignal): Promise<Fate> {
    const held = { about: { connection, registrar, clTRID, name }, ended };
    const countAbandoned = () => {
      this.#abandoned += 1;
      this.#wake();
    };
    this.#frames.add(held);
    this.#reached += 1;
    if (ended.aborted) this.#abandoned += 1;
    else ended.addEventListener("abort", countAbandoned, { once: true });
    this.#wake();
    const fate = await this.#released.promise;
    this.#frames.delete(held);
    ended.removeEventListener("abort", countAbandoned);
    return fate;
  }

  held(): { reached: number; frames: HeldFrame[] } {
    const frames = [...this.#frames].map(({ about, ended }) => ({ ...about, connected: !ended.aborted }));
    return { reached: this.#reached, frames };
  }

  reached(count: number): Promise<void> {
    return this.#wait(() => this.#reached >= count);
  }

  abandoned(count: number): Promise<void> {
    return this.#wait(() => this.#abandoned >= count);
  }

  waiting(): number {
    return this.#frames.size;
  }

  release({ execute = true }: { execute?: boolean } = {}): void {
    this.end(execute ? "execute" : "drop-if-dead");
  }

  end(fate: Fate): void {
    this.#remove();
    this.#isOver = true;
    this.#released.resolve(fate);
    this.#wake();
  }

  #wait(isDone: () => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiters.push({ isDone, resolve, reject });
    this.#wake();
    return promise;
  }

  #wake(): void {
    for (const { isDone, resolve, reject } of this.#waiters) {
      if (isDone()) resolve();
      else if (this.#isOver) reject(new Error(`the hold was released after ${this.#reached} frames`));
    }
    this.#waiters = this.#waiters.filter(({ isDone }) => !isDone() && !this.#isOver);
  }
}
