import { eppUri, extensionNames, objectNames } from "./namespaces.ts";
import { parseXml, type XmlElement } from "./xml.ts";

/**
 * Writes the same answer in other XML: a client that reads by namespace does not see a difference, one that searches in text
 * does. All styles but `disordered` are valid against the schemas, and are checked.
 */

/**
 *  - prefixed: every element has a prefix, but not the usual one
 *  - unprefixed: no prefixes; each namespace is declared as the default one
 *  - reordered: repeated elements and attributes in reverse order, which is all that the schemas leave open
 *  - disordered: the children of every element in reverse order too, which no schema allows
 *  - comments: between elements and in the middle of texts
 *  - cdata: every text is a CDATA section
 *  - pretty: indented, with Windows line ends
 *  - bom: a byte order mark first
 *  - encoding: the XML declaration says US-ASCII in single quotes, and other characters are references
 *  - undeclared: no XML declaration
 */
export const styleNames = [
  "prefixed",
  "unprefixed",
  "reordered",
  "disordered",
  "comments",
  "cdata",
  "pretty",
  "bom",
  "encoding",
  "undeclared",
] as const;

export type Style = (typeof styleNames)[number];

const usualPrefixes: Record<string, string> = { ...objectNames, ...extensionNames, [eppUri]: "" };
const declaration = '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n';
const asciiDeclaration = "<?xml version='1.0' encoding='US-ASCII'?>\n";

/** Writes a valid frame in these styles. */
export function restyle(xml: string, styles: readonly Style[]): string {
  if (styles.length === 0) return xml;
  const has = (style: Style) => styles.includes(style);
  const root = parseXml(xml);
  if (has("reordered") || has("disordered")) reorder(root, has("disordered"));
  const body = new Writer(styles).write(root);
  const declared = has("encoding") ? asciiDeclaration : has("undeclared") ? "" : declaration;
  return `${has("bom") ? "\uFEFF" : ""}${declared}${body}`;
}

function reorder(element: XmlElement, isDisordered: boolean): void {
  element.attributes = Object.fromEntries(Object.entries(element.attributes).reverse());
  for (const child of element.children) reorder(child, isDisordered);
  if (isDisordered) element.children.reverse();
  else reverseRuns(element.children);
}

/** Reverses each run of siblings with the same name, except the lines of an address, whose order matters. */
function reverseRuns(siblings: XmlElement[]): void {
  for (let start = 0, end = 0; start < siblings.length; start = end) {
    const first = siblings[start]!;
    while (siblings[end]?.local === first.local && siblings[end]?.uri === first.uri) end += 1;
    if (first.local !== "street") siblings.splice(start, end - start, ...siblings.slice(start, end).reverse());
  }
}

class Writer {
  readonly #styles: readonly Style[];
  readonly #prefixes = new Map<string, string>();

  constructor(styles: readonly Style[]) {
    this.#styles = styles;
  }

  write(element: XmlElement, parentUri?: string, scope: readonly string[] = [], depth = 0): string {
    const { uri, local, attributes, children } = element;
    const prefix = this.#prefixOf(uri);
    // A prefix is declared where it is first used; the default namespace wherever it changes.
    const isDeclared = prefix === "" ? uri === parentUri : scope.includes(uri);
    const declared = isDeclared ? [] : [[prefix === "" ? "xmlns" : `xmlns:${prefix}`, uri]];
    const pairs = [...declared, ...Object.entries(attributes)].map(
      ([key, value]) => ` ${key}="${this.#escaped(value!)}"`,
    );
    const name = prefix === "" ? local : `${prefix}:${local}`;
    const defaultUri = prefix === "" ? uri : parentUri;
    const inner = children.map((child) => this.write(child, defaultUri, [...scope, uri], depth + 1));
    const content = inner.length > 0 ? this.#between(inner, depth) : this.#text(element.text);
    return `<${name}${pairs.join("")}>${content}</${name}>`;
  }

  #prefixOf(uri: string): string {
    if (this.#has("unprefixed")) return "";
    if (!this.#has("prefixed")) return usualPrefixes[uri] ?? this.#numbered(uri, "x");
    return uri === eppUri ? "epp" : this.#numbered(uri, "ns-_.");
  }

  #numbered(uri: string, beginning: string): string {
    const prefix = this.#prefixes.get(uri) ?? `${beginning}${this.#prefixes.size + 1}`;
    this.#prefixes.set(uri, prefix);
    return prefix;
  }

  #between(inner: string[], depth: number): string {
    const gap = this.#has("pretty") ? `\r\n${"  ".repeat(depth + 1)}` : "";
    const end = this.#has("pretty") ? `\r\n${"  ".repeat(depth)}` : "";
    const comment = this.#has("comments") ? '<!-- <result code="2400"/> -->' : "";
    return inner.map((child) => gap + comment + child).join("") + end;
  }

  #text(text: string): string {
    if (text === "") return "";
    const characters = [...text];
    const half = Math.ceil(characters.length / 2);
    const halves = [characters.slice(0, half).join(""), characters.slice(half).join("")];
    const parts = this.#has("comments") ? halves : [text];
    const write = (part: string) => (this.#has("cdata") ? this.#cdata(part) : this.#escaped(part));
    return parts
      .filter((part) => part !== "")
      .map(write)
      .join("<!-- 2400 -->");
  }

  /** A CDATA section cannot contain references, so it is closed for each of them. */
  #cdata(text: string): string {
    const kept = text.replaceAll("]]>", "]]]]><![CDATA[>");
    const ascii = kept.replace(beyondAscii, (character) => `]]>${reference(character)}<![CDATA[`);
    return `<![CDATA[${this.#has("encoding") ? ascii : kept}]]>`;
  }

  #escaped(text: string): string {
    const escaped = text.replace(/[&<>"\r]/g, reference);
    return this.#has("encoding") ? escaped.replace(beyondAscii, reference) : escaped;
  }

  #has(style: Style): boolean {
    return this.#styles.includes(style);
  }
}

const beyondAscii = /[^\0-\x7F]/gu;

function reference(character: string): string {
  return `&#${character.codePointAt(0)};`;
}
