export const eppUri = "urn:ietf:params:xml:ns:epp-1.0";
export const domainUri = "urn:ietf:params:xml:ns:domain-1.0";
export const contactUri = "urn:ietf:params:xml:ns:contact-1.0";
export const hostUri = "urn:ietf:params:xml:ns:host-1.0";

export const rgpUri = "urn:ietf:params:xml:ns:rgp-1.0";
export const secDnsUri = "urn:ietf:params:xml:ns:secDNS-1.1";
export const feeUri = "urn:ietf:params:xml:ns:epp:fee-1.0";
export const loginSecUri = "urn:ietf:params:xml:ns:epp:loginSec-1.0";
export const changePollUri = "urn:ietf:params:xml:ns:changePoll-1.0";
export const allocationTokenUri = "urn:ietf:params:xml:ns:allocationToken-1.0";
export const launchUri = "urn:ietf:params:xml:ns:launch-1.0";
/** Extensions of single registries, which have no schema here. */
export const namestoreUri = "http://www.verisign-grs.com/epp/namestoreExt-1.1";
export const contactExtUri = "http://www.eurid.eu/xml/epp/contact-ext-1.3";
export const domainExtUri = "http://www.eurid.eu/xml/epp/domain-ext-2.4";
export const issuedAuthInfoUri = "http://www.eurid.eu/xml/epp/authInfo-1.1";
export const dnsbeUri = "http://www.dns.be/xml/epp/dnsbe-1.0";
export const sidnUri = "http://rxsd.domain-registry.nl/sidn-ext-epp-1.0";
/** An invented one, with what only one registry knows of contacts. */
export const taxNumberUri = "urn:example:taxNumber-1.0";
/** An invented one, by which the registry sends a name's authInfo to its registrant. */
export const authCodeUri = "urn:example:authCode-1.0";
/** Announced as an object, although no command is about it. */
export const lowBalanceUri = "http://www.verisign.com/epp/lowbalance-poll-1.0";

/** The names of the objects of RFC 5731 to 5733 in the journal. */
export const objectNames: Readonly<Record<string, string>> = {
  [domainUri]: "domain",
  [contactUri]: "contact",
  [hostUri]: "host",
};

/** The names of the available extensions in the settings: RFC 3915, 5910, 8748, 8807, 8590, 8495, 8334; then single registries'. */
export const extensionNames = {
  [rgpUri]: "rgp",
  [secDnsUri]: "secDNS",
  [feeUri]: "fee",
  [loginSecUri]: "loginSec",
  [changePollUri]: "changePoll",
  [allocationTokenUri]: "allocationToken",
  [launchUri]: "launch",
  [namestoreUri]: "namestoreExt",
  [contactExtUri]: "contact-ext",
  [domainExtUri]: "domain-ext",
  [issuedAuthInfoUri]: "authInfo",
  [dnsbeUri]: "dnsbe",
  [sidnUri]: "sidn",
  [taxNumberUri]: "taxNumber",
  [authCodeUri]: "authCode",
} as const satisfies Record<string, string>;

export type ExtensionName = (typeof extensionNames)[keyof typeof extensionNames];

/** The name of an extension, for texts. */
export const extensionNameOf = (uri: string): string => (extensionNames as Record<string, string>)[uri] ?? uri;
