import { eppNamespace } from "#registry/epp/namespaces.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { findChild, findChildren, findText, getAttribute, getChild, textOf, XmlError } from "#registry/epp/xml/xml.ts";

/** A `<response>` (RFC 5730 §2.6) before the command has read its data. */
export interface ResponseFrame {
  /** The first result's code; further results only repeat a failure. */
  readonly code: number;
  /** For people only. */
  readonly message: string;
  /** The reasons of all results, for people only. */
  readonly reasons: string[];
  readonly clTRID: string | undefined;
  readonly svTRID: string | undefined;
  readonly messageQueue: XmlElement | undefined;
  readonly resData: XmlElement | undefined;
  readonly extension: XmlElement | undefined;
}

/** @throws XmlError when the document is not an EPP response or lacks a result code */
export function parseResponse(root: XmlElement): ResponseFrame {
  const response = getChild(eppRoot(root), eppNamespace, "response");
  const results = findChildren(response, eppNamespace, "result");
  const first = getChild(response, eppNamespace, "result");
  const trID = findChild(response, eppNamespace, "trID");
  return {
    code: parseCode(getAttribute(first, "code")),
    message: findText(first, eppNamespace, "msg") ?? "",
    reasons: results.flatMap(reasonsOf),
    clTRID: findText(trID, eppNamespace, "clTRID"),
    svTRID: findText(trID, eppNamespace, "svTRID"),
    messageQueue: findChild(response, eppNamespace, "msgQ"),
    resData: findChild(response, eppNamespace, "resData"),
    extension: findChild(response, eppNamespace, "extension"),
  };
}

/** Whether the document is a `<greeting>`, which answers a connect and a `<hello>`. @throws XmlError when it is not EPP */
export function isGreeting(root: XmlElement): boolean {
  return findChild(eppRoot(root), eppNamespace, "greeting") !== undefined;
}

function eppRoot(root: XmlElement): XmlElement {
  if (root.namespace !== eppNamespace || root.name !== "epp") throw new XmlError("the root is not <epp>");
  return root;
}

function parseCode(text: string): number {
  if (!/^[12]\d{3}$/.test(text)) throw new XmlError("the result code is not one of EPP");
  return Number(text);
}

/** Omits `<value>`: it echoes what we sent, which may be an authInfo. */
function reasonsOf(result: XmlElement): string[] {
  const reasons = findChildren(result, eppNamespace, "extValue").flatMap((value) =>
    findChildren(value, eppNamespace, "reason"),
  );
  return reasons.map(textOf).filter((reason) => reason !== "");
}
