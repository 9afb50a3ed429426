import type { Deletion, Domain, PollMessage } from "./objects.ts";
import type { Registry } from "./registry.ts";

/** The parts of the registry that change a name, in a command or an event. */
export type EventContext = Pick<Registry, "store" | "settings" | "now">;

/** A name, a host or a contact. */
export interface EventSubject extends Pick<Domain, "name" | "clID"> {
  object?: "host" | "contact";
}

/** Adds a message to the queue of the name's registrar, or of another one. */
export function notify(
  { store, now }: EventContext,
  subject: EventSubject,
  message: Pick<PollMessage, "text" | "approved" | "clTRID" | "svTRID" | "xml" | "extension" | "extensionUri"> & {
    registrar?: string;
  },
): void {
  store.messages.put({
    id: String(store.nextNumber()),
    registrar: subject.clID,
    queuedAt: now().toISOString(),
    name: subject.name,
    object: subject.object,
    ...message,
  });
}

/** Records in the journal what the registry did without a command. */
export function recordEvent(
  { store, now }: EventContext,
  subject: EventSubject,
  event: string,
  trids: Pick<Deletion, "clTRID" | "svTRID"> = {},
): void {
  store.journal.record({
    number: store.nextNumber(),
    at: now().toISOString(),
    registrar: subject.clID,
    direction: "event",
    ...trids,
    command: `${subject.object ?? "domain"}:${event}`,
    name: subject.name,
    executed: false,
  });
}
