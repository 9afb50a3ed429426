export const eppNamespace = "urn:ietf:params:xml:ns:epp-1.0";
export const domainNamespace = "urn:ietf:params:xml:ns:domain-1.0";
export const contactNamespace = "urn:ietf:params:xml:ns:contact-1.0";
export const hostNamespace = "urn:ietf:params:xml:ns:host-1.0";
export const secDnsNamespace = "urn:ietf:params:xml:ns:secDNS-1.1";
export const rgpNamespace = "urn:ietf:params:xml:ns:rgp-1.0";
export const feeNamespace = "urn:ietf:params:xml:ns:epp:fee-1.0";
export const allocationTokenNamespace = "urn:ietf:params:xml:ns:allocationToken-1.0";
export const launchNamespace = "urn:ietf:params:xml:ns:launch-1.0";
export const loginSecNamespace = "urn:ietf:params:xml:ns:epp:loginSec-1.0";
export const changePollNamespace = "urn:ietf:params:xml:ns:changePoll-1.0";
/** Data of messages that servers announce as objects, although no command is about them. */
export const lowBalanceNamespace = "http://www.verisign.com/epp/lowbalance-poll-1.0";
export const rgpPollNamespace = "http://www.verisign.com/epp/rgp-poll-1.0";
/** Data of proprietary messages, which registries announce as extensions. */
export const nominetNotificationsNamespace = "http://www.nominet.org.uk/epp/xml/std-notifications-1.2";
export const nominetAbuseNamespace = "http://www.nominet.org.uk/epp/xml/nom-abuse-feed-1.0";
export const euridPollNamespace = "http://www.eurid.eu/xml/epp/poll-1.2";
