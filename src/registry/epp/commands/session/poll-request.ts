import type { EppCommand } from "#registry/epp/command.ts";
import { commandFrame } from "#registry/epp/command.ts";
import type { TransferData } from "#registry/epp/commands/domain/transfer-data.ts";
import { findTransferData } from "#registry/epp/commands/domain/transfer-data.ts";
import { type BalanceData, findBalanceData } from "#registry/epp/commands/messages/balance-data.ts";
import { type ChangeData, findChangeData } from "#registry/epp/commands/messages/change-data.ts";
import { findNamedData, findWrappedData, type NamedData } from "#registry/epp/commands/messages/named-data.ts";
import { dataNamesOf, findToldObject, type ToldObject } from "#registry/epp/commands/messages/told-objects.ts";
import { contactNamespace, domainNamespace, eppNamespace, hostNamespace } from "#registry/epp/namespaces.ts";
import type { ResponseFrame } from "#registry/epp/response.ts";
import { findDate, getDate, parseXmlBoolean } from "#registry/epp/xml/values.ts";
import { showsContact, writeXmlToKeep } from "#registry/epp/xml/writer.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import {
  elementsOf,
  findAttribute,
  findChild,
  findText,
  getAttribute,
  getChild,
  getText,
  isElement,
  textOf,
  tolerate,
  XmlError,
} from "#registry/epp/xml/xml.ts";

/** The outcome of a pending action (RFC 5731 §3.3, and likewise RFC 5732 and RFC 5733). */
export interface PendingActionData {
  readonly object: "domain" | "contact" | "host";
  /** A domain's or host's name, a contact's id. */
  readonly name: string;
  /** True when the registry executed the action. Only this decides, never the message's text. */
  readonly paResult: boolean;
  /** The pending transaction, as in its answer 1001. */
  readonly paTRID: { readonly clTRID: string | undefined; readonly svTRID: string };
  readonly paDate: Date;
}

export interface PollMessage {
  /** The number of waiting messages, including this one; undefined where the registry does not send it. */
  readonly count: number | undefined;
  /** The id with which it is acknowledged. */
  readonly id: string;
  readonly queuedAt: Date | undefined;
  /** For people. */
  readonly text: string;
  readonly panData: PendingActionData | undefined;
  /** The status of a transfer, requested by us or from us. */
  readonly trnData: TransferData | undefined;
  /** A change that the registry has made (RFC 8590). */
  readonly changeData: ChangeData | undefined;
  readonly balance: BalanceData | undefined;
  /** The object that other data are about. */
  readonly told: ToldObject | undefined;
  /** Domains that the registry's proprietary data names, where its form is known. */
  readonly named: NamedData | undefined;
  /** All data but panData, for rules that say where names stand. Not to be kept or logged: it may have secrets. */
  readonly data: readonly XmlElement[];
  /** The names of all data but panData: "delData (http://…)". */
  readonly dataNames: readonly string[];
  /** The payload of a message without panData, as XML without credentials and personal data; undefined when there is none. */
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
  const { messageQueue, resData, extension } = response;
  const answer = findWrappedData(resData) ?? resData;
  // A message that cannot be parsed must not block the queue: it is returned as raw payload.
  const panData = tolerate(() => findPanData(answer));
  const message = findChild(messageQueue, eppNamespace, "msg");
  const parents = [resData, extension, dataInText(message)];
  const data = panData ? [] : parents.flatMap((parent) => parent?.children.filter(isElement) ?? []);
  return {
    count: findCount(messageQueue),
    id: getAttribute(messageQueue, "id"),
    queuedAt: tolerate(() => findDate(messageQueue, eppNamespace, "qDate")),
    text: message ? textOf(message).replace(/\s+/g, " ") : "",
    panData,
    trnData: tolerate(() => findTransferData(answer)),
    changeData: tolerate(() => findChangeData(extension)),
    balance: tolerate(() => findBalanceData(parents)),
    told: panData ? undefined : findToldObject({ resData: answer, extension }),
    named: findNamedData(data),
    data,
    dataNames: dataNamesOf(data),
    payload: panData ? undefined : rawPayload(parents),
  };
}

/** For people only, and optional. */
function findCount(messageQueue: XmlElement): number | undefined {
  const count = findAttribute(messageQueue, "count");
  return count !== undefined && /^\d{1,15}$/.test(count) ? Number(count) : undefined;
}

const panDataObjects = [
  { object: "domain", namespace: domainNamespace, idElement: "name" },
  { object: "contact", namespace: contactNamespace, idElement: "id" },
  { object: "host", namespace: hostNamespace, idElement: "name" },
] as const;

function findPanData(resData: XmlElement | undefined): PendingActionData | undefined {
  for (const { object, namespace, idElement } of panDataObjects) {
    const panData = findChild(resData, namespace, "panData");
    if (!panData) continue;
    const name = getChild(panData, namespace, idElement);
    const paTRID = getChild(panData, namespace, "paTRID");
    return {
      object,
      name: textOf(name),
      paResult: parseXmlBoolean(getAttribute(name, "paResult")),
      paTRID: { clTRID: findText(paTRID, eppNamespace, "clTRID"), svTRID: getText(paTRID, eppNamespace, "svTRID") },
      paDate: getDate(panData, namespace, "paDate"),
    };
  }
  return undefined;
}

/** Some servers put their data into the text; elements of EPP itself are markup there (RFC 5730 §2.6). */
function dataInText(message: XmlElement | undefined): XmlElement | undefined {
  if (!message) return undefined;
  return {
    ...message,
    children: message.children.filter(isElement).filter((child) => child.namespace !== eppNamespace),
  };
}

function rawPayload(parents: readonly (XmlElement | undefined)[]): string | undefined {
  const [resData, extension, data] = parents;
  const parts = [resData, extension, ...(data?.children.filter(isElement) ?? [])].filter((part) => part !== undefined);
  const isAboutContact = showsContact(resData);
  return parts.length > 0 ? parts.map((part) => writeXmlToKeep(part, isAboutContact)).join("") : undefined;
}
