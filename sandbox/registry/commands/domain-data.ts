import { addMonths } from "../clock.ts";
import { isServed, requireDomainName } from "../domain-name.ts";
import { effectOf } from "../labels.ts";
import type { Domain, DomainContact } from "../objects.ts";
import type { Registry } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { otherRegistrarId, registrationYearsMax, type Settings } from "../settings.ts";
import { childrenOf, childToken, findChild, findChildText, tokenOf, type XmlElement } from "../xml.ts";
import { requireContactType } from "./eurid.ts";

export const monthsPerYear = 12;

/** Fixed, so that every answer about a `taken-` name is the same. */
const heldSince = "2020-01-01T00:00:00.000Z";
const heldUntil = "2040-01-01T00:00:00.000Z";

/** The domain of that name: registered, or held by the other registrar because of its label. */
export function findDomain(registry: Registry, name: string): Domain | undefined {
  const isHeld = effectOf(name, registry.settings).held && isServed(name, registry.suffixes);
  return registry.store.domains.find(name) ?? (isHeld ? heldDomain(name, "D0-SBX", heldSince, heldUntil) : undefined);
}

function heldDomain(name: string, roid: string, crDate: string, exDate: string): Domain {
  const clID = otherRegistrarId;
  return { name, roid, contacts: [], statuses: [], clID, crID: clID, crDate, exDate, authInfo: "held-elsewhere" };
}

/** Registers a name for the other registrar, for one year. */
export function registerForOther(registry: Registry, name: string): void {
  const now = registry.now();
  const exDate = addMonths(now, monthsPerYear).toISOString();
  registry.store.domains.put(heldDomain(name, nextRoid(registry, "D"), now.toISOString(), exDate));
}

/** A repository object id that was never used before (RFC 5730 §2.8). */
export function nextRoid(registry: Registry, kind: "D" | "C" | "H"): string {
  return `${kind}${registry.store.nextNumber()}-SBX`;
}

/** The domain of a transform. Refuses with 2303 if it does not exist, 2201 if another registrar sponsors it. */
export function requireOwnDomain(registry: Registry, registrar: string, element: XmlElement): Domain {
  const domain = findDomain(registry, requireDomainName(childToken(element, "name")));
  if (!domain) throw new Refusal(2303, "there is no such name");
  if (domain.clID !== registrar) throw new Refusal(2201, "another registrar sponsors the name");
  return domain;
}

/** Refuses with 2304 while anything is pending, or if client…Prohibited or server…Prohibited is set. */
export function requireStatusAllows(domain: Domain, verb: "Delete" | "Renew" | "Transfer" | "Update"): void {
  requireNothingPending(domain);
  const obstacle = domain.statuses.find(
    (status) => status === `client${verb}Prohibited` || status === `server${verb}Prohibited`,
  );
  if (obstacle) throw new Refusal(2304, obstacle);
}

/** Refuses with 2300 while a transfer is pending, with 2304 if anything else prohibits one. */
export function requireTransferable(domain: Domain): void {
  if (domain.statuses.includes("pendingTransfer")) throw new Refusal(2300, "a transfer is pending already");
  requireStatusAllows(domain, "Transfer");
}

/** Refuses with 2304 while anything about the object is pending. */
export function requireNothingPending({ statuses }: Pick<Domain, "statuses">): void {
  const pending = statuses.find((status) => status.startsWith("pending"));
  if (pending) throw new Refusal(2304, pending);
}

/** The statuses of an add or rem; refuses with 2306 those that a client may not set. */
export function clientStatusesOf(element: XmlElement): string[] {
  const statuses = childrenOf(element, "status").map((status) => status.attributes.s ?? "");
  const foreign = statuses.find((status) => !status.startsWith("client"));
  if (foreign !== undefined) throw new Refusal(2306, `a client may not set ${foreign}`);
  return statuses;
}

/** The statuses after rem and add; refuses with 2306 to remove one that is not set, or to add one that is. */
export function changedStatuses(
  current: readonly string[],
  rem: XmlElement | undefined,
  add: XmlElement | undefined,
): string[] {
  const removed = rem ? clientStatusesOf(rem) : [];
  const added = add ? clientStatusesOf(add) : [];
  const missing = removed.find((status) => !current.includes(status));
  if (missing !== undefined) throw new Refusal(2306, `${missing} is not set, so it can't be removed`);
  const kept = current.filter((status) => !removed.includes(status));
  const double = added.find((status, index) => kept.includes(status) || added.indexOf(status) < index);
  if (double !== undefined) throw new Refusal(2306, `${double} is set already`);
  return [...kept, ...added];
}

