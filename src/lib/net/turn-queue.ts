/**
 * Divides work among the turns of the event loop: a fixed amount in each, first come, first served. Between two turns
 * the loop accepts and reads, so a caller with little to do waits only for earlier work, never for later work.
 */
export class TurnQueue {
  readonly #turnTasksMax: number;
  readonly #tasks: (() => void)[] = [];
  /** The start of the queue: tasks before it have run. */
  #head = 0;
  #usedCount = 0;
  /** For this turn. */
  #tasksMax: number;
  #isCrowded = false;
  #isScheduled = false;

  constructor(turnTasksMax: number) {
    this.#turnTasksMax = turnTasksMax;
    this.#tasksMax = turnTasksMax;
  }

  /** Makes room for other work: this turn runs one task only. */
  shorten(): void {
    this.#isCrowded = true;
    this.#schedule();
  }

  /**
   * Whether the caller may do its work at once, because nobody waits and this turn has room. If so, the room is taken.
   */
  takeNow(): boolean {
    if (this.#isCrowded || this.#head < this.#tasks.length || this.#usedCount >= this.#tasksMax) return false;
    this.#usedCount += 1;
    this.#schedule();
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
      while (this.#head < this.#tasks.length && this.#usedCount < this.#tasksMax) {
        this.#usedCount += 1;
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
