/**
 * A small namespace-aware tree over saxes. Elements are found by namespace and local name, never by prefix or order. Attributes
 * in a namespace (xsi:schemaLocation, xml:lang) are dropped: they have no meaning in EPP's schemas. A DOCTYPE is refused, so
 * the only entities are XML's predefined five.
 */
import { SaxesParser } from "saxes";
import type { Secret } from "#lib/secret.ts";

export const xmlDepthMax = 64;
export const xmlElementsMax = 20_000;
/** Of one element, including namespace declarations: some servers declare all that they know on the root. */
const elementAttributesMax = 64;
/** Of the whole document. */
export const xmlAttributesMax = 20_000;
/** Of the whole document: some servers repeat them on every element, and an answer has fewer than 100. */
export const xmlNamespacesMax = 500;

/** XML that is sent as it is: one or more elements that declare all of their namespaces. */
export class VerbatimXml {
  readonly xml: string;
  constructor(xml: string) {
    this.xml = xml;
  }
}

/** Secrets and verbatim XML occur only in the frames that we send; parsed trees contain text. */
export type XmlNode = XmlElement | string | Secret | VerbatimXml;

export interface XmlElement {
  readonly namespace: string;
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly XmlNode[];
}

const messageCharsMax = 200;

/** The text is not XML that we accept, or lacks a required part. Quotations in the message are truncated. */
export class XmlError extends Error {
  override name = "XmlError";
  constructor(message: string) {
    super(message.slice(0, messageCharsMax));
  }
}

/**
 * Parses one document, already decoded from UTF-8, and returns its root.
 * @throws XmlError when it is malformed, has a DOCTYPE, or exceeds a limit
 */
export function parseXml(text: string): XmlElement {
  const parser = new SaxesParser({ xmlns: true, position: false, defaultXMLVersion: "1.0", forceXMLVersion: true });
  const open: (XmlElement & { children: XmlNode[] })[] = [];
  let root: XmlElement | undefined;
  const counted = { elements: 0, attributesOfElement: 0, attributes: 0, namespaces: 0 };

  parser.on("error", (error) => {
    throw new XmlError(error.message);
  });
  parser.on("xmldecl", ({ encoding }) => {
    if (encoding !== undefined && !/^(utf-?8|us-ascii)$/i.test(encoding))
      throw new XmlError("the encoding is not UTF-8");
  });
  parser.on("doctype", () => {
    throw new XmlError("a DOCTYPE is not allowed");
  });
  // Counted while parsing: saxes reports an element only after it has stored all of its attributes.
  parser.on("opentagstart", () => {
    counted.attributesOfElement = 0;
    counted.elements += 1;
    if (open.length >= xmlDepthMax) throw new XmlError(`elements are nested deeper than ${xmlDepthMax}`);
    if (counted.elements > xmlElementsMax) throw new XmlError(`more than ${xmlElementsMax} elements`);
  });
  parser.on("attribute", ({ name, prefix }) => {
    counted.attributesOfElement += 1;
    counted.attributes += 1;
    if (name === "xmlns" || prefix === "xmlns") counted.namespaces += 1;
    const { attributes, attributesOfElement, namespaces } = counted;
    if (attributesOfElement > elementAttributesMax) throw new XmlError(`more than ${elementAttributesMax} attributes`);
    if (attributes > xmlAttributesMax) throw new XmlError(`more than ${xmlAttributesMax} attributes in all`);
    if (namespaces > xmlNamespacesMax) throw new XmlError(`more than ${xmlNamespacesMax} namespaces`);
  });
  parser.on("opentag", (tag) => {
    const plain = Object.values(tag.attributes).filter((attribute) => attribute.uri === "");
    const element = {
      namespace: tag.uri,
      name: tag.local,
      attributes: new Map(plain.map((attribute) => [attribute.local, attribute.value])),
      children: [],
    };
    open.at(-1)?.children.push(element);
    open.push(element);
    root ??= element;
  });
  parser.on("closetag", () => open.pop());
  // Adjacent text is joined across CDATA and comments, so that a search in it finds everything.
  const addText = (chars: string) => {
    const siblings = open.at(-1)?.children;
    const last = siblings?.at(-1);
    if (typeof last === "string") siblings?.splice(-1, 1, last + chars);
    else siblings?.push(chars);
  };
  parser.on("text", addText);
  parser.on("cdata", addText);
  parser.write(text).close();

  if (!root) throw new XmlError("the document is empty");
  return root;
}

/** Makes elements of one namespace: `domain("name", ["example.com"])`. Undefined children are omitted. */
export function elementsOf(namespace: string) {
  return (
    name: string,
    children: readonly (XmlNode | undefined)[],
    attributes: Readonly<Record<string, string>> = {},
  ): XmlElement => ({
    namespace,
    name,
    attributes: new Map(Object.entries(attributes)),
    children: children.filter((child) => child !== undefined),
  });
}

/** The result of `parse`, or undefined on an XmlError: for optional data whose errors must not discard the answer. */
export function tolerate<Value>(parse: () => Value): Value | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof XmlError) return undefined;
    throw error;
  }
}

/** Makes optional leaves: `optionalOf(contact)("fax", undefined)` is undefined. */
export function optionalOf(element: ReturnType<typeof elementsOf>) {
  return (name: string, content: string | Secret | undefined): XmlElement | undefined =>
    content === undefined ? undefined : element(name, [content]);
}

/** Whether the node is an element and not a text or secret. */
export function isElement(node: XmlNode): node is XmlElement {
  return typeof node === "object" && "namespace" in node;
}

/** The children with this name, in document order. */
export function findChildren(parent: XmlElement, namespace: string, name: string): XmlElement[] {
  return parent.children.filter(isElement).filter((child) => child.namespace === namespace && child.name === name);
}

/** The first child with this name, if any. */
export function findChild(parent: XmlElement | undefined, namespace: string, name: string): XmlElement | undefined {
  return parent && findChildren(parent, namespace, name)[0];
}

/** The first child with this name. @throws XmlError when there is none */
export function getChild(parent: XmlElement | undefined, namespace: string, name: string): XmlElement {
  const child = findChild(parent, namespace, name);
  if (!child) throw new XmlError(`<${name}> is missing in <${parent?.name ?? "nothing"}>`);
  return child;
}

/** The element's direct text without the white space around it (EPP's texts are tokens: RFC 5730 §2.1 "formatted" frames). */
export function textOf(element: XmlElement): string {
  return element.children
    .filter((child) => typeof child === "string")
    .join("")
    .trim();
}

/** The text of the first child with this name; undefined when the child is absent or empty. */
export function findText(parent: XmlElement | undefined, namespace: string, name: string): string | undefined {
  const child = findChild(parent, namespace, name);
  return child && (textOf(child) || undefined);
}

/** The text of the first child with this name. @throws XmlError when there is no such child or it is empty */
export function getText(parent: XmlElement | undefined, namespace: string, name: string): string {
  const text = textOf(getChild(parent, namespace, name));
  if (!text) throw new XmlError(`<${name}> is empty`);
  return text;
}

/** The attribute without the white space around it; undefined when it is absent. */
export function findAttribute(element: XmlElement, name: string): string | undefined {
  return element.attributes.get(name)?.trim();
}

/** @throws XmlError when the element lacks the attribute */
export function getAttribute(element: XmlElement, name: string): string {
  const value = findAttribute(element, name);
  if (value === undefined) throw new XmlError(`<${element.name}> lacks ${name}`);
  return value;
}
