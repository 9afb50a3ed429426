import { transactionIds } from "../answer.ts";
import { describeQueue, messageParts, rawAnswer } from "../messages.ts";
import { contactUri, domainUri, hostUri } from "../namespaces.ts";
import type { PollMessage } from "../objects.ts";
import type { CommandHandler, Registry } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { type Markup, tag } from "../xml.ts";

/**
 * RFC 5730 §2.9.2.3: req shows the oldest message until its id is acknowledged. An id that is not in the queue is 2303. One that
 * is not at the head was never shown: 2308.
 */
export const poll: CommandHandler = ({ registry, session, registrar, element, clTRID, svTRID }) => {
  const queue = queueOf(registry, registrar);
  if (element.attributes.op === "req") {
    const [head] = queue;
    if (!head) return { code: 1300 };
    const resData = pendingActionData(head);
    return {
      code: 1301,
      msgQ: describeQueue(queue.length, head, true),
      resData,
      ...messageParts(head, session.services),
      instead: rawAnswer(head, clTRID, svTRID),
    };
  }
  const id = element.attributes.msgID;
  if (id === undefined) throw new Refusal(2003, "ack needs msgID");
  if (!queue.some((message) => message.id === id)) throw new Refusal(2303, "no such message");
  if (queue[0]?.id !== id) throw new Refusal(2308, "only the oldest message can be acknowledged");
  registry.store.messages.delete(id);
  const [next] = queueOf(registry, registrar);
  return next ? { code: 1000, msgQ: describeQueue(queue.length - 1, next, false) } : { code: 1000 };
};

function queueOf(registry: Registry, registrar: string): PollMessage[] {
  return registry.store.messages.values().filter((message) => message.registrar === registrar);
}

function pendingActionData(message: PollMessage): Markup | undefined {
  if (message.approved === undefined || message.svTRID === undefined || message.name === undefined) return undefined;
  const { object = "domain" } = message;
  return tag(
    `${object}:panData`,
    { [`xmlns:${object}`]: { domain: domainUri, host: hostUri, contact: contactUri }[object] },
    tag(`${object}:${object === "contact" ? "id" : "name"}`, { paResult: message.approved ? "1" : "0" }, message.name),
    transactionIds(`${object}:paTRID`, message.clTRID, message.svTRID),
    tag(`${object}:paDate`, {}, message.queuedAt),
  );
}
