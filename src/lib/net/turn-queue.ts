import { type Clock, systemClock } from "#lib/clock.ts";

/** What a turn may take: it ends at whichever comes first. */
export interface TurnLimits {
  /** Of the tasks themselves. A task that is begun is not interrupted. */
  turnMsMax: number;
  /** A task may leave work behind it, such as a promise that continues, which `turnMsMax` does not measure. */
  turnTasksMax: number;
}

/**
 * Divides work among the turns of the event loop: a limited amount in each, first come, first served. Between two turns
 * the loop accepts and reads, so a caller with little to do waits only for earlier work, never for later work.
 */
export class TurnQueue {
  readonly #turnTasksMax: number;
  readonly #turnMsMax: number;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #tasks: (() => void)[] = [];
  /** The start of the queue: tasks before it have run. */
  #head = 0;
  #usedCount = 0;
  /** When this turn's first task began. */
  #beganAtMs = 0;
  /** For this turn. */
  #tasksMax: number;
  #isCrowded = false;
  #isScheduled = false;

  constructor({ turnMsMax, turnTasksMax }: TurnLimits, clock: Pick<Clock, "monotonicMs"> = systemClock) {
    this.#turnMsMax = turnMsMax;
    this.#turnTasksMax = turnTasksMax;
    this.#tasksMax = turnTasksMax;
    this.#clock = clock;
  }

  /** Makes room for other work: this turn runs one task only. */
  shorten(): void {
    this.#isCrowded = true;
    this.#schedule();
  }

  /** Whether the caller may do its work at once, because no caller waits and this turn has room. If so, the room is taken. */
  takeNow(): boolean {
    if (this.#isCrowded || this.#head < this.#tasks.length || !this.#takeRoom()) return false;
    this.#schedule();
    return true;
  }

  #takeRoom(): boolean {
    if (this.#usedCount >= this.#tasksMax) return false;
    const nowMs = this.#clock.monotonicMs();
    if (this.#usedCount === 0) this.#beganAtMs = nowMs;
    else if (nowMs - this.#beganAtMs >= this.#turnMsMax) return false;
    this.#usedCount += 1;
    return true;
  }

  /** Does the work when its turn comes. */
  add(task: () => void): void {
    this.#tasks.push(task);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#beginTurn());
  }

  #beginTurn(): void {
    this.#isScheduled = false;
    this.#usedCount = 0;
    this.#tasksMax = this.#isCrowded ? 1 : this.#turnTasksMax;
    this.#isCrowded = false;
    try {
      while (this.#head < this.#tasks.length && this.#takeRoom()) {
        const task = this.#tasks[this.#head++]!;
        task();
      }
    } finally {
      if (this.#head === this.#tasks.length || this.#head > this.#turnTasksMax * 32) {
        this.#tasks.splice(0, this.#head);
        this.#head = 0;
      }
      if (this.#usedCount > 0 || this.#tasksMax < this.#turnTasksMax) this.#schedule();
    }
  }
}
