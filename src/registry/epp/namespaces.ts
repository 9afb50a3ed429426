export const eppNamespace = "urn:ietf:params:xml:ns:epp-1.0";
export const domainNamespace = "urn:ietf:params:xml:ns:domain-1.0";
export const contactNamespace = "urn:ietf:params:xml:ns:contact-1.0";
