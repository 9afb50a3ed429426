/** Launch phases (RFC 8334), as far as a client of the general availability must know of them. */
import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import { domainNamespace, launchNamespace } from "#registry/epp/namespaces.ts";
import { parseXmlBoolean } from "#registry/epp/xml/values.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { elementsOf, findChild, findChildren, getAttribute, getChild, textOf } from "#registry/epp/xml/xml.ts";

/** Why we do not register such a name: we show registrants no notice (RFC 8334 §2.3.1). */
export const claimsReason =
  "the name matches a trademark, and its registrant must acknowledge a claims notice first: such names are not registered here";

const domain = elementsOf(domainNamespace);
const launch = elementsOf(launchNamespace);

/** RFC 8334 §3.1.1: whether a name needs a claims notice. Only on a session that has the extension. */
export function claimsCheck(name: string): EppCommand<boolean> {
  return launchCheck(name, "claims", "claims", (extension) => needsClaimsNotice(extension, name));
}

/** RFC 8334 §3.1.2: succeeds while names can be registered generally. Only on a session that has the extension. */
export function openPhaseCheck(name: string): EppCommand<undefined> {
  return launchCheck(name, "avail", "open", () => undefined);
}

function launchCheck<Data>(
  name: string,
  type: "avail" | "claims",
  phase: "claims" | "open",
  read: (extension: XmlElement | undefined) => Data,
): EppCommand<Data> {
  const element = domain("check", [domain("name", [name])]);
  const form = launch("check", [launch("phase", [phase])], { type });
  return {
    name: "domain:check",
    kind: "query",
    frame: (clTRID) => objectCommandFrame(element, clTRID, [form]),
    parse: (_resData, { extension }) => read(extension),
  };
}

/** Whether an answer to a check says that the name needs a claims notice (RFC 8334 §3.1.1). @throws XmlError */
export function needsClaimsNotice(extension: XmlElement | undefined, name: string): boolean {
  const chkData = findChild(extension, launchNamespace, "chkData");
  if (!chkData) return false;
  return findChildren(chkData, launchNamespace, "cd").some((cd) => {
    const answered = getChild(cd, launchNamespace, "name");
    return textOf(answered).toLowerCase() === name.toLowerCase() && parseXmlBoolean(getAttribute(answered, "exists"));
  });
}
