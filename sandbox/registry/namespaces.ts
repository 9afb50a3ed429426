export const eppUri = "urn:ietf:params:xml:ns:epp-1.0";
export const domainUri = "urn:ietf:params:xml:ns:domain-1.0";
export const contactUri = "urn:ietf:params:xml:ns:contact-1.0";
export const hostUri = "urn:ietf:params:xml:ns:host-1.0";

export const rgpUri = "urn:ietf:params:xml:ns:rgp-1.0";
export const secDnsUri = "urn:ietf:params:xml:ns:secDNS-1.1";
export const feeUri = "urn:ietf:params:xml:ns:epp:fee-1.0";
export const loginSecUri = "urn:ietf:params:xml:ns:epp:loginSec-1.0";
export const changePollUri = "urn:ietf:params:xml:ns:changePoll-1.0";

/** The names of the objects of RFC 5731 to 5733 in the journal. */
export const objectNames: Readonly<Record<string, string>> = {
  [domainUri]: "domain",
  [contactUri]: "contact",
  [hostUri]: "host",
};

export type ExtensionName = "rgp" | "secDNS" | "fee" | "loginSec" | "changePoll";

/** The names of the available extensions (RFC 3915, 5910, 8748, 8807, 8590) in the settings. */
export const extensionNames: Readonly<Record<string, ExtensionName>> = {
  [rgpUri]: "rgp",
  [secDnsUri]: "secDNS",
  [feeUri]: "fee",
  [loginSecUri]: "loginSec",
  [changePollUri]: "changePoll",
};
