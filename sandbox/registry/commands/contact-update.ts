import type { Contact, PostalInfo } from "../objects.ts";
import type { CommandHandler } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { childrenOf, findChild, findChildText, type XmlElement } from "../xml.ts";
import { addressOf, emailOf, findDisclosure, findPhone, requireOwnContact } from "./contact-data.ts";
import { changedStatuses, clientStatusesOf, findAuthInfo } from "./domain-data.ts";

/** RFC 5733 §3.2.5: rem, then add, then chg, all or nothing. */
export const updateContact: CommandHandler = ({ registry, registrar, element }) => {
  const contact = requireOwnContact(registry, registrar, element);
  const rem = findChild(element, "rem");
  const add = findChild(element, "add");
  const chg = findChild(element, "chg");
  if (!rem && !add && !chg) throw new Refusal(2003, "add, rem or chg is required");
  const removed = rem ? clientStatusesOf(rem) : [];
  if (contact.statuses.includes("clientUpdateProhibited") && !removed.includes("clientUpdateProhibited")) {
    throw new Refusal(2304, "clientUpdateProhibited");
  }
  const statuses = changedStatuses(contact.statuses, rem, add);
  registry.store.contacts.put({
    ...contact,
    ...(chg && changesOf(contact, chg)),
    statuses,
    upID: registrar,
    upDate: registry.now().toISOString(),
  });
  return { code: 1000 };
};

function changesOf(contact: Contact, chg: XmlElement): Partial<Contact> {
  return {
    postalInfo: childrenOf(chg, "postalInfo").reduce(changePostalInfo, contact.postalInfo),
    ...(findChild(chg, "voice") && { voice: findPhone(chg, "voice") }),
    ...(findChild(chg, "fax") && { fax: findPhone(chg, "fax") }),
    ...(findChild(chg, "email") && { email: emailOf(chg) }),
    ...(findChild(chg, "authInfo") && { authInfo: findAuthInfo(chg) ?? "" }),
    ...(findChild(chg, "disclose") && { disclose: findDisclosure(chg) }),
  };
}

/** Changes the postalInfo of the same type; a new type must be complete (2003). */
function changePostalInfo(infos: PostalInfo[], chg: XmlElement): PostalInfo[] {
  const type = chg.attributes.type ?? "";
  const current = infos.find((info) => info.type === type);
  const address = findChild(chg, "addr");
  const changed = { ...current, type, ...(address && addressOf(address)) };
  const name = findChildText(chg, "name") ?? changed.name;
  const { street, city, cc } = changed;
  if (name === undefined || !street || city === undefined || cc === undefined) {
    throw new Refusal(2003, `the ${type} address does not exist yet: name and addr are required`);
  }
  const org = findChildText(chg, "org") ?? changed.org;
  return [...infos.filter((info) => info.type !== type), { ...changed, name, org, street, city, cc }];
}
