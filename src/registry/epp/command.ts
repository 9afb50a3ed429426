import type { Secret } from "#lib/secret.ts";
import { eppNamespace } from "#registry/epp/namespaces.ts";
import type { ResponseFrame } from "#registry/epp/response.ts";
import type { XmlElement, XmlNode } from "#registry/epp/xml/xml.ts";
import { elementsOf, findChild, getChild, isElement } from "#registry/epp/xml/xml.ts";

/** Facts for extensions of single registries. A registry without such an extension never sees them. */
export interface CommandFacts {
  /** About the contact that is created. */
  readonly contact?: ContactFacts | undefined;
  /** About an info: the registry issues the name's auth code to its registrar, or withdraws it. */
  readonly issuedCode?: "request" | "cancel" | undefined;
  /** About an update, which says nothing else: the registry sends the name's auth code to its holder. */
  readonly sendsCodeToHolder?: boolean | undefined;
}

export interface ContactFacts {
  /** The role that it is for; absent where a contact may have several. */
  readonly role?: "registrant" | "admin" | "tech" | "billing" | undefined;
  /** A language tag (RFC 5646). */
  readonly language?: string | undefined;
  readonly isOrganisation: boolean;
  /** The organisation's number in its country's register, or for VAT. */
  readonly enterpriseNumber?: Secret | undefined;
}

/**
 * One EPP command. It can be sent any number of times, each time with a new clTRID. A `query` is safe to repeat, a `transform`
 * changes the registry, `session` is for the session itself.
 */
export interface EppCommand<Data> {
  /** The object and the verb, e.g. "domain:create". */
  readonly name: string;
  readonly kind: "query" | "transform" | "session";
  /** What some registries' extensions say about its object, in addition to the RFCs' elements (src/registry/flavours/). */
  readonly facts?: CommandFacts;
  /** Namespaces of the extensions without which it says nothing. A session that does not have them must not carry it. */
  readonly extensionURIs?: readonly string[];
  /** The whole document. @param clTRID 3 to 64 characters, never used before */
  frame(clTRID: string): XmlElement;
  /**
   * Reads the data of a success (1xxx), and of any answer to a command of kind `session`; undefined when there is none. For a
   * transform it never throws: the command was executed, even if its answer is incomplete.
   * @throws XmlError when the answer to a query lacks a required part
   */
  parse(resData: XmlElement | undefined, response: ResponseFrame): Data | undefined;
}

const epp = elementsOf(eppNamespace);

/** The same command with more in its `<extension>` (RFC 5730 §2.7.3). */
export function withExtensions<Data>(command: EppCommand<Data>, extensions: readonly XmlNode[]): EppCommand<Data> {
  if (extensions.length === 0) return command;
  return { ...command, frame: (clTRID) => extendFrame(command.frame(clTRID), extensions) };
}

function extendFrame(frame: XmlElement, extensions: readonly XmlNode[]): XmlElement {
  const command = getChild(frame, eppNamespace, "command");
  const present = findChild(command, eppNamespace, "extension")?.children ?? [];
  const extension = epp("extension", [...present, ...extensions]);
  const parts = command.children.filter(isElement).filter(({ name }) => name !== "extension");
  const [last, ...others] = parts.toReversed();
  // The order is the schema's: the extension precedes the clTRID.
  return {
    ...frame,
    children: [{ ...command, children: [...others.toReversed(), extension, ...(last ? [last] : [])] }],
  };
}

/**
 * The document for a command's element.
 * @param extensions elements of negotiated extensions (RFC 5730 §2.7.3); undefined ones are omitted
 */
export function commandFrame(
  verb: XmlElement,
  clTRID: string,
  extensions: readonly (XmlElement | undefined)[] = [],
): XmlElement {
  const extension = extensions.some((element) => element) ? epp("extension", extensions) : undefined;
  return epp("epp", [epp("command", [verb, extension, epp("clTRID", [clTRID])])]);
}

/** The document for an object's element: `<create><domain:create>…`. Both elements have the same name (RFC 5730 §2.9). */
export function objectCommandFrame(
  object: XmlElement,
  clTRID: string,
  extensions: readonly (XmlElement | undefined)[] = [],
): XmlElement {
  return commandFrame(epp(object.name, [object]), clTRID, extensions);
}
