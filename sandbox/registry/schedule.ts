import type { VirtualClock } from "./clock.ts";
import { DueQueue } from "./due-queue.ts";
import { type Due, decisionOf, dueOf } from "./lifecycle.ts";
import { decideContact, decideHost } from "./pending.ts";
import type { Settings } from "./settings.ts";
import type { Store } from "./store.ts";

/** The longest delay of Node's timers; a longer wait is split. */
const timerMsMax = 2 ** 31 - 1;

/** What keys of the queue begin with, if they are not those of names. */
const hostKeys = "host:";
const contactKeys = "contact:";

/** A hundred years in total: later dates are beyond what clients can read, and eventually beyond those that exist. */
const offsetMsMax = 36_525 * 24 * 60 * 60_000;

/**
 * Runs the events that fall due for names: each once, in the order of their times, at its due time. A due time follows from the
 * name's row alone, so a restart forgets nothing.
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
    store.domains.watch(({ name }) => this.#plan(name));
    store.hosts.watch(({ name }) => this.#plan(`${hostKeys}${name}`));
    store.contacts.watch(({ id }) => this.#plan(`${contactKeys}${id}`));
  }

  #plan(key: string): void {
    const due = this.#eventOf(key);
    this.#queue.set(key, due && Date.parse(due.at));
    if (this.#queue.firstDueMs() !== this.#timerDueMs) this.#setTimer();
  }

  /** Runs what is due. Called before a frame is executed, so that no answer shows an outdated state. */
  runDue(): void {
    this.#runUntil(this.#clock.now().getTime());
    this.#setTimer();
  }

  /** Advances the clock and runs what falls due on the way. @throws RangeError for an invalid time */
  advance(ms: number): void {
    const passedMs = this.#store.clock.find("clock")?.offsetMs ?? 0;
    const offsetMs = passedMs + ms;
    if (!Number.isInteger(ms) || ms < 0 || offsetMs > offsetMsMax) {
      const leftMs = offsetMsMax - passedMs;
      throw new RangeError(
        `The clock can advance by 0 to ${leftMs} whole milliseconds (a hundred years in total), not by ${ms}.`,
      );
    }
    this.#runUntil(this.#clock.now().getTime() + ms);
    this.#store.clock.put({ id: "clock", offsetMs });
    this.#clock.setOffset(offsetMs);
    this.#setTimer();
  }

  /** Removes all future events: after a reset, and at the end. */
  clear(): void {
    this.#queue.clear();
    this.#setTimer();
  }

  #runUntil(timeMs: number): void {
    for (let entry = this.#queue.takeUntil(timeMs); entry; entry = this.#queue.takeUntil(timeMs)) {
      const event = this.#eventOf(entry.key);
      // The object may have been deleted, and created again, since.
      if (!event || Date.parse(event.at) !== entry.dueMs) continue;
      this.#clock.doAt(entry.dueMs, event.act);
    }
  }

  /** The next event of the object with this key in the queue. */
  #eventOf(key: string): { at: string; act: () => void } | undefined {
    const { domains, hosts, contacts } = this.#store;
    const context = { store: this.#store, settings: this.#settings, now: this.#clock.now };
    const event = <Row>(row: Row | undefined, next: (found: Row) => Due<Row> | undefined) => {
      const due = row && next(row);
      return row && due && { at: due.at, act: () => due.act(context, row) };
    };
    if (key.startsWith(hostKeys)) {
      return event(hosts.find(key.slice(hostKeys.length)), (host) => decisionOf(host, decideHost));
    }
    if (key.startsWith(contactKeys)) {
      return event(contacts.find(key.slice(contactKeys.length)), (contact) => decisionOf(contact, decideContact));
    }
    return event(domains.find(key), (domain) => dueOf(domain, this.#settings));
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
