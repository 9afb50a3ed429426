import { eppNamespace } from "#registry/epp/namespaces.ts";
import { isGreeting } from "#registry/epp/response.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { findChild, findChildren, findText, getChild, textOf, XmlError } from "#registry/epp/xml/xml.ts";

/** What a registry says of itself (RFC 5730 §2.4). */
export interface Greeting {
  /** Its name; undefined where it leaves it out. */
  readonly svID: string | undefined;
  readonly versions: readonly string[];
  readonly languages: readonly string[];
  /** The objects that it offers, as namespaces. */
  readonly objectURIs: readonly string[];
  readonly extensionURIs: readonly string[];
}

/** @throws XmlError when the document is no greeting */
export function parseGreeting(root: XmlElement): Greeting {
  if (!isGreeting(root)) throw new XmlError("<greeting> is missing in <epp>");
  const greeting = getChild(root, eppNamespace, "greeting");
  const menu = getChild(greeting, eppNamespace, "svcMenu");
  const texts = (parent: XmlElement | undefined, name: string) =>
    parent ? findChildren(parent, eppNamespace, name).map(textOf) : [];
  return {
    svID: findText(greeting, eppNamespace, "svID"),
    versions: texts(menu, "version"),
    languages: texts(menu, "lang"),
    objectURIs: texts(menu, "objURI"),
    extensionURIs: texts(findChild(menu, eppNamespace, "svcExtension"), "extURI"),
  };
}
