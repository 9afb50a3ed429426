/**
 * SIDN (.nl), after the tables of contents of its EPP manual (1.2 and 1.3, commands; 1.4, extensions; 1.5, departures from the standard)
 * and of "DRS Handleiding EPP" (3.5 to 3.7), and the frames and lists of other public clients: Net::DRI's SIDN::Contact, SIDN::Domain and
 * DRD::SIDN with their tests, and Metaregistrar's sidnEpp requests. Never logged in for real: the frames in `frames/sidn/` are
 * written from these sources.
 *
 * - A contact is created with its legal form; the registry chooses its id, and takes its address in the local form.
 * - Commands give no period, and an info shows no expiry date. The registry renews names.
 * - A name's code is the registry's, which shows it to the name's registrar. Registrars cannot set statuses.
 * - A deleted name comes back by SIDN's proprietary command domainCancelDelete, never by a restore (RFC 3915).
 *
 * What is not here: that command, deletes at a later date (scheduledDelete), transfers to us, other legal forms than PERSOON and ANDERS,
 * IDNs, messages.
 */
import { type ContactFacts, type EppCommand, withExtensions } from "#registry/epp/command.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import type { ResponseFrame } from "#registry/epp/response.ts";
import { elementsOf, findChild, findText, type XmlElement } from "#registry/epp/xml/xml.ts";
import { type CheckedFields, type Flavour, withLocalAddress, withStatuses } from "#registry/flavours/flavour.ts";

const uri = "http://rxsd.domain-registry.nl/sidn-ext-epp-1.0";
const sidnElement = elementsOf(uri);

export const sidn: Flavour = {
  extensions: [[uri]],
  defaults: {
    contactIds: "server",
    contactTypes: ["admin", "tech"],
    hostModel: "objects",
    authInfo: "shown",
    // SIDN's mapping for the exchange of DNSSEC data between registrars, RFC 8063, has keys.
    secDns: "keys",
    renew: "none",
    expiry: "ours",
    period: "none",
    yearsMax: 1,
    lockNewNames: false,
    transferProhibitedDays: 0,
  },
  graceDays: { add: 0, redemption: 0, pendingDelete: 40 },
  issuesCodes: false,
  withoutCommands: {
    "domain:restore": "a deleted name comes back by a command of the registry's own, which is not sent yet",
    "domain:transfer": "a transfer cannot be cancelled here, so a test could not end one",
  },
  clientStatuses: [],

  fault({ contactTypes, contactIds, renew, idn }: CheckedFields) {
    if (contactTypes?.includes("billing"))
      return "flavour sidn has no billing contacts: contactTypes must not have billing";
    if (contactIds === "client") return "flavour sidn chooses the ids of contacts: contactIds must be server";
    if (renew === "command") return "flavour sidn has no renew command: renew must be none";
    if (Object.keys(idn ?? {}).length > 0) return "flavour sidn has no internationalized names yet: leave idn out";
    return undefined;
  },

  adapt<Data>(command: EppCommand<Data>): EppCommand<Data> {
    switch (command.name) {
      case "contact:create":
        return contactCreate(command);
      case "contact:update":
        return withLocalAddress(command);
      case "domain:info":
        return domainInfo(command) as EppCommand<Data>;
      default:
        return command;
    }
  },
};

/** PERSOON is a natural person, ANDERS any form without a code: the others are those of Dutch law. */
function contactCreate<Data>(command: EppCommand<Data>): EppCommand<Data> {
  const { isOrganisation, enterpriseNumber }: ContactFacts = command.facts?.contact ?? { isOrganisation: false };
  const contact = sidnElement("contact", [
    sidnElement("legalForm", [isOrganisation ? "ANDERS" : "PERSOON"]),
    isOrganisation && enterpriseNumber ? sidnElement("legalFormRegNo", [enterpriseNumber]) : undefined,
  ]);
  const extension = sidnElement("ext", [sidnElement("create", [contact])]);
  return withExtensions(withLocalAddress(command), [extension]);
}

function domainInfo(command: EppCommand<unknown>): EppCommand<unknown> {
  return {
    ...command,
    parse(resData: XmlElement | undefined, response: ResponseFrame) {
      const info = command.parse(resData, response) as DomainInfo;
      const data = findChild(findChild(response.extension, uri, "ext"), uri, "infData");
      return withShown(info, findChild(data, uri, "domain"));
    },
  };
}

/** A date for a delete is a delete that is pending (RFC 5731 §2.3). What RFC 3915 would restore cannot be restored here. */
function withShown(info: DomainInfo, shown: XmlElement | undefined): DomainInfo {
  const isScheduled = shown !== undefined && findText(shown, uri, "scheduledDeleteDate") !== undefined;
  const isLeaving =
    isScheduled || info.statuses.includes("pendingDelete") || info.rgpStatuses.includes("redemptionPeriod");
  if (!isLeaving) return info;
  return { ...withStatuses(info, ["pendingDelete"]), rgpStatuses: ["pendingDelete"] };
}
