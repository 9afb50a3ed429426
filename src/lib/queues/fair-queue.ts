// The most demanding client must not delay the others. A task names its sponsors, the clients that it runs for. The
// next task is the one whose sponsors were served least recently. When the queue is full, the sponsor with the most
// waiting tasks gives up a place to one with fewer. A linear search through the sponsors of waiting tasks is cheap, because
// they are few, or the tasks are long: a bcrypt hash takes 64 ms.

import { keepSpan } from "#lib/measure/tracing.ts";
import { reportDefect } from "#lib/report-defect.ts";

export interface FairQueueSettings {
  /** Tasks that run at the same time. */
  runningMax: number;
  /** How many of them may have the same sponsor. Default: all. */
  sponsorRunningMax?: number;
  /** How many tasks may wait before new ones are refused. */
  waitingMax: number;
  /** How long a task waits for its turn before it is refused. Default: any time. */
  waitMsMax?: number;
}

/**
 * The clients that a task runs for, the most important level first. On a level with several (an address and an
 * account), the one served last counts: a flood from one address waits for the others, and so does a flood at one
 * account.
 */
export type Sponsors = readonly (readonly string[])[];

/** Too many tasks are waiting, and none of their sponsors waits for more than the newcomer; or its turn did not come in time. */
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
  /** The same for tasks with the same sponsors. */
  group: string;
  /** Its place in the order of arrival. */
  arrival: number;
  /** Runs the task to its end. Never throws. */
  start: () => Promise<void>;
  /** Before its turn. */
  refuse: (reason: unknown) => void;
}

const groupOf = (sponsors: Sponsors) => sponsors.map((names) => names.join("\n")).join("\n\n");

/** Runs a few tasks at a time, and lets their sponsors take turns. */
export class FairQueue {
  readonly #settings: FairQueueSettings;
  /** By group, each in the order of arrival. No group is empty. */
  readonly #waiting = new Map<string, Waiting[]>();
  /** The number of waiting tasks of each sponsor. */
  readonly #counts = new Map<string, number>();
  readonly #runningCounts = new Map<string, number>();
  /** The number of the turn in which each sponsor was last served; the longest ago first. */
  readonly #servedAt = new Map<string, number>();
  #arrivals = 0;
  #turns = 0;
  #running = 0;
  #waitingCount = 0;

  constructor(settings: FairQueueSettings) {
    this.#settings = settings;
  }

  get waitingCount(): number {
    return this.#waitingCount;
  }

  /**
   * Runs a task when its turn comes.
   * @throws QueueFull before it runs, when too many are waiting: at once, or when a sponsor with fewer waiting tasks
   * needs the place; the signal's reason when it fires before the turn
   */
  run<T>(sponsors: Sponsors, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const { waitMsMax } = this.#settings;
      let tooLate: NodeJS.Timeout | undefined;
      const leave = () => refuse(signal?.reason);
      const stopWaiting = () => {
        signal?.removeEventListener("abort", leave);
        clearTimeout(tooLate);
      };
      const refuse = (reason: unknown) => {
        this.#remove(waiting);
        stopWaiting();
        reject(reason);
      };
      const ownTask = keepSpan(task);
      const start = async () => {
        stopWaiting();
        try {
          resolve(await ownTask());
        } catch (error) {
          reject(error);
        }
      };
      const waiting: Waiting = { sponsors, group: groupOf(sponsors), arrival: this.#arrivals++, start, refuse };
      if (this.#running < this.#settings.runningMax && this.#mayStart(sponsors)) return this.#start(waiting);
      if (this.#waitingCount >= this.#settings.waitingMax && !this.#yieldPlace(sponsors))
        return reject(new QueueFull());
      signal?.addEventListener("abort", leave, { once: true });
      if (waitMsMax !== undefined) tooLate = setTimeout(() => refuse(new QueueFull()), waitMsMax);
      this.#add(waiting);
    });
  }

  #add(waiting: Waiting): void {
    const group = this.#waiting.get(waiting.group);
    if (group) group.push(waiting);
    else this.#waiting.set(waiting.group, [waiting]);
    this.#waitingCount += 1;
    addTo(this.#counts, waiting.sponsors, 1);
  }

  #remove(waiting: Waiting): void {
    const group = this.#waiting.get(waiting.group)!;
    group.splice(group.indexOf(waiting), 1);
    if (group.length === 0) this.#waiting.delete(waiting.group);
    this.#waitingCount -= 1;
    addTo(this.#counts, waiting.sponsors, -1);
  }

  #startNext(): void {
    while (this.#running < this.#settings.runningMax) {
      const heads = [...this.#waiting.values()]
        .map(([head]) => head!)
        .filter(({ sponsors }) => this.#mayStart(sponsors));
      const next = highest(heads, ({ sponsors, arrival }) => [
        ...sponsors.flatMap((names) => this.#lastTurns(names)),
        -arrival,
      ]);
      if (next === undefined) return;
      this.#remove(next);
      this.#start(next);
    }
  }

  #start({ sponsors, start }: Waiting): void {
    this.#noteServed(sponsors);
    this.#running += 1;
    addTo(this.#runningCounts, sponsors, 1);
    const ended = () => {
      this.#running -= 1;
      addTo(this.#runningCounts, sponsors, -1);
      this.#startNext();
    };
    start().then(ended).catch(reportDefect);
  }

  #mayStart(sponsors: Sponsors): boolean {
    const { sponsorRunningMax: max } = this.#settings;
    return (
      max === undefined || sponsors.every((names) => names.every((name) => (this.#runningCounts.get(name) ?? 0) < max))
    );
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
    const newest = [...this.#waiting.values()].map((group) => group.at(-1)!);
    const greediest = highest(newest, (one) => [...one.sponsors.map((names) => this.#mostOf(names)), one.arrival]);
    if (greediest === undefined) return false;
    // The first level on which the two differ decides.
    const level = sponsors.findIndex((names, at) => names.join("\n") !== greediest.sponsors[at]?.join("\n"));
    if (level === -1) return false;
    if (this.#mostOf(greediest.sponsors[level] ?? []) <= this.#mostOf(sponsors[level] ?? []) + 1) return false;
    greediest.refuse(new QueueFull());
    return true;
  }

  #mostOf(names: readonly string[]): number {
    return Math.max(0, ...names.map((name) => this.#countOf(name)));
  }

  #countOf(name: string): number {
    return this.#counts.get(name) ?? 0;
  }
}

/** Counts a task of these sponsors. A sponsor without any has no entry. */
function addTo(counts: Map<string, number>, sponsors: Sponsors, change: 1 | -1): void {
  for (const names of sponsors) {
    for (const name of names) {
      const count = (counts.get(name) ?? 0) + change;
      if (count > 0) counts.set(name, count);
      else counts.delete(name);
    }
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
