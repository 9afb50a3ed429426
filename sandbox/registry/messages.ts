import { response } from "./answer.ts";
import { requireRegistrar } from "./credit.ts";
import type { PollMessage } from "./objects.ts";
import type { Registry } from "./registry.ts";
import { findSchemaFault } from "./schema.ts";
import { type Markup, parseXml, tag, XmlRefusedError } from "./xml.ts";

/** A message for a poll queue: what a registry sends that a client may never have heard of. */
export interface MessageRequest {
  registrar: string;
  /** What people read; absent: a sentence of the registry. */
  text?: string;
  /** The content of `<resData>`, each namespace declared in it. The schemas must know the elements. */
  xml?: string;
  /** The content of `<extension>`, likewise. */
  extension?: string;
}

/**
 * Puts a message at the end of a registrar's queue and returns its id. Throws a RangeError for an unknown registrar, or
 * if no valid answer can carry the message.
 */
export async function enqueueMessage(registry: Registry, request: MessageRequest): Promise<string> {
  requireRegistrar(registry, request.registrar);
  const { registrar, text = "A message of the registry", xml, extension } = request;
  const id = String(registry.store.nextNumber());
  const message = { id, registrar, queuedAt: registry.now().toISOString(), text, xml, extension };
  const msgQ = describeQueue(1, message, true);
  const fault = findFault(response({ code: 1301, ...messageParts(message), msgQ, svTRID: "SBX-0" }));
  if (fault !== undefined) throw new RangeError(`No valid answer can carry the message: ${fault}`);
  registry.store.messages.put(message);
  await registry.store.durable();
  return id;
}

function findFault(answer: string): string | undefined {
  try {
    parseXml(answer);
  } catch (error) {
    if (error instanceof XmlRefusedError) return error.message;
    throw error;
  }
  return findSchemaFault(answer);
}

/** The queue's state beside an answer; with the head's text for `<poll op="req">`. */
export function describeQueue(count: number, head: PollMessage, withText: boolean): Markup {
  const content = withText ? [tag("qDate", {}, head.queuedAt), tag("msg", {}, head.text)] : [];
  return tag("msgQ", { count: String(count), id: head.id }, content);
}

/** What a message of the control port says in XML: as it was given. */
export function messageParts({ xml, extension }: PollMessage): { resData?: Markup; extension?: Markup[] } {
  return {
    ...(xml !== undefined && { resData: { markup: xml } }),
    ...(extension !== undefined && { extension: [{ markup: extension }] }),
  };
}
