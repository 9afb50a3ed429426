import { response } from "./answer.ts";
import { requireRegistrar } from "./credit.ts";
import type { PollMessage } from "./objects.ts";
import type { Registry } from "./registry.ts";
import { findSchemaFault } from "./schema.ts";
import { type Markup, parseXml, tag, XmlRefusedError } from "./xml.ts";

/** A message for a poll queue, also of a kind that a client does not know. */
export interface MessageRequest {
  registrar: string;
  /** The text for people; absent: a default sentence. */
  text?: string;
  /** The content of `<resData>`, with declarations of its namespaces. The schemas must define the elements. */
  xml?: string;
  /** The content of `<extension>`, likewise. */
  extension?: string;
  /**
   * In place of the whole answer, whatever it is: `$id`, `$clTRID` and `$svTRID` in it become those of the answer, and `padBytes`
   * spaces follow it. Nothing is checked.
   */
  raw?: string;
  padBytes?: number;
}

/**
 * Adds a message to the end of a registrar's queue.
 *
 * @returns its id
 * @throws RangeError for an unknown registrar, or when no valid answer can contain the message
 */
export async function enqueueMessage(registry: Registry, request: MessageRequest): Promise<string> {
  requireRegistrar(registry, request.registrar);
  const { registrar, text = "A message from the registry", xml, extension, raw, padBytes } = request;
  if (raw !== undefined && (xml ?? extension) !== undefined)
    throw new RangeError("raw has xml and extension in itself.");
  if (padBytes !== undefined && raw === undefined) throw new RangeError("padBytes belongs to raw.");
  const id = String(registry.store.nextNumber());
  const message = { id, registrar, queuedAt: registry.now().toISOString(), text, xml, extension, raw, padBytes };
  const msgQ = describeQueue(1, message, true);
  const fault = findAnswerFault(response({ code: 1301, ...messageParts(message), msgQ, svTRID: "SBX-0" }));
  if (fault !== undefined) throw new RangeError(`No valid answer can contain the message: ${fault}`);
  registry.store.messages.put(message);
  await registry.store.durable();
  return id;
}

/** Why no client could read the answer; undefined if it is valid. */
export function findAnswerFault(answer: string): string | undefined {
  try {
    parseXml(answer);
  } catch (error) {
    if (error instanceof XmlRefusedError) return error.message;
    throw error;
  }
  return findSchemaFault(answer);
}

/** The queue's state for an answer; with the text of the first message for `<poll op="req">`. */
export function describeQueue(count: number, head: PollMessage, withText: boolean): Markup {
  const content = withText ? [tag("qDate", {}, head.queuedAt), tag("msg", {}, head.text)] : [];
  return tag("msgQ", { count: String(count), id: head.id }, content);
}

/** The XML of a message, unchanged, for a client that requested these services. */
export function messageParts(
  { xml, xmlUri, extension, extensionUri }: PollMessage,
  services?: ReadonlySet<string>,
): { resData?: Markup; extension?: Markup[] } {
  const isUnderstood = (uri: string | undefined) => uri === undefined || services === undefined || services.has(uri);
  return {
    ...(xml !== undefined && isUnderstood(xmlUri) && { resData: { markup: xml } }),
    ...(extension !== undefined && isUnderstood(extensionUri) && { extension: [{ markup: extension }] }),
  };
}

/** The answer that a message prescribes, if it does. */
export function rawAnswer({ id, raw, padBytes = 0 }: PollMessage, clTRID = "", svTRID = ""): string | undefined {
  const parts: Readonly<Record<string, string>> = { $id: id, $clTRID: clTRID, $svTRID: svTRID };
  const written = raw?.replace(/\$(?:id|clTRID|svTRID)\b/g, (part) => parts[part] ?? part);
  return written === undefined ? undefined : written + " ".repeat(padBytes);
}
