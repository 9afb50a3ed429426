import type { EppCommand } from "#registry/epp/command.ts";
import { commandFrame } from "#registry/epp/command.ts";
import { eppNamespace } from "#registry/epp/namespaces.ts";
import { elementsOf } from "#registry/epp/xml/xml.ts";

/** RFC 5730 §2.9.2.3: removes the message from the queue. Safe to repeat: 2303 means that it was already removed. */
export function pollAck(messageId: string): EppCommand<undefined> {
  const verb = elementsOf(eppNamespace)("poll", [], { op: "ack", msgID: messageId });
  return { name: "poll:ack", kind: "query", frame: (clTRID) => commandFrame(verb, clTRID), parse: () => undefined };
}
