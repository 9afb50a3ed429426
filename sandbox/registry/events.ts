import type { Deletion, Domain, PollMessage } from "./objects.ts";
import type { Registry } from "./registry.ts";

/** What is done with a name, by a command or by itself, needs no more of the registry than this. */
export type EventContext = Pick<Registry, "store" | "settings" | "now">;

/** Puts a message into the queue of the name's registrar, or of another one. */
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

/** Tells the journal what the registry did by itself. */
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
