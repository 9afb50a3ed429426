import { contactUri, eppUri, objectNames, rgpUri } from "./namespaces.ts";
import { findChild, tokenOf, type XmlElement } from "./xml.ts";

/** A frame as far as it could be read, before any validation. */
export interface ParsedFrame {
  /** The child of `<epp>`; clients may send "command" and "hello". */
  kind: string;
  /** The child of `<command>`: "create", "login" … */
  verb?: string | undefined;
  /** The operation of a transfer or a poll: "request", "ack" … */
  op?: string | undefined;
  /** `<domain:create>` under `<create>`; the verb's own element for login, logout and poll. */
  element?: XmlElement | undefined;
  /** The children of `<extension>`. */
  extensions: readonly XmlElement[];
  clTRID?: string | undefined;
  /** The name in the journal: "domain:create", "login", "poll:req", "hello". */
  label: string;
  /** The same, more exactly: "domain:restore-request" for an update, "domain:transfer-approve" for a transfer. */
  operation: string;
  /** The first domain or host name (lower case) or contact id, or the message id of a poll. */
  name?: string | undefined;
}

const clTridCharsMin = 3;
const clTridCharsMax = 64;

const sessionVerbs = new Set(["login", "logout", "poll"]);

/** Reads a frame that has not been checked against the schemas. */
export function readFrame(root: XmlElement): ParsedFrame {
  const top = root.local === "epp" && root.uri === eppUri ? root.children[0] : undefined;
  if (top?.uri !== eppUri) return unreadable("unknown");
  if (top.local !== "command") return unreadable(top.local);
  const verbElement = top.children.find((child) => child.local !== "extension" && child.local !== "clTRID");
  const verb = verbElement?.local;
  const element = verb && sessionVerbs.has(verb) ? verbElement : verbElement?.children[0];
  const trid = findChild(top, "clTRID");
  const clTRID = trid && tokenOf(trid);
  const isEchoable = clTRID && clTRID.length >= clTridCharsMin && clTRID.length <= clTridCharsMax;
  const op = verbElement?.attributes.op;
  const extensions = findChild(top, "extension")?.children ?? [];
  const label = labelOf(verb, element);
  return {
    kind: "command",
    verb,
    op,
    element,
    extensions,
    clTRID: isEchoable ? clTRID : undefined,
    label,
    operation: operationOf(label, op, extensions),
    name: element && nameOf(element),
  };
}

/** Whether a command has this name; "domain:transfer" and "domain:restore" have several operations. */
export function isCommand({ operation }: Pick<ParsedFrame, "operation">, name: string): boolean {
  return operation === name || operation.startsWith(`${name}-`);
}

function unreadable(kind: string): ParsedFrame {
  return { kind, extensions: [], label: kind, operation: kind };
}

function operationOf(label: string, op: string | undefined, extensions: readonly XmlElement[]): string {
  if (label.endsWith(":transfer")) return `${label}-${op ?? ""}`;
  const rgpUpdate = label === "domain:update" && extensions.find(({ uri }) => uri === rgpUri);
  const restore = rgpUpdate && findChild(rgpUpdate, "restore");
  return restore ? `domain:restore-${restore.attributes.op ?? ""}` : label;
}

function labelOf(verb: string | undefined, element: XmlElement | undefined): string {
  if (verb === undefined) return "unknown";
  if (verb === "poll") return `poll:${element?.attributes.op ?? ""}`;
  if (sessionVerbs.has(verb)) return verb;
  return `${objectNames[element?.uri ?? ""] ?? "unknown"}:${verb}`;
}

function nameOf(element: XmlElement): string | undefined {
  if (element.uri === eppUri) return element.attributes.msgID;
  const holder = findChild(element, element.uri === contactUri ? "id" : "name");
  if (!holder) return undefined;
  return element.uri === contactUri ? tokenOf(holder) : tokenOf(holder).toLowerCase();
}
