// The most demanding client must not delay the others. A task names its sponsors, the clients that it runs for. The
// next task is the one whose sponsors were served least recently. When the queue is full, the sponsor with the most
// waiting tasks gives up a place to one with fewer. A linear search through the waiting tasks is cheap compared with
// the tasks: a bcrypt hash takes 64 ms.

import { reportDefect } from "#lib/report-defect.ts";

export interface FairQueueSettings {
  /** Tasks that run at the same time. */
  runningMax: number;
  /** How many tasks may wait before new ones are refused. */
  waitingMax: number;
}

/**
 * The clients that a task runs for, the most important level first. On a level with several (an address and an
 * account), the one served last counts: a flood from one address waits for the others, and so does a flood at one
 * account.
 */
export type Sponsors = readonly (readonly string[])[];

/** Too many tasks are waiting, and none of their sponsors waits for more than the newcomer. */
export class QueueFull extends Error {
  override readonly name = "QueueFull";
  constructor() {
    super("Too many are waiting: try again in a moment.");
  }
}

/** How many sponsors' last turns are remembered. A forgotten sponsor counts as never served. */
const rememberedMax = 1_000;

interface Waiting {
  sponsors: Sponsors;
  /** Runs the task to its end. Never throws. */
  start: () => Promise<void>;
  reject: (error: unknown) => void;
}

/** Runs a few tasks at a time, and lets their sponsors take turns. */
export class FairQueue {
  readonly #settings: FairQueueSettings;
  /** In the order of arrival. */
  readonly #waiting = new Set<Waiting>();
  /** The number of waiting tasks of each sponsor. */
  readonly #counts = new Map<string, number>();
  /** The number of the turn in which each sponsor was last served; the longest ago first. */
  readonly #servedAt = new Map<string, number>();
  #turns = 0;
  #running = 0;

  constructor(settings: FairQueueSettings) {
    this.#settings = settings;
  }

  /**
   * Runs a task when its turn comes.
   * @throws QueueFull before it runs, when too many are waiting: at once, or when a sponsor with fewer waiting tasks
   * needs the place; the signal's reason when it fires before the turn
   */
  run<T>(sponsors: Sponsors, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (!this.#hasPlace() && !this.#yieldPlace(sponsors)) return reject(new QueueFull());
      const leave = () => {
        if (this.#remove(waiting)) reject(signal?.reason);
      };
      const start = async () => {
        signal?.removeEventListener("abort", leave);
        try {
          resolve(await task());
        } catch (error) {
          reject(error);
        }
      };
      const waiting: Waiting = { sponsors, start, reject };
      signal?.addEventListener("abort", leave, { once: true });
      this.#add(waiting);
      this.#startNext();
    });
  }

  #hasPlace(): boolean {
    const { runningMax, waitingMax } = this.#settings;
    return this.#running < runningMax || this.#waiting.size < waitingMax;
  }

  #add(waiting: Waiting): void {
    this.#waiting.add(waiting);
    for (const name of waiting.sponsors.flat()) this.#counts.set(name, this.#countOf(name) + 1);
  }

  #remove(waiting: Waiting): boolean {
    if (!this.#waiting.delete(waiting)) return false;
    for (const name of waiting.sponsors.flat()) {
      const left = this.#countOf(name) - 1;
      if (left > 0) this.#counts.set(name, left);
      else this.#counts.delete(name);
    }
    return true;
  }

  #startNext(): void {
    while (this.#running < this.#settings.runningMax) {
      const next = highest(this.#waiting, ({ sponsors }) => sponsors.flatMap((names) => this.#lastTurns(names)));
      if (next === undefined) return;
      this.#remove(next);
      this.#noteServed(next.sponsors);
      this.#running += 1;
      const ended = () => {
        this.#running -= 1;
        this.#startNext();
      };
      next.start().then(ended).catch(reportDefect);
    }
  }

  /** Negative, the most recent first: a sponsor that was served long ago ranks before one that was served recently. */
  #lastTurns(names: readonly string[]): number[] {
    return names.map((name) => -(this.#servedAt.get(name) ?? 0)).sort((left, right) => left - right);
  }

  #noteServed(sponsors: Sponsors): void {
    this.#turns += 1;
    for (const name of sponsors.flat()) {
      this.#servedAt.delete(name);
      this.#servedAt.set(name, this.#turns);
    }
    for (const name of this.#servedAt.keys()) {
      if (this.#servedAt.size <= rememberedMax) break;
      this.#servedAt.delete(name);
    }
  }

  /** Makes room for a sponsor with fewer waiting tasks by refusing the newest task of the greediest sponsor. */
  #yieldPlace(sponsors: Sponsors): boolean {
    const newestFirst = [...this.#waiting].reverse();
    const greediest = highest(newestFirst, (one) => one.sponsors.map((names) => this.#mostOf(names)));
    if (greediest === undefined) return false;
    // The first level on which the two differ decides.
    const level = sponsors.findIndex((names, at) => names.join("\n") !== greediest.sponsors[at]?.join("\n"));
    if (level === -1) return false;
    if (this.#mostOf(greediest.sponsors[level] ?? []) <= this.#mostOf(sponsors[level] ?? []) + 1) return false;
    this.#remove(greediest);
    greediest.reject(new QueueFull());
    return true;
  }

  #mostOf(names: readonly string[]): number {
    return Math.max(0, ...names.map((name) => this.#countOf(name)));
  }

  #countOf(name: string): number {
    return this.#counts.get(name) ?? 0;
  }
}

/** The first item with the highest ranks, compared lexicographically. */
function highest<Item>(items: Iterable<Item>, ranksOf: (item: Item) => number[]): Item | undefined {
  let best: { item: Item; ranks: number[] } | undefined;
  for (const item of items) {
    const ranks = ranksOf(item);
    if (best === undefined || isHigher(ranks, best.ranks)) best = { item, ranks };
  }
  return best?.item;
}

function isHigher(left: number[], right: number[]): boolean {
  const at = left.findIndex((rank, index) => rank !== right[index]);
  return (left[at] ?? 0) > (right[at] ?? 0);
}
