import { eppNamespace } from "#registry/epp/namespaces.ts";
import { isGreeting } from "#registry/epp/response.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { findChild, findChildren, findText, getChild, textOf, XmlError } from "#registry/epp/xml/xml.ts";

/** A registry's greeting (RFC 5730 §2.4). */
export interface Greeting {
  /** Its name, if it sends one. */
  readonly svID: string | undefined;
  readonly versions: readonly string[];
  readonly languages: readonly string[];
  /** Namespaces of the objects that it offers. */
  readonly objectURIs: readonly string[];
  readonly extensionURIs: readonly string[];
}

/** @throws XmlError when the document is not a greeting */
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
