import { eppNamespace } from "#registry/epp/namespaces.ts";
import type { ResponseFrame } from "#registry/epp/response.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { elementsOf } from "#registry/epp/xml/xml.ts";

/**
 * One EPP command, ready to be sent any number of times, each under a clTRID of its own.
 * `query` may be repeated at will, `transform` changes the registry, `session` belongs to the session itself.
 */
export interface EppCommand<Data> {
  /** The object and the verb, e.g. "domain:create". */
  readonly name: string;
  readonly kind: "query" | "transform" | "session";
  /** The whole document. @param clTRID 3 to 64 characters, never used before */
  frame(clTRID: string): XmlElement;
  /**
   * Reads what a success (1xxx) brings, and whatever the session's own commands are answered with; undefined when that
   * is nothing. A transform was executed, whatever else its answer says or leaves out: it never throws then.
   * @throws XmlError when something is missing that the answer to a query can't be understood without
   */
  parse(resData: XmlElement | undefined, response: ResponseFrame): Data | undefined;
}

const epp = elementsOf(eppNamespace);

/**
 * A document around a command's own element.
 * @param extensions elements of negotiated extensions (RFC 5730 §2.7.3); those that are undefined are left out
 */
export function commandFrame(
  verb: XmlElement,
  clTRID: string,
  extensions: readonly (XmlElement | undefined)[] = [],
): XmlElement {
  const extension = extensions.some((element) => element) ? epp("extension", extensions) : undefined;
  return epp("epp", [epp("command", [verb, extension, epp("clTRID", [clTRID])])]);
}

/** A document around an object's element: `<create><domain:create>…`. Both share their name (RFC 5730 §2.9). */
export function objectCommandFrame(
  object: XmlElement,
  clTRID: string,
  extensions: readonly (XmlElement | undefined)[] = [],
): XmlElement {
  return commandFrame(epp(object.name, [object]), clTRID, extensions);
}
