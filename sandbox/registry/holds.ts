/**
 * Frames held where a client's world may end: read but not executed, or executed and on disk but not answered. A test
 * kills its client there, and then decides what the registry did with the frame, for both happen at real ones. A frame
 * is held apart from every other connection's.
 */

/** Where a frame can be held: read and not executed, or executed, durable and not answered. */
export const holdPoints = ["before-execution", "before-answer"] as const;
export type HoldPoint = (typeof holdPoints)[number];

export interface HoldRequest {
  /** The journal's word: "domain:create", "poll:ack", "login", "hello" … */
  command: string;
  /** Only this domain name, contact id or message id; absent: any. */
  name?: string;
  at: HoldPoint;
  /** Hold the first so many frames and let the later ones pass; absent: all, until release. */
  times?: number;
}

/** A held frame as a caller sees it. */
export interface HeldFrame {
  connection: number;
  registrar?: string;
  clTRID?: string;
  name?: string;
  /** False once the client's side of the connection is gone. */
  connected: boolean;
}

export interface Hold {
  id: number;
  /** Resolves when so many frames have been held since the hold was placed; rejects if it is released before. */
  reached(count: number): Promise<void>;
  /** Resolves when so many held frames have lost their connection; rejects if the hold is released before. */
  abandoned(count: number): Promise<void>;
  /** Frames that are held now. */
  waiting(): number;
  /**
   * Ends the hold and lets its frames go on. A frame held before execution whose connection has died meanwhile is
   * executed (the default), or dropped as if it had never arrived.
   */
  release(choice?: { execute?: boolean }): void;
}

/** What a hold needs to know of a frame that passes. */
interface PassingFrame {
  label: string;
  name?: string | undefined;
  clTRID?: string | undefined;
}

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

  /** Ends all holds and drops what they hold: the registry is closing its connections itself. */
  dropAll(): void {
    for (const hold of [...this.#holds]) hold.end("drop");
  }

  /**
   * Holds a frame if a hold asks for it. Resolves with whether it is to be executed: false only where its connection
   * died and release chose so. `ended` fires when the connection dies.
   */
  async pass(at: HoldPoint, frame: PassingFrame | undefined, passer: Passer, ended: AbortSignal): Promise<boolean> {
    const hold = frame && [...this.#holds].find((placed) => placed.wants(at, frame));
    if (!hold) return true;
    const fate = await hold.keep(frame, passer, ended);
    return fate === "execute" || (fate === "drop-if-dead" && !ended.aborted);
  }
}

/** What becomes of the held frames at the end of a hold. */
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

  wants(at: HoldPoint, { label, name }: PassingFrame): boolean {
    const { command, name: wantedName, at: wantedAt, times = Number.POSITIVE_INFINITY } = this.request;
    const isNamed = wantedName === undefined || wantedName === name;
    return at === wantedAt && label === command && isNamed && this.#reached < times;
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
