import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import { hostAddressElements } from "#registry/epp/commands/host/addresses.ts";
import { hostNamespace } from "#registry/epp/namespaces.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { elementsOf } from "#registry/epp/xml/xml.ts";

/** What is added to a host, or removed from it. */
export interface HostParts {
  readonly addresses?: readonly string[];
  /** Statuses that a registrar may set: "clientUpdateProhibited", "clientDeleteProhibited". */
  readonly statuses?: readonly string[];
}

export interface HostUpdateRequest {
  /** An A-label name. */
  readonly name: string;
  readonly add?: HostParts;
  readonly remove?: HostParts;
  /** A new name for the same object. */
  readonly newName?: string;
}

const host = elementsOf(hostNamespace);

/** RFC 5732 §3.2.5: 1000 when the host is changed, 1001 when the change is pending. */
export function hostUpdate({ name, add, remove, newName }: HostUpdateRequest): EppCommand<undefined> {
  const element = host("update", [
    host("name", [name]),
    partsElement("add", add),
    partsElement("rem", remove),
    newName === undefined ? undefined : host("chg", [host("name", [newName])]),
  ]);
  return {
    name: "host:update",
    kind: "transform",
    frame: (clTRID) => objectCommandFrame(element, clTRID),
    parse: () => undefined,
  };
}

function partsElement(name: "add" | "rem", parts: HostParts | undefined): XmlElement | undefined {
  if (!parts) return undefined;
  const statuses = (parts.statuses ?? []).map((status) => host("status", [], { s: status }));
  return host(name, [...hostAddressElements(parts.addresses), ...statuses]);
}
