import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import { hostNamespace } from "#registry/epp/namespaces.ts";
import { findDate } from "#registry/epp/xml/values.ts";
import {
  elementsOf,
  findChildren,
  findText,
  getAttribute,
  getChild,
  getText,
  textOf,
  tolerate,
} from "#registry/epp/xml/xml.ts";

export interface HostInfo {
  readonly name: string;
  readonly roid: string | undefined;
  /** E.g. "ok", "linked". */
  readonly statuses: readonly string[];
  readonly addresses: readonly string[];
  /** The sponsoring registrar; without it nothing says that the object is ours. */
  readonly clID: string | undefined;
  readonly crID: string | undefined;
  readonly crDate: Date | undefined;
  readonly upDate: Date | undefined;
}

const host = elementsOf(hostNamespace);

/** RFC 5732 §3.1.2. @param name an A-label name */
export function hostInfo(name: string): EppCommand<HostInfo> {
  return {
    name: "host:info",
    kind: "query",
    frame: (clTRID) => objectCommandFrame(host("info", [host("name", [name])]), clTRID),
    parse: (resData) => {
      const infData = getChild(resData, hostNamespace, "infData");
      return {
        name: getText(infData, hostNamespace, "name"),
        roid: findText(infData, hostNamespace, "roid"),
        statuses: findChildren(infData, hostNamespace, "status").map((status) => getAttribute(status, "s")),
        addresses: findChildren(infData, hostNamespace, "addr").map(textOf),
        clID: findText(infData, hostNamespace, "clID"),
        crID: findText(infData, hostNamespace, "crID"),
        crDate: tolerate(() => findDate(infData, hostNamespace, "crDate")),
        upDate: tolerate(() => findDate(infData, hostNamespace, "upDate")),
      };
    },
  };
}
