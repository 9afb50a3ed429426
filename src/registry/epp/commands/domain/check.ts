import type { Secret } from "#lib/secret.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import { allocationTokenElement } from "#registry/epp/commands/domain/allocation-token.ts";
import type { DomainFees, FeeQuestion } from "#registry/epp/commands/domain/fee.ts";
import { feeCheckElement, findFees } from "#registry/epp/commands/domain/fee.ts";
import { needsClaimsNotice } from "#registry/epp/commands/domain/launch.ts";
import type { ObjectAvailability } from "#registry/epp/commands/object-check.ts";
import { parseObjectCheck } from "#registry/epp/commands/object-check.ts";
import { domainNamespace } from "#registry/epp/namespaces.ts";
import { elementsOf, tolerate } from "#registry/epp/xml/xml.ts";

export interface DomainAvailability extends ObjectAvailability {
  /** Absent unless it was requested and the registry answered it. */
  readonly fees?: DomainFees;
  /** Its registrant must first acknowledge a claims notice (RFC 8334 §2.3.1). */
  readonly needsClaimsNotice?: true;
}

const domain = elementsOf(domainNamespace);

/**
 * RFC 5731 §3.1.1. One name per command, because registries refuse a check of several names as a whole.
 * @param name an A-label name @param question only on a session that has the fee extension
 * @param token only on a session that has allocationToken
 */
export function domainCheck(name: string, question?: FeeQuestion, token?: Secret): EppCommand<DomainAvailability> {
  const element = domain("check", [domain("name", [name])]);
  return {
    name: "domain:check",
    kind: "query",
    frame: (clTRID) => objectCommandFrame(element, clTRID, [feeCheckElement(question), allocationTokenElement(token)]),
    parse: (resData, { extension }) => {
      const fees = findFees(extension, name);
      return {
        ...parseObjectCheck(resData, domainNamespace, "name", name),
        ...(fees && { fees }),
        ...(tolerate(() => needsClaimsNotice(extension, name)) && { needsClaimsNotice: true as const }),
      };
    },
  };
}
