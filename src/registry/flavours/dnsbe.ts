/**
 * DNS Belgium (.be), after the pages of its documentation for registrars (docs.dnsbelgium.be, .be): EPP, "Introduction", "Create contact",
 * "Update contact", "Create domain", "Info domain", "Update domain", "Delete domain"; General, "Contact types", "Delete, quarantine
 * and reactivate", "Domain name locking". What they leave out is Net::DRI's (DNSBE::Contact, DNSBE::Domain and DRD::DNSBelgium). Never
 * logged in for real: the frames in `frames/dnsbe/` are written from these sources.
 *
 * - A contact has one type: the registrant's is "licensee". The registry chooses its id, and takes its address in the local form.
 * - An account has exactly one billing contact, which every name needs: the profile names it (`registrarContacts`).
 * - Names are for a year, and the registry renews them. A deleted name is in quarantine for 40 days.
 * - The registry sends a name's code to its holder, never to us.
 *
 * What is not here: deletes at a later date and their end, reactivation of a name in quarantine, transfers to us, onsite contacts,
 * groups of name servers and keys, IDNs, messages.
 */
import { type ContactFacts, type EppCommand, withExtensions } from "#registry/epp/command.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import type { ResponseFrame } from "#registry/epp/response.ts";
import { elementsOf, findChild, findText, type XmlElement } from "#registry/epp/xml/xml.ts";
import {
  type CheckedFields,
  type Flavour,
  languageIn,
  withLocalAddress,
  withStatuses,
} from "#registry/flavours/flavour.ts";

const uri = "http://www.dns.be/xml/epp/dnsbe-1.0";
const dnsbeElement = elementsOf(uri);
const languages = new Set(["en", "fr", "nl"]);

export const dnsbe: Flavour = {
  extensions: [[uri]],
  defaults: {
    contactIds: "server",
    contactPerRole: true,
    contactTypes: ["tech"],
    hostModel: "attributes",
    authInfo: "registry",
    secDns: "keys",
    registrantChange: "forbidden",
    renew: "none",
    yearsMax: 1,
    // "Domain name locking" asks for the holder's request before a lock.
    lockNewNames: false,
    transferProhibitedDays: 0,
  },
  graceDays: { add: 0, redemption: 0, pendingDelete: 40 },
  issuesCodes: false,
  withoutCommands: {
    "contact:check": "the registry chooses the ids of contacts, and has no check of them",
    "domain:transfer": "the registry has no query, cancellation or rejection of transfers, so a test could not end one",
  },
  clientStatuses: ["clientTransferProhibited"],

  fault({ contactTypes, contactIds, registrarContacts, renew, idn }: CheckedFields) {
    if (contactTypes?.includes("admin")) return "flavour dnsbe has no admin contacts: contactTypes must not have admin";
    if (contactIds === "client") return "flavour dnsbe chooses the ids of contacts: contactIds must be server";
    if (renew === "command") return "flavour dnsbe has no renew command: renew must be none";
    if (registrarContacts?.billing === undefined)
      return "flavour dnsbe needs the id of the account's billing contact: registrarContacts must have billing";
    if (Object.keys(idn ?? {}).length > 0) return "flavour dnsbe has no internationalized names yet: leave idn out";
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

/** `<dnsbe:ext>` around what is said about the object of the verb. */
const extension = (verb: string, object: XmlElement) => dnsbeElement("ext", [dnsbeElement(verb, [object])]);

function contactCreate<Data>(command: EppCommand<Data>): EppCommand<Data> {
  const facts: ContactFacts = command.facts?.contact ?? { isOrganisation: false };
  const { role = "registrant", language, isOrganisation, enterpriseNumber } = facts;
  const contact = dnsbeElement("contact", [
    dnsbeElement("type", [role === "registrant" ? "licensee" : role]),
    isOrganisation && enterpriseNumber ? dnsbeElement("vat", [enterpriseNumber]) : undefined,
    dnsbeElement("lang", [languageIn(languages, language)]),
  ]);
  return withExtensions(withLocalAddress(command), [extension("create", contact)]);
}

/** Version 2.0 of the answer shows the states of a name. */
function domainInfo(command: EppCommand<unknown>): EppCommand<unknown> {
  return {
    ...withExtensions(command, [extension("info", dnsbeElement("domain", [], { version: "2.0" }))]),
    parse(resData: XmlElement | undefined, response: ResponseFrame) {
      const info = command.parse(resData, response) as DomainInfo;
      const data = findChild(findChild(response.extension, uri, "ext"), uri, "infData");
      const shown = findChild(data, uri, "domain");
      return shown ? withShown(info, shown) : info;
    },
  };
}

function withShown(info: DomainInfo, shown: XmlElement): DomainInfo {
  const is = (name: string) => findText(shown, uri, name) === "true";
  // A delete is carried out later on its day, and until then it has a date (RFC 5731 §2.3: pendingDelete).
  const isLeaving = is("quarantined") || findText(shown, uri, "deletionDate") !== undefined;
  const states = [
    ...(isLeaving ? ["pendingDelete"] : []),
    ...(is("onhold") ? ["serverTransferProhibited", "serverUpdateProhibited"] : []),
  ];
  // Its quarantine cannot be ended from here, so it is not a redemption period.
  return { ...withStatuses(info, states), rgpStatuses: isLeaving ? ["pendingDelete"] : info.rgpStatuses };
}
