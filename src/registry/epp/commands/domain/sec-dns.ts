/** DNSSEC of a domain (RFC 5910): an extension of domain create, update and info. */
import { secDnsNamespace } from "#registry/epp/namespaces.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { elementsOf, findChild, findChildren, findText, getText, tolerate, XmlError } from "#registry/epp/xml/xml.ts";

/** RFC 5910 §3.3: a DNSKEY record's fields. */
export interface KeyData {
  readonly flags: number;
  readonly protocol: number;
  readonly alg: number;
  /** Base64. */
  readonly pubKey: string;
}

/** A DS record's fields, with its key if the registry verifies it. */
export interface DsData {
  readonly keyTag: number;
  readonly alg: number;
  readonly digestType: number;
  /** Hexadecimal. */
  readonly digest: string;
  readonly keyData?: KeyData;
}

/** RFC 5910 §4: a registry accepts either DS records or keys, never both. */
export interface SecDns {
  readonly maxSigLifeSeconds?: number;
  readonly dsData?: readonly DsData[];
  readonly keyData?: readonly KeyData[];
}

export interface SecDnsUpdate {
  readonly remove?: "all" | Pick<SecDns, "dsData" | "keyData">;
  readonly add?: SecDns;
  readonly maxSigLifeSeconds?: number;
  /** Requests an immediate change; a registry without this service answers 2306. */
  readonly urgent?: boolean;
}

const secDns = elementsOf(secDnsNamespace);

/** RFC 5910 §5.2.1. */
export function secDnsCreateElement(request: SecDns | undefined): XmlElement | undefined {
  return request && secDns("create", secDnsChildren(request));
}

/** RFC 5910 §5.2.5. Removals precede additions. */
export function secDnsUpdateElement(request: SecDnsUpdate | undefined): XmlElement | undefined {
  if (!request) return undefined;
  const { remove, add, maxSigLifeSeconds, urgent } = request;
  const removed = remove === "all" ? [secDns("all", ["true"])] : remove && secDnsChildren(remove);
  return secDns(
    "update",
    [
      removed && secDns("rem", removed),
      add && secDns("add", secDnsChildren(add)),
      maxSigLifeSeconds === undefined ? undefined : secDns("chg", [maxSigLifeElement(maxSigLifeSeconds)]),
    ],
    urgent ? { urgent: "true" } : {},
  );
}

function maxSigLifeElement(seconds: number): XmlElement {
  return secDns("maxSigLife", [String(seconds)]);
}

function secDnsChildren({ maxSigLifeSeconds, dsData = [], keyData = [] }: SecDns): (XmlElement | undefined)[] {
  return [
    maxSigLifeSeconds === undefined ? undefined : maxSigLifeElement(maxSigLifeSeconds),
    ...dsData.map((ds) =>
      secDns("dsData", [
        ...numbers(ds, ["keyTag", "alg", "digestType"]),
        secDns("digest", [ds.digest]),
        ds.keyData && keyDataElement(ds.keyData),
      ]),
    ),
    ...keyData.map(keyDataElement),
  ];
}

function keyDataElement(key: KeyData): XmlElement {
  return secDns("keyData", [...numbers(key, ["flags", "protocol", "alg"]), secDns("pubKey", [key.pubKey])]);
}

function numbers<Name extends string>(values: Readonly<Record<Name, number>>, names: readonly Name[]): XmlElement[] {
  return names.map((name) => secDns(name, [String(values[name])]));
}

/**
 * RFC 5910 §5.1.2: the DNSSEC data of an info's answer; undefined when it has none, or none that can be read: an info decides
 * about orders, for which keys do not matter.
 */
export function findSecDns(extension: XmlElement | undefined): SecDns | undefined {
  const infData = findChild(extension, secDnsNamespace, "infData");
  return infData && tolerate(() => parseSecDns(infData));
}

function parseSecDns(infData: XmlElement): SecDns {
  const maxSigLife = findText(infData, secDnsNamespace, "maxSigLife");
  const dsData = findChildren(infData, secDnsNamespace, "dsData").map(parseDsData);
  const keyData = findChildren(infData, secDnsNamespace, "keyData").map(parseKeyData);
  return {
    ...(maxSigLife !== undefined && { maxSigLifeSeconds: Number(maxSigLife) }),
    ...(dsData.length > 0 && { dsData }),
    ...(keyData.length > 0 && { keyData }),
  };
}

function parseDsData(element: XmlElement): DsData {
  const key = findChild(element, secDnsNamespace, "keyData");
  return {
    keyTag: getNumber(element, "keyTag"),
    alg: getNumber(element, "alg"),
    digestType: getNumber(element, "digestType"),
    digest: getText(element, secDnsNamespace, "digest").toUpperCase(),
    ...(key && { keyData: parseKeyData(key) }),
  };
}

function parseKeyData(element: XmlElement): KeyData {
  return {
    flags: getNumber(element, "flags"),
    protocol: getNumber(element, "protocol"),
    alg: getNumber(element, "alg"),
    // Keys are long, and servers fold them.
    pubKey: getText(element, secDnsNamespace, "pubKey").replace(/\s+/g, ""),
  };
}

function getNumber(element: XmlElement, name: string): number {
  const text = getText(element, secDnsNamespace, name);
  if (!/^\d{1,5}$/.test(text)) throw new XmlError(`<${name}> is not a number`);
  return Number(text);
}
