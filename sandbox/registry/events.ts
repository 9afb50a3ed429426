import type { Deletion, Domain, PollMessage } from "./objects.ts";
import type { Registry } from "./registry.ts";

/** The parts of the registry that change a name, in a command or an event. */
export type EventContext = Pick<Registry, "store" | "settings" | "now">;

/** Adds a message to the queue of the name's registrar, or of another one. */
export function notify(
  { store, now }: EventContext,
  domain: Domain,
  message: Pick<PollMessage, "text" | "approved" | "clTRID" | "svTRID" | "xml"> & { registrar?: string },
): void {
  store.messages.put({
    id: String(store.nextNumber()),
    registrar: domain.clID,
    queuedAt: now().toISOString(),
    name: domain.name,
    ...message,
  });
}

/** Records in the journal what the registry did without a command. */
export function recordEvent(
  { store, now }: EventContext,
  domain: Domain,
  event: string,
  trids: Pick<Deletion, "clTRID" | "svTRID"> = {},
): void {
  store.journal.record({
    number: store.nextNumber(),
    at: now().toISOString(),
    registrar: domain.clID,
    direction: "event",
    ...trids,
    command: `domain:${event}`,
    name: domain.name,
    executed: false,
  });
}
