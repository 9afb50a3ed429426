import type { ParsedFrame } from "../command.ts";
import type { Family } from "../families.ts";
import { contactUri, domainUri, secDnsUri } from "../namespaces.ts";
import { Refusal } from "../result-codes.ts";
import { childrenOf, findChild, findChildText, tokenOf, type XmlElement } from "../xml.ts";
import { monthsPerYear } from "./domain-data.ts";

/** What a registry refuses beyond the RFCs, of commands that are valid by their schemas. */
interface Rules {
  /** Commands that it does not have, by their operations: 2101. */
  readonly absent: readonly string[];
  /** The statuses of names that a registrar may set; others are 2102. */
  readonly clientStatuses: readonly string[];
  /** The contacts that a new name needs (2003), and those that it may have (2306). */
  readonly contactTypes: { readonly needed: readonly string[]; readonly allowed: readonly string[] };
  /** Whether an authInfo in a create must be empty: 2306. */
  readonly isAuthInfoEmpty: boolean;
  /** The only form of DNSSEC data: 2306 for another. */
  readonly secDns: "keyData" | "dsData";
  /** Whether an update may set statuses of contacts, and the registrant of a name: 2306. */
  readonly contactStatuses: boolean;
  readonly registrantChange: boolean;
  /** The only period of a create, in months, if it has one: 2306 for another. */
  readonly months?: number;
}

/**
 * EURid: the commands that Net::DRI's driver for it lists as unavailable (lib/Net/DRI/DRD/EURid.pm), and the forms of the examples of
 * the Registration Guidelines for .eu, part II. Neither says which codes answer a mistake: these are RFC 5730's for the case (§3).
 */
const eurid: Rules = {
  absent: ["contact:check", "domain:transfer-query", "domain:transfer-approve", "domain:transfer-reject"],
  clientStatuses: [],
  contactTypes: { needed: ["billing", "tech"], allowed: ["billing", "tech"] },
  isAuthInfoEmpty: true,
  secDns: "keyData",
  contactStatuses: true,
  registrantChange: true,
};

/**
 * DNS Belgium: docs.dnsbelgium.be (.be), EPP, "Create contact", "Update contact", "Create domain" and "Update domain"; the commands that
 * Net::DRI's driver for it lists as unavailable (lib/Net/DRI/DRD/DNSBelgium.pm).
 */
const dnsbe: Rules = {
  absent: [
    ...["contact:check", "domain:renew"],
    ...["domain:transfer-query", "domain:transfer-cancel", "domain:transfer-approve", "domain:transfer-reject"],
  ],
  clientStatuses: ["clientTransferProhibited"],
  contactTypes: { needed: ["billing", "tech"], allowed: ["billing", "onsite", "tech"] },
  isAuthInfoEmpty: false,
  secDns: "keyData",
  contactStatuses: false,
  registrantChange: false,
  months: 12,
};

/** SIDN: the commands that Net::DRI's driver for it lists as unavailable, and the contacts that it demands (SIDN.pm, SIDN::Domain). */
const sidn: Rules = {
  absent: ["domain:renew", "domain:restore-request", "domain:restore-report", "domain:transfer-cancel"],
  clientStatuses: [],
  contactTypes: { needed: ["admin", "tech"], allowed: ["admin", "tech"] },
  isAuthInfoEmpty: false,
  secDns: "keyData",
  contactStatuses: false,
  registrantChange: true,
};

const rulesOf: Readonly<Record<Exclude<Family, "none">, Rules>> = { eurid, dnsbe, sidn };

/** Refuses what the emulated registry refuses, before any other check. */
export function refuseByFamily(family: Family, { operation, element, extensions }: ParsedFrame): void {
  if (family === "none" || !element) return;
  const rules = rulesOf[family];
  if (rules.absent.includes(operation)) throw new Refusal(2101, `${operation} is not offered here`);
  if (element.uri === contactUri) refuseContact(rules, element);
  if (element.uri === domainUri) refuseDomain(rules, element);
  const secDns = extensions.find(({ uri }) => uri === secDnsUri);
  if (secDns && formsOf(secDns).some((form) => form !== rules.secDns)) {
    throw new Refusal(2306, `secDNS: ${rules.secDns} only`);
  }
}

function refuseContact({ isAuthInfoEmpty, contactStatuses }: Rules, element: XmlElement): void {
  const changes = ["add", "rem"].flatMap((name) => childrenOf(element, name));
  if (!contactStatuses && changes.length > 0) throw new Refusal(2306, "contacts have no statuses to set");
  const infos = [element, ...childrenOf(element, "chg")].flatMap((part) => childrenOf(part, "postalInfo"));
  // The families that are played all take addresses in this form alone.
  if (infos.some(({ attributes }) => attributes.type !== "loc")) throw new Refusal(2306, "an address must be loc");
  if (isAuthInfoEmpty && element.local === "create") refuseAuthInfo(element);
}

function refuseDomain(rules: Rules, element: XmlElement): void {
  const { clientStatuses, contactTypes, isAuthInfoEmpty, registrantChange, months } = rules;
  const change = findChild(element, "chg");
  if (!registrantChange && change && findChild(change, "registrant")) throw new Refusal(2306, "the registrant stays");
  const parts = [element, ...["add", "rem"].flatMap((name) => childrenOf(element, name))];
  const statuses = parts.flatMap((part) => childrenOf(part, "status")).map(({ attributes }) => attributes.s ?? "");
  const strange = statuses.find((status) => !clientStatuses.includes(status));
  if (strange !== undefined) throw new Refusal(2102, `a registrar can't set ${strange}`);
  const types = parts.flatMap((part) => childrenOf(part, "contact")).map(({ attributes }) => attributes.type ?? "");
  const unknown = types.find((type) => !contactTypes.allowed.includes(type));
  if (unknown !== undefined) throw new Refusal(2306, `there are no ${unknown} contacts`);
  if (element.local !== "create") return;
  const period = findChild(element, "period");
  if (months !== undefined && period && monthsIn(period) !== months) throw new Refusal(2306, `${months} months only`);
  const missing = contactTypes.needed.find((type) => !types.includes(type));
  if (missing !== undefined) throw new Refusal(2003, `a ${missing} contact is required`);
  if (isAuthInfoEmpty) refuseAuthInfo(element);
}

const monthsIn = (period: XmlElement) => Number(tokenOf(period)) * (period.attributes.unit === "y" ? monthsPerYear : 1);

function refuseAuthInfo(element: XmlElement): void {
  const authInfo = findChild(element, "authInfo");
  if (authInfo && findChildText(authInfo, "pw")) throw new Refusal(2306, "the registry draws the authInfo");
}

/** The forms of the records in `<secDNS:create>` and in the parts of `<secDNS:update>`. */
function formsOf(secDns: XmlElement): string[] {
  const parts = [secDns, ...["add", "rem"].flatMap((name) => childrenOf(secDns, name))];
  return parts.flatMap(({ children }) => children.map(({ local }) => local)).filter((name) => name.endsWith("Data"));
}
