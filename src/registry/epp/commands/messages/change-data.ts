/** What a message says about a change that no command of ours has made (RFC 8590). */
import { changePollNamespace } from "#registry/epp/namespaces.ts";
import { findDate } from "#registry/epp/xml/values.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { findAttribute, findChild, findText, getText, tolerate } from "#registry/epp/xml/xml.ts";

export interface ChangeData {
  /** Whether the message shows the object as it was before the change, or as it is after it. */
  readonly state: "before" | "after";
  /** RFC 8590 §2.1: "update", "delete", "autoRenew" … */
  readonly operation: string;
  /** More about it, e.g. which kind of "custom". */
  readonly op: string | undefined;
  readonly date: Date | undefined;
  /** The registry's transaction. */
  readonly svTRID: string | undefined;
  readonly who: string | undefined;
  /** The case that it belongs to, e.g. "urs 123". */
  readonly caseId: string | undefined;
  /** For people. */
  readonly reason: string | undefined;
}

/** Reads `<changePoll:changeData>`; undefined when there is none. Only the operation must be there. @throws XmlError */
export function findChangeData(extension: XmlElement | undefined): ChangeData | undefined {
  const data = findChild(extension, changePollNamespace, "changeData");
  if (!data) return undefined;
  const text = (name: string) => findText(data, changePollNamespace, name);
  const operation = findChild(data, changePollNamespace, "operation");
  const caseId = findChild(data, changePollNamespace, "caseId");
  const caseType = caseId && (findAttribute(caseId, "name") ?? findAttribute(caseId, "type"));
  return {
    state: findAttribute(data, "state") === "before" ? "before" : "after",
    operation: getText(data, changePollNamespace, "operation"),
    op: operation && (findAttribute(operation, "op") || undefined),
    date: tolerate(() => findDate(data, changePollNamespace, "date")),
    svTRID: text("svTRID"),
    who: text("who"),
    caseId: caseId && [caseType, text("caseId")].filter(Boolean).join(" "),
    reason: text("reason"),
  };
}
