/**
 * Domains that a message names in a registry's proprietary data, which no RFC describes. Where they stand is itself data: paths
 * of element names, either from the forms here or from a rule in a profile (message-rules.ts).
 */
import { isElement, textOf, type XmlElement } from "#registry/epp/xml/xml.ts";

/** Where the data of one registry's messages name domains. */
export interface NamingForm {
  /** How the namespace of the data ends, whatever its version. */
  readonly namespace: RegExp;
  /** Local names of the data. */
  readonly data: readonly string[];
  /** Paths of local names below the data, as "domainListData/domainName". */
  readonly names: readonly string[];
  /** Paths to what people want to know in addition to the text. */
  readonly facts: readonly string[];
}

const nominet = /^http:\/\/www\.nominet\.org\.uk\/epp\/xml\/(?:std|nom)-notifications-\d+\.\d+$/;
const facts = ["reason", "cancelDate", "processType", "suspendDate", "from", "registrarTag"];

/**
 * - Nominet, registrar documentation "EPP Notifications": domains that were cancelled (cancData), released to another registrar (relData),
 *   moved to us or offered to us (rcData), suspended (suspData), given to another registrant (trnData), or checked for the quality of their
 *   data (processData); hosts that were cancelled, with the domains that used them (hostCancData); a referral that was rejected
 *   (domainFailData; an accepted one is a `<domain:creData>`); and the abuse feed.
 * - EURid, registration guidelines for EPP, poll-1.2; objects that are no domains have no name under a suffix.
 * - DNS Belgium, EPP guidelines, dnsbe-1.0: as in the tests of the Perl library Net::DRI.
 */
const forms: readonly NamingForm[] = [
  { namespace: nominet, data: ["cancData", "domainFailData"], names: ["domainName"], facts },
  {
    namespace: nominet,
    data: ["relData", "rcData", "suspData", "trnData", "processData", "hostCancData"],
    names: ["domainListData/domainName", "domainListData/infData/name"],
    facts: [...facts, "hostListData/hostObj"],
  },
  {
    namespace: /^http:\/\/www\.nominet\.org\.uk\/epp\/xml\/nom-abuse-feed-\d+\.\d+$/,
    data: ["infData"],
    names: ["key"],
    facts: ["activity", "source", "hostname", "date"],
  },
  {
    namespace: /^http:\/\/www\.eurid\.eu\/xml\/epp\/poll-\d+\.\d+$/,
    data: ["pollData"],
    names: ["object"],
    facts: ["context", "action"],
  },
  {
    namespace: /^http:\/\/www\.dns\.be\/xml\/epp\/dnsbe-\d+\.\d+$/,
    data: ["pollRes"],
    names: ["domainname"],
    facts: ["type", "action"],
  },
];

/** What the data of a message name. */
export interface NamedData {
  /** Lower-case names as they stand there, each once. */
  readonly names: readonly string[];
  /** As `reason "Data Quality"`. */
  readonly facts: readonly string[];
}

/** What the forms that are known find in a message's data; undefined when none of them fits. */
export function findNamedData(data: readonly XmlElement[]): NamedData | undefined {
  const found = data.flatMap((element) => {
    const form = forms.find(({ namespace, data: names }) => {
      return names.includes(element.name) && namespace.test(element.namespace);
    });
    return form ? [{ element, form }] : [];
  });
  if (found.length === 0) return undefined;
  return {
    names: namesIn(found.flatMap(({ element, form }) => textsAt(element, form.names))),
    facts: found.flatMap(({ element, form }) => factsAt(element, form.facts)),
  };
}

/** The names at these paths below each element of the data with this local name. */
export function namesAt(data: readonly XmlElement[], name: string, paths: readonly string[]): string[] {
  return namesIn(data.filter((element) => element.name === name).flatMap((element) => textsAt(element, paths)));
}

/** Without the root's dot, with which some registries end names. */
const namesIn = (texts: readonly string[]): string[] => [
  ...new Set(texts.map((text) => text.toLowerCase().replace(/\.$/, "")).filter((name) => namePattern.test(name))),
];

const namePattern = /^(?:[a-z0-9-]{1,63}\.){1,10}[a-z0-9-]{1,63}$/;

const textsAt = (element: XmlElement, paths: readonly string[]): string[] =>
  paths.flatMap((path) => elementsAt([element], path.split("/")).map(textOf)).filter((text) => text !== "");

const factCharsMax = 200;
const factsMax = 20;

const factsAt = (element: XmlElement, paths: readonly string[]): string[] =>
  paths
    .flatMap((path) =>
      textsAt(element, [path]).map((text) => `${path.replace(/^.*\//, "")} "${text.slice(0, factCharsMax)}"`),
    )
    .slice(0, factsMax);

function elementsAt(parents: readonly XmlElement[], [step, ...rest]: readonly string[]): readonly XmlElement[] {
  if (step === undefined) return parents;
  const children = parents.flatMap(({ children }) => children.filter(isElement).filter(({ name }) => name === step));
  return elementsAt(children, rest);
}

const wrapperNamespace = /\/sidn-ext-epp-\d+\.\d+$/;

/**
 * The `<resData>` of the answer that a message brings later: SIDN's messages wrap it, as `<pollData><command/><data><result/><resData>`
 * (as the PHP library php-epp-client reads them).
 */
export function findWrappedData(resData: XmlElement | undefined): XmlElement | undefined {
  const wrappers =
    resData?.children.filter(isElement).filter(({ namespace }) => wrapperNamespace.test(namespace)) ?? [];
  return elementsAt(
    wrappers.filter(({ name }) => name === "pollData"),
    ["data", "resData"],
  )[0];
}
