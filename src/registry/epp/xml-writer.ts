import { eppNamespace } from "./namespaces.ts";
import { hiddenText, hideSecrets } from "./redaction.ts";
import type { XmlElement, XmlNode } from "./xml.ts";
import { isElement } from "./xml.ts";

/** Whatever the namespace: over-redacting a log costs nothing. Covers RFC 5730, 5731, 5733 and 8807. */
const credentialElements: ReadonlySet<string> = new Set(["pw", "newPW", "authInfo"]);

/** The document as it goes over the wire, secrets revealed: for the socket only. @throws Error on what XML can't carry */
export function writeXml(root: XmlElement): string {
  return `<?xml version="1.0" encoding="UTF-8"?>${writeElement(root, emptyScope, undefined)}`;
}

/**
 * The element as logs and the database may see it: passwords and authInfo read `[secret]`.
 * @param secrets what is to be hidden wherever it stands, because it may be echoed
 */
export function writeXmlRedacted(root: XmlElement, secrets: readonly string[] = []): string {
  return writeElement(root, emptyScope, secrets);
}

/** Prefix → namespace, as bound around an element. */
type Scope = ReadonlyMap<string, string>;

const emptyScope: Scope = new Map([["", ""]]);

/** Undefined: nothing is hidden. */
type Hidden = readonly string[] | undefined;

function writeElement(element: XmlElement, scope: Scope, hidden: Hidden): string {
  const prefix = prefixOf(element.namespace);
  const tag = prefix ? `${prefix}:${element.name}` : element.name;
  const isBound = scope.get(prefix) === element.namespace;
  const inner = isBound ? scope : new Map(scope).set(prefix, element.namespace);
  const binding = isBound ? "" : ` ${prefix ? `xmlns:${prefix}` : "xmlns"}="${escapeXml(element.namespace)}"`;
  const attributes = [...element.attributes].map(([name, value]) => ` ${name}="${writeText(value, hidden)}"`).join("");
  const isHidden = hidden && credentialElements.has(element.name);
  const content = isHidden ? hiddenText : element.children.map((child) => writeNode(child, inner, hidden)).join("");
  return content ? `<${tag}${binding}${attributes}>${content}</${tag}>` : `<${tag}${binding}${attributes}/>`;
}

function writeNode(node: XmlNode, scope: Scope, hidden: Hidden): string {
  if (typeof node === "string") return writeText(node, hidden);
  if (isElement(node)) return writeElement(node, scope, hidden);
  return hidden ? hiddenText : escapeXml(node.reveal());
}

function writeText(text: string, hidden: Hidden): string {
  return escapeXml(hidden ? hideSecrets(text, hidden) : text);
}

/** "urn:ietf:params:xml:ns:domain-1.0" → "domain": the RFCs' own prefixes, which some registries' servers insist on. */
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
 * Text made safe between tags and inside double quotes.
 * @throws Error on characters that XML 1.0 §2.2 can't carry: the caller should have refused them long before
 */
function escapeXml(text: string): string {
  if (/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/.test(text) || !text.isWellFormed()) {
    throw new Error("the text holds a character that XML can't carry");
  }
  return text.replace(/[&<>"\t\n\r]/g, (char) => escapes[char] as string);
}
