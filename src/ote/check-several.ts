import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import { parseObjectCheck } from "#registry/epp/commands/object-check.ts";
import { contactNamespace, domainNamespace, hostNamespace } from "#registry/epp/namespaces.ts";
import { elementsOf } from "#registry/epp/xml/xml.ts";

const forms = {
  domain: { namespace: domainNamespace, idElement: "name" },
  host: { namespace: hostNamespace, idElement: "name" },
  contact: { namespace: contactNamespace, idElement: "id" },
} as const;

/**
 * Checks several names or ids in one command (§3.1.1 of RFC 5731, 5732 and 5733), as exams require; the gateway itself
 * checks one at a time. Returns those that can be created.
 */
export function checkSeveral(object: keyof typeof forms, ids: readonly string[]): EppCommand<readonly string[]> {
  const { namespace, idElement } = forms[object];
  const element = elementsOf(namespace);
  const check = element(
    "check",
    ids.map((id) => element(idElement, [id])),
  );
  return {
    name: `${object}:check`,
    kind: "query",
    frame: (clTRID) => objectCommandFrame(check, clTRID),
    parse: (resData) => ids.filter((id) => parseObjectCheck(resData, namespace, idElement, id).available),
  };
}
