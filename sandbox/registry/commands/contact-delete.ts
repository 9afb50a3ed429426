import type { CommandHandler } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { isLinked, requireOwnContact } from "./contact-data.ts";

/** RFC 5733 §3.2.2: 2305 while a domain uses the contact. */
export const deleteContact: CommandHandler = ({ registry, registrar, element }) => {
  const contact = requireOwnContact(registry, registrar, element);
  if (contact.statuses.includes("clientDeleteProhibited")) throw new Refusal(2304, "clientDeleteProhibited");
  if (isLinked(registry, contact.id)) throw new Refusal(2305, "a domain uses the contact");
  registry.store.contacts.delete(contact.id);
  return { code: 1000 };
};
