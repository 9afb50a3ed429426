import { contactNamespace, domainNamespace, eppNamespace, hostNamespace } from "#registry/epp/namespaces.ts";
import { hiddenText, hideSecrets } from "#registry/epp/redaction.ts";
import type { XmlElement, XmlNode } from "#registry/epp/xml/xml.ts";
import { findChild, isElement, VerbatimXml } from "#registry/epp/xml/xml.ts";

/** In any namespace: redacting too much costs nothing. Covers RFC 5730, 5731, 5733, 8495 and 8807. */
const credentialElements: ReadonlySet<string> = new Set(["pw", "newPW", "authInfo", "allocationToken"]);

/** The elements of a contact that identify a person (RFC 5733 §3.1.2). */
const personElements: ReadonlySet<string> = new Set([
  "name",
  "org",
  "street",
  "city",
  "sp",
  "pc",
  "voice",
  "fax",
  "email",
  "vat",
  "whoisEmail",
]);

/** The document with its secrets, for the socket only. @throws Error on characters that XML cannot contain */
export function writeXml(root: XmlElement): string {
  return `<?xml version="1.0" encoding="UTF-8"?>${writeElement(root, nothingAround, undefined)}`;
}

/**
 * The element for logs and the database: passwords, authInfo and what a registry shows of people are replaced with `[secret]`.
 * @param secrets replaced wherever they appear, because they may be echoed
 */
export function writeXmlRedacted(root: XmlElement, secrets: readonly string[] = []): string {
  return writeElement(root, nothingAround, secrets);
}

/** Whether this part of an answer shows a contact. */
export const showsContact = (resData: XmlElement | undefined): boolean =>
  findChild(resData, contactNamespace, "infData") !== undefined;

/**
 * A part of a registry's message for the database: what identifies a person becomes `[secret]` in every object but a name's.
 * @param isAboutContact the message shows a contact
 */
export function writeXmlToKeep(part: XmlElement, isAboutContact = false): string {
  return writeElement(part, { ...nothingAround, isAboutContact, hidesPeople: true }, []);
}

/** The context of an element: the namespace and prefix of its parent, which it often shares, and all bound prefixes. */
interface Surroundings {
  readonly namespace: string;
  readonly prefix: string;
  /** Prefix → namespace. */
  readonly bound: ReadonlyMap<string, string>;
  /** Inside what a registry shows of a contact. */
  readonly isShownContact: boolean;
  /** In an answer that shows a contact: a registry's proprietary extension may say more about it (contact-fields.ts). */
  readonly isAboutContact: boolean;
  /** Whether people are hidden elsewhere too. */
  readonly hidesPeople: boolean;
}

const nothingAround: Surroundings = {
  namespace: "",
  prefix: "",
  bound: new Map([["", ""]]),
  isShownContact: false,
  isAboutContact: false,
  hidesPeople: false,
};

/** None of the RFCs' extensions identifies a person. */
const rfcNamespace = /^urn:ietf:params:xml:ns:/;

/** Undefined: nothing is redacted. */
type Hidden = readonly string[] | undefined;

function writeElement(element: XmlElement, around: Surroundings, hidden: Hidden): string {
  const { namespace } = element;
  // Also in a registry's proprietary extension about contacts.
  const isInfo = element.name === "infData" && (namespace === contactNamespace || /\bcontact-ext-/.test(namespace));
  const entered = namespace === around.namespace ? around : enter(namespace, around);
  const isShownContact = around.isShownContact || isInfo;
  const isAboutContact = around.isAboutContact || isAnswerAboutContact(element);
  const inner = { ...entered, isShownContact, isAboutContact };
  const tag = inner.prefix ? `${inner.prefix}:${element.name}` : element.name;
  let start = `<${tag}`;
  if (inner.bound !== around.bound) {
    start += ` ${inner.prefix ? `xmlns:${inner.prefix}` : "xmlns"}="${escapeXml(namespace)}"`;
  }
  const isForeign = hidden !== undefined && isAboutContact && !rfcNamespace.test(namespace);
  for (const [name, value] of element.attributes) {
    start += ` ${name}="${isForeign ? hiddenText : writeText(value, hidden)}"`;
  }
  let content = "";
  const isPerson = personElements.has(element.name) && (around.isShownContact || mayBePerson(element, around));
  if (hidden && (isPerson || credentialElements.has(element.name))) content = hiddenText;
  else
    for (const child of element.children)
      content += isForeign ? hideText(child, inner, hidden) : writeNode(child, inner, hidden);
  return content ? `${start}>${content}</${tag}>` : `${start}/>`;
}

const isAnswerAboutContact = (element: XmlElement) =>
  element.name === "response" && showsContact(findChild(element, eppNamespace, "resData"));

/** The node of an element whose every text may be about a person. */
function hideText(node: XmlNode, around: Surroundings, hidden: Hidden): string {
  if (typeof node === "string") return node.trim() === "" ? "" : hiddenText;
  return writeNode(node, around, hidden);
}

/** A `<name>` is mostly that of a domain or a host. */
function mayBePerson({ namespace, name }: XmlElement, { hidesPeople }: Surroundings): boolean {
  return hidesPeople && name !== "name" && ![domainNamespace, hostNamespace].includes(namespace);
}

function enter(namespace: string, around: Surroundings): Surroundings {
  const prefix = prefixOf(namespace);
  const { bound } = around;
  const isBound = bound.get(prefix) === namespace;
  return { ...around, namespace, prefix, bound: isBound ? bound : new Map(bound).set(prefix, namespace) };
}

function writeNode(node: XmlNode, around: Surroundings, hidden: Hidden): string {
  if (typeof node === "string") return writeText(node, hidden);
  if (isElement(node)) return writeElement(node, around, hidden);
  if (node instanceof VerbatimXml) return hidden ? hideSecrets(node.xml, hidden) : node.xml;
  return hidden ? hiddenText : escapeXml(node.reveal());
}

function writeText(text: string, hidden: Hidden): string {
  return escapeXml(hidden ? hideSecrets(text, hidden) : text);
}

/** "urn:ietf:params:xml:ns:domain-1.0" → "domain": the RFCs' prefixes, which some registries' servers require. */
function prefixOf(namespace: string): string {
  if (namespace === eppNamespace || namespace === "") return "";
  const name = /([a-z][a-z0-9]*)-\d[\d.]*$/i.exec(namespace)?.[1];
  return name && !/^xml/i.test(name) ? name : "ns";
}

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\t": "&#x9;",
  "\n": "&#xA;",
  "\r": "&#xD;",
};

/**
 * Escapes text for use between tags and inside double quotes.
 * @throws Error on characters that XML 1.0 §2.2 does not allow: callers must refuse them earlier
 */
function escapeXml(text: string): string {
  if (/^[ !#-%'-;=?-~]*$/.test(text)) return text;
  if (/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/.test(text) || !text.isWellFormed()) {
    throw new Error("the text contains a character that XML does not allow");
  }
  return text.replace(/[&<>"\t\n\r]/g, (char) => escapes[char] as string);
}
