/**
 * Fixed text in commands, for registries that demand the same of every client: a product's name (namestoreExt), a language tag.
 * A profile has it by command, and it is sent as it is.
 */
import { type EppCommand, withExtensions } from "#registry/epp/command.ts";
import type { Dialect } from "#registry/epp/dialect.ts";
import { eppNamespace } from "#registry/epp/namespaces.ts";
import { isElement, parseXml, VerbatimXml, type XmlElement, XmlError } from "#registry/epp/xml/xml.ts";

/** XML by command: `create` is that of a name, `host:create` and `contact:create` those of other objects. */
export type FixedExtensions = Readonly<Record<string, string>>;

/** The update that asks for a name's auth code: docs/registries.md. */
const codeRequestKey = "auth-code";
const objectVerbs = "check|create|delete|info|update";
export const fixedExtensionKeys = `^(${objectVerbs}|renew|restore|transfer|${codeRequestKey}|(contact|host):(${objectVerbs}))$`;

interface ExtendedFields {
  readonly extensions?: FixedExtensions | undefined;
  readonly authInfo?: string | undefined;
  readonly flavour?: string | undefined;
}

/** What is wrong with the profile's field, as a sentence that begins with a field's name. */
export function fixedExtensionsFault({
  extensions = {},
  authInfo,
  flavour = "none",
}: ExtendedFields): string | undefined {
  // A family may add a command.
  if (authInfo === "holder" && flavour === "none" && extensions[codeRequestKey] === undefined) {
    return `authInfo holder needs extensions.${codeRequestKey}, which asks the registry to send a code`;
  }
  for (const [command, xml] of Object.entries(extensions)) {
    try {
      elementsIn(xml);
    } catch (error) {
      if (!(error instanceof XmlError)) throw error;
      return `extensions.${command} must be XML elements that declare their namespaces: ${error.message}`;
    }
  }
  return undefined;
}

/** The namespaces of the elements, which a login asks for where the registry offers them. */
export function namespacesIn(extensions: FixedExtensions): string[] {
  const elements = Object.values(extensions).flatMap(elementsIn);
  return [...new Set(elements.map(({ namespace }) => namespace))];
}

/** Adds the text to each of its commands. */
export function fixedExtensionsDialect(extensions: FixedExtensions): Dialect {
  const added = new Map(Object.entries(extensions).map(([key, xml]) => [key, [new VerbatimXml(xml)]]));
  return { adapt: (command) => withExtensions(command, added.get(keyOf(command)) ?? []) };
}

/** "domain:restore-request" → "restore", "host:create" → "host:create". */
const keyOf = ({ name, facts }: EppCommand<unknown>) =>
  facts?.sendsCodeToHolder ? codeRequestKey : name.replace(/^domain:/, "").replace(/^(restore|transfer)-.*/, "$1");

/** @throws XmlError on anything but elements in namespaces that they declare themselves */
function elementsIn(xml: string): XmlElement[] {
  // Without a namespace around it, an element has only those that it declares.
  const { children } = parseXml(`<extension>${xml}</extension>`);
  const elements = children.filter(isElement);
  if (elements.length === 0) throw new XmlError("there is no element");
  if (children.some((child) => typeof child === "string" && child.trim() !== "")) {
    throw new XmlError("there is text outside of an element");
  }
  for (const element of elements) refuseUndeclared(element);
  const own = elements.find(({ namespace }) => namespace === eppNamespace);
  if (own) throw new XmlError(`<${own.name}> is an element of EPP itself, not of an extension`);
  return elements;
}

function refuseUndeclared({ namespace, name, children }: XmlElement): void {
  if (namespace === "") throw new XmlError(`<${name}> is in no namespace`);
  for (const child of children.filter(isElement)) refuseUndeclared(child);
}
