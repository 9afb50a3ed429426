import { secDnsUri } from "../namespaces.ts";
import type { DelegationSigner, DnsKey, DnsSecurity } from "../objects.ts";
import { Refusal } from "../result-codes.ts";
import { childrenOf, childToken, findChild, type Markup, optionalTag, tag, tokenOf, type XmlElement } from "../xml.ts";

/** Records of one name: more than a resolver would use. */
const recordsMax = 10;

/** Digest lengths of the types that are in use (RFC 4509, 5933, 6605). */
const digestBytes: Readonly<Record<number, number>> = { 1: 20, 2: 32, 3: 32, 4: 48 };

const none: DnsSecurity = { dsData: [], keyData: [] };

/** `<secDNS:create>` (RFC 5910 §5.2.1). */
export function createDnsSecurity(element: XmlElement): DnsSecurity {
  return requireSensible(add(none, element));
}

/**
 * `<secDNS:update>`: rem, then add, then chg (RFC 5910 §5.2.5); undefined if no record is left. Refuses with 2306 to remove a
 * missing record or to add an existing one, and with 2102 an urgent change.
 */
export function updateDnsSecurity(current: DnsSecurity | undefined, element: XmlElement): DnsSecurity | undefined {
  const rem = findChild(element, "rem");
  const added = findChild(element, "add");
  const chg = findChild(element, "chg");
  if (!rem && !added && !chg) throw new Refusal(2003, "secDNS: rem, add or chg is required");
  if (/^(1|true)$/.test(element.attributes.urgent ?? "")) throw new Refusal(2102, "secDNS: urgent changes");
  let updated = current ?? none;
  if (rem) updated = remove(updated, rem);
  if (added) updated = add(updated, added);
  const life = chg && findChild(chg, "maxSigLife");
  if (life) updated = { ...updated, maxSigLife: Number(tokenOf(life)) };
  return updated.dsData.length + updated.keyData.length > 0 ? requireSensible(updated) : undefined;
}

function add(current: DnsSecurity, element: XmlElement): DnsSecurity {
  const life = findChild(element, "maxSigLife");
  const dsData = childrenOf(element, "dsData").map(signerOf);
  const keyData = childrenOf(element, "keyData").map(keyOf);
  return {
    maxSigLife: life ? Number(tokenOf(life)) : current.maxSigLife,
    dsData: [...current.dsData, ...dsData],
    keyData: [...current.keyData, ...keyData],
  };
}

function remove(current: DnsSecurity, rem: XmlElement): DnsSecurity {
  const all = findChild(rem, "all");
  if (all) return /^(1|true)$/.test(tokenOf(all)) ? none : current;
  return {
    ...current,
    dsData: without(current.dsData, childrenOf(rem, "dsData").map(signerOf), signerIdentity),
    keyData: without(current.keyData, childrenOf(rem, "keyData").map(keyOf), keyIdentity),
  };
}

function without<Item>(items: Item[], removed: Item[], identityOf: (item: Item) => string): Item[] {
  const gone = new Set(removed.map(identityOf));
  const left = items.filter((item) => !gone.has(identityOf(item)));
  if (left.length + gone.size > items.length) throw new Refusal(2306, "secDNS: a record to remove does not exist");
  return left;
}

/** A name has records of one form, never of both (RFC 5910 §4). */
function requireSensible(security: DnsSecurity): DnsSecurity {
  const { dsData, keyData } = security;
  if (dsData.length > 0 && keyData.length > 0) throw new Refusal(2306, "secDNS: dsData and keyData do not mix");
  if (dsData.length + keyData.length > recordsMax) throw new Refusal(2306, `secDNS: at most ${recordsMax} records`);
  const identities = [...dsData.map(signerIdentity), ...keyData.map(keyIdentity)];
  if (new Set(identities).size < identities.length) throw new Refusal(2306, "secDNS: a record exists already");
  return security;
}

/** The identity of a record; the key of a DS record is not part of it. */
function signerIdentity({ keyTag, alg, digestType, digest }: DelegationSigner): string {
  return [keyTag, alg, digestType, digest].join(" ");
}

function keyIdentity({ flags, protocol, alg, pubKey }: DnsKey): string {
  return [flags, protocol, alg, pubKey].join(" ");
}

function signerOf(element: XmlElement): DelegationSigner {
  const digestType = Number(childToken(element, "digestType"));
  const digest = childToken(element, "digest").toUpperCase();
  const bytes = digestBytes[digestType];
  if (bytes === undefined) throw new Refusal(2306, `secDNS: digest type ${digestType} is not supported`);
  if (digest.length !== bytes * 2) throw new Refusal(2005, `secDNS: a digest of type ${digestType} has ${bytes} bytes`);
  const key = findChild(element, "keyData");
  return {
    keyTag: Number(childToken(element, "keyTag")),
    alg: Number(childToken(element, "alg")),
    digestType,
    digest,
    keyData: key && keyOf(key),
  };
}

function keyOf(element: XmlElement): DnsKey {
  const protocol = Number(childToken(element, "protocol"));
  if (protocol !== 3) throw new Refusal(2005, "secDNS: the protocol of a key is 3 (RFC 4034 §2.1.2)");
  return {
    flags: Number(childToken(element, "flags")),
    protocol,
    alg: Number(childToken(element, "alg")),
    pubKey: childToken(element, "pubKey").replaceAll(" ", ""),
  };
}

/** `<secDNS:infData>` (RFC 5910 §5.1.2). */
export function dnsSecurityTag({ maxSigLife, dsData, keyData }: DnsSecurity): Markup {
  return tag(
    "secDNS:infData",
    { "xmlns:secDNS": secDnsUri },
    optionalTag("secDNS:maxSigLife", maxSigLife?.toString()),
    dsData.map((signer) =>
      tag(
        "secDNS:dsData",
        {},
        tag("secDNS:keyTag", {}, String(signer.keyTag)),
        tag("secDNS:alg", {}, String(signer.alg)),
        tag("secDNS:digestType", {}, String(signer.digestType)),
        tag("secDNS:digest", {}, signer.digest),
        signer.keyData ? keyTag(signer.keyData) : [],
      ),
    ),
    keyData.map(keyTag),
  );
}

function keyTag({ flags, protocol, alg, pubKey }: DnsKey): Markup {
  return tag(
    "secDNS:keyData",
    {},
    tag("secDNS:flags", {}, String(flags)),
    tag("secDNS:protocol", {}, String(protocol)),
    tag("secDNS:alg", {}, String(alg)),
    tag("secDNS:pubKey", {}, pubKey),
  );
}
