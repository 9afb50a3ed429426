import type { EppCommand } from "../command.ts";
import { objectCommandFrame } from "../command.ts";
import { domainNamespace } from "../namespaces.ts";
import { elementsOf, findChildren, findText, getAttribute, getChild, textOf, XmlError } from "../xml.ts";
import { parseXmlBoolean } from "../xml-values.ts";

export interface DomainAvailability {
  readonly available: boolean;
  /** The registry's words for why not. */
  readonly reason: string | undefined;
}

const domain = elementsOf(domainNamespace);

/** RFC 5731 §3.1.1, one name per command: registries answer several names all or nothing. @param name an A-label name */
export function domainCheck(name: string): EppCommand<DomainAvailability> {
  return {
    name: "domain:check",
    kind: "query",
    frame: (clTRID) => objectCommandFrame(domain("check", [domain("name", [name])]), clTRID),
    parse: (resData) => {
      const answers = findChildren(getChild(resData, domainNamespace, "chkData"), domainNamespace, "cd");
      for (const answer of answers) {
        const answered = getChild(answer, domainNamespace, "name");
        if (textOf(answered).toLowerCase() !== name.toLowerCase()) continue;
        return {
          available: parseXmlBoolean(getAttribute(answered, "avail")),
          reason: findText(answer, domainNamespace, "reason"),
        };
      }
      throw new XmlError("the check's answer is not about the name that was asked");
    },
  };
}
