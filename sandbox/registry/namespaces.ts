export const eppUri = "urn:ietf:params:xml:ns:epp-1.0";
export const domainUri = "urn:ietf:params:xml:ns:domain-1.0";
export const contactUri = "urn:ietf:params:xml:ns:contact-1.0";

export const loginSecUri = "urn:ietf:params:xml:ns:epp:loginSec-1.0";

/** The object services of the greeting, and the names the journal gives them. */
export const objectNames: Readonly<Record<string, string>> = { [domainUri]: "domain", [contactUri]: "contact" };

/** The extensions of the greeting's `<svcExtension>`. */
export const extensionUris: readonly string[] = [loginSecUri];