const periodForms: Readonly<Record<string, Settings["period"]>> = { y: "years", m: "months" };

/**
 * The `<period>` of a command in months; one year if absent. Anything but whole years up to ten is 2306, and so is another form
 * than the setting's.
 */
export function monthsOf({ settings }: Registry, element: XmlElement): number {
  const period = findChild(element, "period");
  const isForced = settings.period === "years" || settings.period === "months";
  if (!period && isForced && element.local !== "transfer") throw new Refusal(2306, `periods: ${settings.period}`);
  if (!period) return monthsPerYear;
  const form = periodForms[period.attributes.unit ?? ""];
  if (settings.period !== "any" && form !== settings.period) throw new Refusal(2306, `periods: ${settings.period}`);
  const count = Number(tokenOf(period));
  const months = period.attributes.unit === "y" ? count * monthsPerYear : count;
  if (months % monthsPerYear !== 0) throw new Refusal(2306, "only whole years");
  if (months > registrationYearsMax * monthsPerYear) throw new Refusal(2306, `at most ${registrationYearsMax} years`);
  return months;
}

/** The `<domain:contact>` children; each must exist (2303). A thin registry has no contacts (2306). */
export function contactsOf(registry: Registry, parent: XmlElement): DomainContact[] {
  return childrenOf(parent, "contact").map((contact) => {
    const id = requireContact(registry, tokenOf(contact));
    return { type: contact.attributes.type ?? "", id };
  });
}

/** Refuses with 2303 if no contact has this id, and with 2306 if the registry has no contacts. */
export function requireContact(registry: Registry, id: string): string {
  if (registry.settings.dataModel === "thin") throw new Refusal(2306, "this registry has no contacts");
  if (!registry.store.contacts.find(id)) throw new Refusal(2303, `contact ${id} does not exist`);
  return id;
}

/** Refuses with 2306 a name whose contact has another role, by its type or at another name, if a contact has only one. */
export function requireOneRole(registry: Registry, domain: Domain): void {
  for (const { role, id } of rolesOf(domain)) requireContactType(registry, id, role);
  if (!registry.settings.contactPerRole) return;
  const roles = new Map<string, string>();
  const others = registry.store.domains.values().filter(({ name }) => name !== domain.name);
  for (const { role, id } of [...others, domain].flatMap(rolesOf)) {
    const first = roles.get(id) ?? role;
    if (first !== role)
      throw new Refusal(2306, `contact ${id} is a ${first} contact, so it can't be a ${role} contact`);
    roles.set(id, role);
  }
}

function rolesOf({ registrant, contacts }: Domain): { role: string; id: string }[] {
  const others = contacts.map(({ type, id }) => ({ role: type, id }));
  return registrant === undefined ? others : [{ role: "registrant", id: registrant }, ...others];
}

/** The authInfo of a new name. The schema requires one in the command, even if the registry ignores it. */
export function newAuthInfo({ settings, store }: Registry, element: XmlElement): string {
  const presented = findAuthInfo(element) ?? "";
  const drawn = `registry-${store.nextNumber()}`;
  return { registrar: presented, registry: drawn, "registry-shown": drawn, none: "" }[settings.authInfo];
}

/** Refuses a wrong authInfo with 2202. An empty one is always wrong, even for an object without authInfo. */
export function requireRightAuthInfo(presented: string | undefined, { authInfo }: { authInfo: string }): void {
  if (presented === undefined) return;
  if (presented === "" || presented !== authInfo) throw new Refusal(2202, "this is not the object's authInfo");
}

/** The password of an `<authInfo>`; undefined without authInfo. An `<ext>` is not supported (2102). */
export function findAuthInfo(parent: XmlElement): string | undefined {
  const authInfo = findChild(parent, "authInfo");
  if (!authInfo) return undefined;
  if (findChild(authInfo, "ext")) throw new Refusal(2102, "authInfo is a password here");
  return findChildText(authInfo, "pw");
}
