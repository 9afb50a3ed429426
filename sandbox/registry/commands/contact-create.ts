import { contactUri } from "../namespaces.ts";
import type { CommandHandler, Registry } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { childToken, tag } from "../xml.ts";
import { emailOf, findDisclosure, findPhone, postalInfosOf } from "./contact-data.ts";
import { findAuthInfo, nextRoid } from "./domain-data.ts";
import { contactTypeOf } from "./eurid.ts";
import { sidnContactId } from "./sidn.ts";
import { taxNumberOf } from "./tax-number.ts";

function ownContactId({ settings, store }: Registry): string {
  const number = store.nextNumber();
  return settings.family === "sidn" ? sidnContactId(number) : `SBX${number}`;
}

/** RFC 5733 §3.2.1. With `contactIds: "server"` the id in the command is ignored, as several registries do. */
export const createContact: CommandHandler = ({ registry, registrar, element, extensions }) => {
  const isOurChoice = registry.settings.contactIds === "server";
  const id = isOurChoice ? ownContactId(registry) : childToken(element, "id");
  const contact = {
    postalInfo: postalInfosOf(element),
    voice: findPhone(element, "voice"),
    fax: findPhone(element, "fax"),
    email: emailOf(element),
    authInfo: findAuthInfo(element) ?? "",
    disclose: findDisclosure(element),
    type: contactTypeOf(registry, extensions),
    taxNumber: taxNumberOf(registry.settings, extensions),
  };
  if (registry.store.contacts.find(id)) throw new Refusal(2302, "a contact with this id exists");
  const crDate = registry.now().toISOString();
  const roid = nextRoid(registry, "C");
  registry.store.contacts.put({ id, roid, statuses: [], ...contact, clID: registrar, crID: registrar, crDate });
  return {
    code: 1000,
    resData: tag(
      "contact:creData",
      { "xmlns:contact": contactUri },
      tag("contact:id", {}, id),
      tag("contact:crDate", {}, crDate),
    ),
  };
};
