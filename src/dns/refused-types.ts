/** Types that a zone cannot have here, and why. */
const automatic = "is made when the zone is signed, and cannot be written";
const alias = "is not a type of the DNS: use CNAME, or A and AAAA at the apex";
const later = "is not supported";

const reasons: Readonly<Record<string, string>> = {
  SOA: "is written by the service, for each version of the zone",
  DNSKEY: automatic,
  CDS: automatic,
  CDNSKEY: automatic,
  RRSIG: automatic,
  NSEC: automatic,
  NSEC3: automatic,
  NSEC3PARAM: automatic,
  DNAME: "is not supported: write the names below it one by one",
  SPF: 'is obsolete (RFC 7208 §3.1): use TXT with "v=spf1 …"',
  ALIAS: alias,
  ANAME: alias,
  LOC: later,
  NAPTR: later,
  OPENPGPKEY: later,
  SMIMEA: later,
  URI: later,
  ANY: "is a question, not a type of records",
  AXFR: "is a question, not a type of records",
  IXFR: "is a question, not a type of records",
};

/** The sentence that refuses a type. @param type in upper case */
export function refusalOf(type: string): string {
  if (/^TYPE\d+$|^\d+$/.test(type)) return "Give the name of a type, such as A, not its number.";
  const name = /^[A-Z0-9-]{1,16}$/.test(type) ? type : "This type";
  return `${name} ${reasons[type] ?? "is not a type that a zone here can have"}.`;
}
