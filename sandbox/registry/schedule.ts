import type { Domain, ScheduledAction } from "./objects.ts";
import type { Store } from "./store.ts";

const approvedText = "The pending create was approved";
const deniedText = "The pending create was denied";

/** Does later what a label asked for: decides pending creates, undoes creates. Survives restarts through the store. */
export class Schedule {
  readonly #store: Store;
  readonly #now: () => Date;
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(store: Store, now: () => Date) {
    this.#store = store;
    this.#now = now;
  }

  /** Sets the timer for a domain's scheduled action, if it has one that is ever due. */
  arm({ name, scheduled }: Domain): void {
    if (!scheduled || scheduled.action === "never") return;
    const delayMs = Math.max(0, Date.parse(scheduled.dueAt) - this.#now().getTime());
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      const domain = this.#store.domains.find(name);
      // The name may have been deleted and created again since.
      if (domain?.scheduled?.svTRID === scheduled.svTRID) this.#act(domain, scheduled);
    }, delayMs);
    this.#timers.add(timer);
  }

  /** Forgets every timer: after a reset, and at the end. */
  clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #act(domain: Domain, scheduled: ScheduledAction): void {
    const { action } = scheduled;
    if (action === "approve" || action === "lose") {
      const statuses = domain.statuses.filter((status) => status !== "pendingCreate");
      this.#store.domains.put({ ...domain, statuses, scheduled: undefined });
    } else {
      this.#store.domains.delete(domain.name);
    }
    if (action === "approve" || action === "deny") this.#notify(domain, scheduled);
    this.#store.journal.record({
      number: this.#store.nextNumber(),
      at: this.#now().toISOString(),
      registrar: domain.clID,
      direction: "event",
      clTRID: scheduled.clTRID,
      svTRID: scheduled.svTRID,
      command: `domain:${action}`,
      name: domain.name,
      executed: false,
    });
  }

  #notify(domain: Domain, scheduled: ScheduledAction): void {
    const approved = scheduled.action === "approve";
    this.#store.messages.put({
      id: String(this.#store.nextNumber()),
      registrar: domain.clID,
      queuedAt: this.#now().toISOString(),
      text: approved ? approvedText : deniedText,
      name: domain.name,
      approved,
      clTRID: scheduled.clTRID,
      svTRID: scheduled.svTRID,
    });
  }
}
