/**
 * Fields of contacts that only this registry knows, such as a tax number. A profile names each, and the element of an extension
 * that has its value: `<x:create xmlns:x="urn:…"><x:taxNumber>{value}</x:taxNumber></x:create>`. Fields whose elements begin
 * alike share them, in the order of the profile.
 */
import Type, { type Static } from "typebox";
import type { Secret } from "#lib/secret.ts";
import { contactNamespace, domainNamespace, eppNamespace, hostNamespace } from "#registry/epp/namespaces.ts";
import { isElement, parseXml, textOf, type XmlElement, XmlError, type XmlNode } from "#registry/epp/xml/xml.ts";

export const contactFieldsSchema = Type.Array(
  Type.Object(
    {
      name: Type.String({ pattern: "^[a-z][a-z0-9_]{0,31}$" }),
      /** A regular expression that fits the whole value. Default: any text. */
      pattern: Type.Optional(Type.String({ minLength: 1 })),
      required: Type.Optional(Type.Boolean()),
      element: Type.String({ minLength: 1 }),
    },
    { additionalProperties: false },
  ),
);

export type ContactField = Static<typeof contactFieldsSchema>[number];

export interface ContactFieldValue<Text = string> {
  name: string;
  value: Text;
}

/** Where the value goes in `element`. */
const placeholder = "{value}";
/** Namespaces whose elements are no extensions. */
const objectNamespaces = new Set([eppNamespace, domainNamespace, contactNamespace, hostNamespace]);

/** What is wrong with the profile's field, as a sentence that begins with the field's name. */
export function contactFieldsFault(fields: readonly ContactField[] = []): string | undefined {
  for (const [index, field] of fields.entries()) {
    const at = `contactFields.${index}`;
    if (fields.findIndex(({ name }) => name === field.name) < index) return `${at}.name occurs twice`;
    try {
      regExpOf(field);
    } catch {
      return `${at}.pattern is not a regular expression`;
    }
    try {
      templateOf(field);
    } catch (error) {
      if (!(error instanceof XmlError)) throw error;
      return `${at}.element must be an element of an extension that declares its namespaces, with ${placeholder} as the text of one element: ${error.message}`;
    }
  }
  return undefined;
}

const regExpOf = ({ pattern = ".*" }: ContactField) => new RegExp(`^(?:${pattern})$`, "u");

/** Whether the value has the form that the profile demands. */
export const fitsField = (field: ContactField, value: string): boolean => regExpOf(field).test(value);

/** @throws XmlError that names what is wrong */
function templateOf({ element }: ContactField): XmlElement {
  const root = parseXml(element);
  const leaves = leavesOf(root).filter((leaf) => textOf(leaf) !== "");
  if (leaves.length !== 1 || textOf(leaves[0]!) !== placeholder)
    throw new XmlError(`${placeholder} is not its only text`);
  return root;
}

function leavesOf(element: XmlElement): XmlElement[] {
  const { namespace, name, children } = element;
  if (namespace === "") throw new XmlError(`<${name}> is in no namespace`);
  if (objectNamespaces.has(namespace))
    throw new XmlError(`<${name}> is an element of ${namespace}, not of an extension`);
  return [element, ...children.filter(isElement).flatMap(leavesOf)];
}

/** The namespaces of the fields' outermost elements, which a login asks for where the registry offers them. */
export const contactFieldNamespaces = (fields: readonly ContactField[]): string[] => [
  ...new Set(fields.map((field) => templateOf(field).namespace)),
];

/** The elements for an `<extension>`. Values without a field are left out. */
export function contactFieldElements(
  fields: readonly ContactField[],
  values: readonly ContactFieldValue<string | Secret>[],
): XmlElement[] {
  const elements = fields.flatMap((field) => {
    const given = values.find(({ name }) => name === field.name);
    return given ? [fill(templateOf(field), given.value)] : [];
  });
  return elements.reduce<XmlElement[]>(merge, []);
}

function fill(element: XmlElement, value: string | Secret): XmlElement {
  if (textOf(element) === placeholder) return { ...element, children: [value] };
  return { ...element, children: element.children.filter(isElement).map((child) => fill(child, value)) };
}

/** Adds an element to its siblings: its children go into the last one, if that begins alike and has children too. */
function merge(siblings: XmlElement[], element: XmlElement): XmlElement[] {
  const last = siblings.at(-1);
  const inner = element.children.filter(isElement);
  const present = last?.children.filter(isElement) ?? [];
  if (!last || !isAlike(last, element) || inner.length === 0 || present.length === 0) return [...siblings, element];
  return [...siblings.slice(0, -1), { ...last, children: inner.reduce<XmlElement[]>(merge, present) }];
}

const isAlike = (one: XmlElement, other: XmlElement) =>
  one.namespace === other.namespace &&
  one.name === other.name &&
  one.attributes.size === other.attributes.size &&
  [...one.attributes].every(([name, value]) => other.attributes.get(name) === value);

/** The values that an answer's `<extension>` shows, in elements like those that we send, wherever they are in it. */
export function readContactFields(
  fields: readonly ContactField[],
  extension: XmlElement | undefined,
): ContactFieldValue[] {
  return fields.flatMap((field) => {
    const leaf = leavesOf(templateOf(field)).find((element) => textOf(element) === placeholder)!;
    const shown = extension && findAlike(extension, leaf);
    const value = shown && textOf(shown);
    return value ? [{ name: field.name, value }] : [];
  });
}

function findAlike(parent: XmlElement, leaf: XmlElement): XmlElement | undefined {
  for (const child of parent.children.filter((node: XmlNode) => isElement(node))) {
    const found = isAlike(child, leaf) ? child : findAlike(child, leaf);
    if (found) return found;
  }
  return undefined;
}
