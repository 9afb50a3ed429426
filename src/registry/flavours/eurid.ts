/**
 * EURid's registries (.eu), after the examples of its registration guidelines for EPP: contact-ext-1.3 and 1.4, domain-ext-2.4 to 2.6,
 * authInfo-1.1. Never logged in for real: the frames in `frames/eurid/` are written from that documentation.
 *
 * - A contact has one type, and is created with a language. The registry chooses its id, and takes its address in the local form.
 * - Names and contacts have no authInfo of ours. The registry issues a name's auth code when an info asks for it.
 * - An info shows by an extension whether a name is in quarantine, suspended, on hold or seized.
 *
 * What is not here: reactivation of a name in quarantine, transfers to us, name server and key groups, IDNs (they are written in
 * Unicode there), messages.
 */
import { type ContactFacts, type EppCommand, withExtensions } from "#registry/epp/command.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import { contactNamespace, domainNamespace } from "#registry/epp/namespaces.ts";
import type { ResponseFrame } from "#registry/epp/response.ts";
import {
  elementsOf,
  findAttribute,
  findChild,
  findChildren,
  findText,
  textOf,
  type XmlElement,
} from "#registry/epp/xml/xml.ts";
import {
  type CheckedFields,
  type Flavour,
  languageIn,
  withLocalAddress,
  withoutAuthInfo,
  withStatuses,
} from "#registry/flavours/flavour.ts";

const base = "http://www.eurid.eu/xml/epp/";
const contactExtensions = [`${base}contact-ext-1.4`, `${base}contact-ext-1.3`];
const domainExtensions = [`${base}domain-ext-2.6`, `${base}domain-ext-2.5`, `${base}domain-ext-2.4`];
const codeExtensions = [`${base}authInfo-1.1`];

/** The languages in which the registry writes to holders: the official ones of the European Union. */
const languages = new Set("bg cs da de el en es et fi fr ga hr hu it lt lv mt nl pl pt ro sk sl sv".split(" "));

export const eurid: Flavour = {
  extensions: [contactExtensions, domainExtensions, codeExtensions],
  defaults: {
    contactIds: "server",
    contactPerRole: true,
    contactTypes: ["billing", "tech"],
    hostModel: "attributes",
    authInfo: "registry",
    secDns: "keys",
    // There are no client statuses, and a name can be transferred at once.
    lockNewNames: false,
    transferProhibitedDays: 0,
  },
  // A deleted name is in quarantine for 40 days.
  graceDays: { add: 0, redemption: 0, pendingDelete: 40 },
  issuesCodes: true,
  // Net::DRI's driver for EURid lists the commands that its guidelines leave out.
  withoutCommands: {
    "contact:check": "the registry chooses the ids of contacts, and has no check of them",
    "domain:transfer": "the registry has no query or rejection of transfers, so a test could not end one",
  },
  clientStatuses: [],

  fault({ contactTypes, contactIds, idn }: CheckedFields) {
    if (contactTypes?.includes("admin")) return "flavour eurid has no admin contacts: contactTypes must not have admin";
    if (contactIds === "client") return "flavour eurid chooses the ids of contacts: contactIds must be server";
    if (Object.keys(idn ?? {}).length > 0) return "flavour eurid has no internationalized names yet: leave idn out";
    return undefined;
  },

  adapt<Data>(command: EppCommand<Data>, extensionURIs: readonly string[]): EppCommand<Data> {
    const find = (versions: readonly string[]) => extensionURIs.find((uri) => versions.includes(uri));
    switch (command.name) {
      case "contact:create":
        return contactCreate(command, find(contactExtensions));
      case "contact:update":
        return withLocalAddress(command);
      case "domain:create":
        return withoutAuthInfo(command, domainNamespace);
      case "domain:info":
        return domainInfo(command, find(codeExtensions), find(domainExtensions)) as EppCommand<Data>;
      default:
        return command;
    }
  },
};

function contactCreate<Data>(command: EppCommand<Data>, uri: string | undefined): EppCommand<Data> {
  const local = withoutAuthInfo(withLocalAddress(command), contactNamespace);
  if (uri === undefined) return local;
  return withExtensions(local, [contactElement(uri, command.facts?.contact ?? { isOrganisation: false })]);
}

function contactElement(uri: string, { role, language, isOrganisation, enterpriseNumber }: ContactFacts): XmlElement {
  const contact = elementsOf(uri);
  return contact("create", [
    contact("type", [role ?? "registrant"]),
    isOrganisation && enterpriseNumber ? contact("vat", [enterpriseNumber]) : undefined,
    contact("lang", [languageIn(languages, language)]),
    contact("naturalPerson", [String(!isOrganisation)]),
  ]);
}

function domainInfo(
  command: EppCommand<unknown>,
  codeUri: string | undefined,
  domainUri: string | undefined,
): EppCommand<unknown> {
  const asked = command.facts?.issuedCode;
  const element = codeUri && asked ? elementsOf(codeUri) : undefined;
  const extended = element && asked ? withExtensions(command, [element("info", [element(asked, [])])]) : command;
  return {
    ...extended,
    parse(resData: XmlElement | undefined, response: ResponseFrame) {
      const info = command.parse(resData, response) as DomainInfo;
      const shown = domainUri === undefined ? undefined : findChild(response.extension, domainUri, "infData");
      return shown && domainUri !== undefined ? withShown(info, shown, domainUri) : info;
    },
  };
}

/** The states of this family in the terms of RFC 5731 §2.3 and RFC 3915 §3.1: nothing else knows the family. */
function withShown(info: DomainInfo, shown: XmlElement, uri: string): DomainInfo {
  const is = (name: string) => findText(shown, uri, name) === "true";
  const states = [
    ...(is("quarantined") ? ["pendingDelete"] : []),
    ...(is("suspended") || is("seized") ? ["serverHold"] : []),
    ...(is("onHold") || is("seized") ? ["serverTransferProhibited", "serverUpdateProhibited"] : []),
  ];
  const others = findChildren(shown, uri, "contact").map((contact) => ({
    type: findAttribute(contact, "type") ?? "",
    id: textOf(contact),
  }));
  return {
    ...withStatuses(info, states),
    // Its quarantine cannot be ended from here, so it is not a redemption period.
    rgpStatuses: is("quarantined") ? ["pendingDelete"] : info.rgpStatuses,
    contacts: [...info.contacts, ...others],
  };
}
