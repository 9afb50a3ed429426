import { SaxesParser } from "saxes";

/** An element as EPP needs it: its name, its attributes without a namespace, its child elements, its direct text. */
export interface XmlElement {
  uri: string;
  local: string;
  attributes: Record<string, string>;
  children: XmlElement[];
  text: string;
}

/** The text is not XML that EPP allows: malformed, not UTF-8, or with a document type. */
export class XmlRefusedError extends Error {}

const depthMax = 64;
const elementsMax = 20_000;
/** Including namespace declarations. */
const attributesMax = 20_000;
const elementAttributesMax = 64;
/** In the whole document. */
const namespacesMax = 500;

/**
 * Parses a document by namespace. Refuses a document type, because EPP needs none and its entities are a known attack, and
 * any encoding but UTF-8, because the frame was decoded as UTF-8.
 */
export function parseXml(text: string): XmlElement {
  const parser = new SaxesParser({ xmlns: true });
  const open: XmlElement[] = [];
  let root: XmlElement | undefined;
  parser.on("error", (error) => {
    throw new XmlRefusedError(error.message);
  });
  parser.on("doctype", () => {
    throw new XmlRefusedError("a document type declaration is not allowed");
  });
  parser.on("xmldecl", ({ encoding }) => {
    if (encoding && encoding.toLowerCase() !== "utf-8")
      throw new XmlRefusedError(`encoding ${encoding} is not supported`);
  });
  boundCost(parser, () => open.length);
  parser.on("opentag", (tag) => {
    const attributes: Record<string, string> = {};
    for (const attribute of Object.values(tag.attributes)) {
      if (attribute.uri === "") attributes[attribute.local] = attribute.value;
    }
    const element: XmlElement = { uri: tag.uri, local: tag.local, attributes, children: [], text: "" };
    open.at(-1)?.children.push(element);
    root ??= element;
    open.push(element);
  });
  parser.on("closetag", () => {
    open.pop();
  });
  const addText = (part: string) => {
    const parent = open.at(-1);
    if (parent) parent.text += part;
  };
  parser.on("text", addText);
  parser.on("cdata", addText);
  parser.write(text).close();
  if (!root) throw new XmlRefusedError("no element");
  return root;
}

/** Counts while a start tag is read, because its event comes after all of it is in memory. */
function boundCost(parser: SaxesParser<{ xmlns: true }>, depth: () => number): void {
  let [elements, attributes, ofElement, namespaces] = [0, 0, 0, 0];
  const bound = (count: number, max: number, what: string) => {
    if (count > max) throw new XmlRefusedError(`more than ${max} ${what}`);
  };
  parser.on("opentagstart", () => {
    ofElement = 0;
    if (depth() >= depthMax) throw new XmlRefusedError(`elements nest deeper than ${depthMax}`);
    bound(++elements, elementsMax, "elements");
  });
  parser.on("attribute", ({ name, prefix }) => {
    bound(++ofElement, elementAttributesMax, "attributes in one element");
    bound(++attributes, attributesMax, "attributes");
    if (name === "xmlns" || prefix === "xmlns") bound(++namespaces, namespacesMax, "namespace declarations");
  });
}

/** The first child of that name in its parent's namespace (or in `uri`), if there is one. */
export function findChild(parent: XmlElement, local: string, uri = parent.uri): XmlElement | undefined {
  return parent.children.find((child) => child.local === local && child.uri === uri);
}

/** All children of that name in their parent's namespace. */
export function childrenOf(parent: XmlElement, local: string): XmlElement[] {
  return parent.children.filter((child) => child.local === local && child.uri === parent.uri);
}

/** An element's text as XML Schema's `token`: white space collapsed. */
export function tokenOf(element: XmlElement): string {
  return element.text.replace(/[ \t\r\n]+/g, " ").replace(/^ | $/g, "");
}

/** The `token` text of a child that the schema requires. */
export function childToken(parent: XmlElement, local: string): string {
  const child = findChild(parent, local);
  if (!child) throw new Error(`<${parent.local}> passed the schema without <${local}>`);
  return tokenOf(child);
}

/** The text of an optional child as XML Schema's `normalizedString`: every white-space character is a space. */
export function findChildText(parent: XmlElement, local: string): string | undefined {
  return findChild(parent, local)?.text.replace(/[\t\r\n]/g, " ");
}

/** Finished XML; a string is text that is not escaped yet. */
export interface Markup {
  readonly markup: string;
}

export type Content = Markup | string | Content[];

function escapeText(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}

function render(content: Content): string {
  if (Array.isArray(content)) return content.map(render).join("");
  return typeof content === "string" ? escapeText(content) : content.markup;
}

/** An element: `tag("domain:name", { avail: "1" }, name)`. Attributes without a value are left out. */
export function tag(name: string, attributes: Record<string, string | undefined> = {}, ...content: Content[]): Markup {
  const pairs = Object.entries(attributes).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const start = name + pairs.map(([key, value]) => ` ${key}="${escapeText(value)}"`).join("");
  const inner = render(content);
  return { markup: inner === "" ? `<${start}/>` : `<${start}>${inner}</${name}>` };
}

/** An element, or undefined without a value. */
export function optionalTag(name: string, value: string | undefined): Content {
  return value === undefined ? [] : tag(name, {}, value);
}
