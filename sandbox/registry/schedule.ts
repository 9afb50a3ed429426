import type { VirtualClock } from "./clock.ts";
import { DueQueue } from "./due-queue.ts";
import { dueOf } from "./lifecycle.ts";
import type { Settings } from "./settings.ts";
import type { Store } from "./store.ts";

/** Node's timers take no longer delay; a later one is waited for in parts. */
const timerMsMax = 2 ** 31 - 1;

/** A hundred years in all: more leads out of the dates that clients can read, and in the end out of those that exist. */
const offsetMsMax = 36_525 * 24 * 60 * 60_000;

/**
 * Does what falls due in the lives of the names: each thing once, in the order of their times, each at its own time.
 * When something is due follows from the name's row alone, so a restart forgets nothing.
 */
export class Schedule {
  readonly #store: Store;
  readonly #settings: Settings;
  readonly #clock: VirtualClock;
  readonly #queue = new DueQueue();
  #timer: NodeJS.Timeout | undefined;
  #timerDueMs: number | undefined;

  constructor(store: Store, settings: Settings, clock: VirtualClock) {
    this.#store = store;
    this.#settings = settings;
    this.#clock = clock;
    store.domains.watch((domain) => {
      const due = dueOf(domain, settings);
      this.#queue.set(domain.name, due && Date.parse(due.at));
      if (this.#queue.firstDueMs() !== this.#timerDueMs) this.#setTimer();
    });
  }

  /** Does what is due by now. Called before a frame is executed, so that no answer shows what should be over. */
  runDue(): void {
    this.#runUntil(this.#clock.now().getTime());
    this.#setTimer();
  }

  /** Puts the clock forward and does what falls due on the way. Throws a RangeError for what is no such time. */
  advance(ms: number): void {
    const passedMs = this.#store.clock.find("clock")?.offsetMs ?? 0;
    const offsetMs = passedMs + ms;
    if (!Number.isInteger(ms) || ms < 0 || offsetMs > offsetMsMax) {
      const leftMs = offsetMsMax - passedMs;
      throw new RangeError(
        `The clock goes forward by 0 to ${leftMs} whole milliseconds, a hundred years in all, not by ${ms}.`,
      );
    }
    this.#runUntil(this.#clock.now().getTime() + ms);
    this.#store.clock.put({ id: "clock", offsetMs });
    this.#clock.setOffset(offsetMs);
    this.#setTimer();
  }

  /** Forgets everything that is to come: after a reset, and at the end. */
  clear(): void {
    this.#queue.clear();
    this.#setTimer();
  }

  #runUntil(timeMs: number): void {
    for (let entry = this.#queue.takeUntil(timeMs); entry; entry = this.#queue.takeUntil(timeMs)) {
      const domain = this.#store.domains.find(entry.key);
      const due = domain && dueOf(domain, this.#settings);
      // The name may have been deleted, and created again, since.
      if (!domain || !due || Date.parse(due.at) !== entry.dueMs) continue;
      this.#clock.doAt(entry.dueMs, () =>
        due.act({ store: this.#store, settings: this.#settings, now: this.#clock.now }, domain),
      );
    }
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    const dueMs = this.#queue.firstDueMs();
    this.#timerDueMs = dueMs;
    if (dueMs === undefined) return;
    const delayMs = Math.max(1, Math.min(dueMs - this.#clock.now().getTime(), timerMsMax));
    this.#timer = setTimeout(() => this.runDue(), delayMs);
  }
}
