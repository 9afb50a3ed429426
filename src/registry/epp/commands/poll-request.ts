import type { EppCommand } from "../command.ts";
import { commandFrame } from "../command.ts";
import { domainNamespace, eppNamespace } from "../namespaces.ts";
import type { ResponseFrame } from "../response.ts";
import type { XmlElement } from "../xml.ts";
import { elementsOf, findChild, findText, getAttribute, getChild, getText, textOf, XmlError } from "../xml.ts";
import { parseXmlBoolean, parseXmlDate } from "../xml-values.ts";
import { writeXmlRedacted } from "../xml-writer.ts";

/** The outcome of a pending action on a domain (RFC 5731 §3.3). */
export interface DomainPendingActionData {
  readonly name: string;
  /** True when the registry did what was pending. Only this decides, never the message's text. */
  readonly paResult: boolean;
  /** The transaction that was pending, as it was answered with 1001. */
  readonly paTRID: { readonly clTRID: string | undefined; readonly svTRID: string };
  readonly paDate: Date;
}

export interface PollMessage {
  /** Messages waiting, this one included. */
  readonly count: number;
  /** What acknowledges it. */
  readonly id: string;
  readonly queuedAt: Date | undefined;
  /** For people. */
  readonly text: string;
  readonly panData: DomainPendingActionData | undefined;
  /** What came instead of a domain's panData, as XML without credentials; undefined when nothing came. */
  readonly payload: string | undefined;
}

const epp = elementsOf(eppNamespace);

/** RFC 5730 §2.9.2.3: the oldest message (1301), which stays until acknowledged; no data when there is none (1300). */
export function pollRequest(): EppCommand<PollMessage> {
  return {
    name: "poll:req",
    kind: "query",
    frame: (clTRID) => commandFrame(epp("poll", [], { op: "req" }), clTRID),
    parse: (_resData, response) => (response.code === 1301 ? parseMessage(response) : undefined),
  };
}

function parseMessage(response: ResponseFrame): PollMessage {
  if (!response.messageQueue) throw new XmlError("<msgQ> is missing in <response>");
  const panData = tolerate(() => parsePanData(response.resData));
  const message = findChild(response.messageQueue, eppNamespace, "msg");
  const queueDate = findText(response.messageQueue, eppNamespace, "qDate");
  return {
    count: parseCount(response.messageQueue),
    id: getAttribute(response.messageQueue, "id"),
    queuedAt: queueDate === undefined ? undefined : tolerate(() => parseXmlDate(queueDate)),
    text: message ? textOf(message) : "",
    panData,
    payload: panData ? undefined : rawPayload(response),
  };
}

function parseCount(messageQueue: XmlElement): number {
  const count = Number(getAttribute(messageQueue, "count"));
  if (!Number.isSafeInteger(count) || count < 0) throw new XmlError("the message count is not a number");
  return count;
}

/** A message that can't be understood must not block the queue behind it: it is handed on as raw payload. */
function tolerate<Value>(parse: () => Value): Value | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof XmlError) return undefined;
    throw error;
  }
}

function parsePanData(resData: XmlElement | undefined): DomainPendingActionData {
  const panData = getChild(resData, domainNamespace, "panData");
  const name = getChild(panData, domainNamespace, "name");
  const paTRID = getChild(panData, domainNamespace, "paTRID");
  return {
    name: textOf(name),
    paResult: parseXmlBoolean(getAttribute(name, "paResult")),
    paTRID: { clTRID: findText(paTRID, eppNamespace, "clTRID"), svTRID: getText(paTRID, eppNamespace, "svTRID") },
    paDate: parseXmlDate(getText(panData, domainNamespace, "paDate")),
  };
}

function rawPayload({ resData, extension }: ResponseFrame): string | undefined {
  const parts = [resData, extension].filter((part) => part !== undefined);
  return parts.length > 0 ? parts.map(writeXmlRedacted).join("") : undefined;
}
