/**
 * What DNS Belgium's registry does by a proprietary extension: types of contacts, the billing contact of an account,
 * quarantine.
 */
import { dnsbeUri } from "../namespaces.ts";
import type { Domain } from "../objects.ts";
import type { CommandContext, Registry } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { findChild, type Markup, optionalTag, tag, tokenOf, type XmlElement } from "../xml.ts";

const firstBillingId = 101;
const contactTypes = new Set(["licensee", "onsite", "tech"]);

/** `<dnsbe:ext>` has the verb, which has the object. */
function findObject(extensions: readonly XmlElement[], verb: string, object: string): XmlElement | undefined {
  const extension = extensions.find(({ uri }) => uri === dnsbeUri);
  const inner = extension && findChild(extension, verb);
  return inner && findChild(inner, object);
}

/** The role of a new contact: 2003 without a type or a language, 2005 for an unknown type, 2306 for another billing contact. */
export function roleOfContact(extensions: readonly XmlElement[]): string {
  const contact = findObject(extensions, "create", "contact");
  const type = contact && findChild(contact, "type");
  if (!type) throw new Refusal(2003, "a contact needs a type");
  if (!findChild(contact, "lang")) throw new Refusal(2003, "a contact needs a language");
  if (tokenOf(type) === "billing") throw new Refusal(2306, "an account has one billing contact");
  if (!contactTypes.has(tokenOf(type))) throw new Refusal(2005, "there is no such type of contact");
  return tokenOf(type) === "licensee" ? "registrant" : tokenOf(type);
}

/** At this family each account has its billing contact from the start: c101 is that of the first registrar, and so on. */
export function addBillingContacts({ settings, registrars, store, now }: Registry): void {
  if (settings.family !== "dnsbe") return;
  const crDate = now().toISOString();
  for (const [index, clID] of [...registrars.keys()].entries()) {
    const id = `c${firstBillingId + index}`;
    if (store.contacts.find(id)) continue;
    const address = { street: ["1 Example Street"], city: "Brussels", pc: "1000", cc: "BE" };
    const postalInfo = [{ type: "loc", name: clID, ...address }];
    const email = "billing@example.net";
    const contact = { postalInfo, email, authInfo: "", type: "billing", statuses: [] };
    store.contacts.put({ id, roid: `C${id}-SBX`, ...contact, clID, crID: clID, crDate });
  }
}

/** The states of a name, for an info that asks for version 2.0. */
export function dnsbeTags({ extensions }: CommandContext, { statuses, deletion }: Domain): Markup[] {
  if (findObject(extensions, "info", "domain")?.attributes.version !== "2.0") return [];
  const domain = tag(
    "dnsbe:domain",
    {},
    tag("dnsbe:onhold", {}, String(statuses.includes("serverTransferProhibited"))),
    tag("dnsbe:quarantined", {}, String(deletion !== undefined)),
    optionalTag("dnsbe:availableDate", deletion?.until),
  );
  return [tag("dnsbe:ext", { "xmlns:dnsbe": dnsbeUri }, tag("dnsbe:infData", {}, domain))];
}
