import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import type { NameServer } from "#registry/epp/commands/domain/name-servers.ts";
import { hostAddressElements } from "#registry/epp/commands/host/addresses.ts";
import { hostNamespace } from "#registry/epp/namespaces.ts";
import { findDate } from "#registry/epp/xml/values.ts";
import { elementsOf, findChild, getText, tolerate } from "#registry/epp/xml/xml.ts";

export interface HostCreated {
  readonly name: string;
  readonly crDate: Date | undefined;
}

const host = elementsOf(hostNamespace);

/** RFC 5732 §3.2.1. Only a host under a domain of this registry has addresses. */
export function hostCreate({ name, addresses }: NameServer): EppCommand<HostCreated> {
  return {
    name: "host:create",
    kind: "transform",
    frame: (clTRID) =>
      objectCommandFrame(host("create", [host("name", [name]), ...hostAddressElements(addresses)]), clTRID),
    parse: (resData) => {
      const creData = findChild(resData, hostNamespace, "creData");
      return tolerate(() => ({
        name: getText(creData, hostNamespace, "name"),
        crDate: findDate(creData, hostNamespace, "crDate"),
      }));
    },
  };
}
