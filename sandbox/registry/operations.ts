import type { VirtualClock } from "./clock.ts";
import { addBillingContacts } from "./commands/dnsbe.ts";
import { setCredit } from "./credit.ts";
import type { FaultSettings, Faults } from "./faults.ts";
import type { Hold, HoldRequest, Holds } from "./holds.ts";
import { changeDomain, type DomainChange, decideNow, intervene, type TransferIntervention } from "./interventions.ts";
import type { Listener } from "./listener.ts";
import { enqueueMessage, type MessageRequest } from "./messages.ts";
import type { Registry, SessionState } from "./registry.ts";
import { type DomainSeed, seedDomains } from "./seed.ts";
import type { Store } from "./store.ts";

/** What a running registry offers besides EPP: to a test in the same process, and to the control port. */
export interface Operations {
  /** Objects and journal, for tests in the same process. */
  store: Store;
  /** Drops every connection. */
  closeSessions(): void;
  /** Resets every connection, present and future, until resume(), like a registry that is down. */
  pause(): void;
  resume(): void;
  /** Holds frames of a command until released. */
  hold(request: HoldRequest): Hold;
  readonly holds: Holds;
  readonly faults: Faults;
  /** Changes the given faults only. @throws RangeError for an invalid fault */
  setFaults(changes: Partial<FaultSettings>): void;
  /** The registry's time. */
  now(): Date;
  /**
   * Advances the clock. When it resolves, everything that fell due on the way has run in order, each event at its own time.
   * @throws RangeError for anything but whole milliseconds, of 100 years at most in total since a reset
   */
  advance(ms: number): Promise<void>;
  /** Adds a message to the end of a registrar's poll queue. @returns its id */
  enqueueMessage(request: MessageRequest): Promise<string>;
  /** Sets a registrar's credit, in units. */
  setCredit(registrar: string, units: number): Promise<void>;
  /** Registers names without a command: for the other registrar, or with the given fields. */
  seed(domains: readonly (string | DomainSeed)[]): Promise<void>;
  /** Takes a step of a transfer as another registrar, the name's registrar or the registry. */
  transfer(step: TransferIntervention): Promise<void>;
  /** Changes a name behind the back of its registrar. */
  change(name: string, change: DomainChange): Promise<void>;
  /** Decides now what is pending about a name. */
  decide(name: string, decision: "approve" | "deny" | "lose"): Promise<void>;
  /** The open connections, and who is logged in. */
  sessions(): Pick<SessionState, "connection" | "registrar">[];
  /** Removes everything, resets the clock, drops every connection, ends a pause and holds, restores the faults. */
  reset(): Promise<void>;
}

export function operationsOf(registry: Registry, listener: Listener, clock: VirtualClock): Operations {
  const { store, schedule, holds, faults, sessions } = registry;
  return {
    store,
    closeSessions: listener.dropAll,
    pause: listener.pause,
    resume: listener.resume,
    hold: (request) => holds.place(request),
    holds,
    faults,
    setFaults: (changes) => faults.set(changes),
    now: clock.now,
    advance: async (ms) => {
      schedule.advance(ms);
      return store.durable();
    },
    enqueueMessage: (request) => enqueueMessage(registry, request),
    setCredit: (registrar, units) => setCredit(registry, registrar, units),
    seed: (domains) => seedDomains(registry, domains),
    transfer: (step) => intervene(registry, step),
    change: (name, change) => changeDomain(registry, name, change),
    decide: (name, decision) => decideNow(registry, name, decision),
    sessions: () => [...sessions].map(({ connection, registrar }) => ({ connection, registrar })),
    reset: async () => {
      listener.dropAll();
      holds.dropAll();
      await listener.idle();
      // Drop also connections that were opened in the meantime.
      listener.dropAll();
      listener.resume();
      faults.reset();
      schedule.clear();
      store.reset();
      addBillingContacts(registry);
      clock.setOffset(0);
      return store.durable();
    },
  };
}
