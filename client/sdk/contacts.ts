import { answerOf, objectBody, placedOrder } from "./response.ts";
import type { Send } from "./transport.ts";
import type { Answer, CallOptions, Contacts, ContactsOfDomain, PlacedOrder, WriteOptions } from "./types.ts";

/** The calls for a name's contacts. */
export interface ContactCalls {
  getContacts(domainName: string, options?: CallOptions): Promise<Answer<ContactsOfDomain>>;
  /** Orders other contacts; those left out stay. */
  setContacts(domainName: string, contacts: Contacts, options?: WriteOptions): Promise<PlacedOrder>;
}

export function contactCalls(send: Send): ContactCalls {
  const pathOf = (domainName: string) => `/domains/${encodeURIComponent(domainName)}/contacts`;
  return {
    async getContacts(domainName, { signal } = {}) {
      const reply = await send({ method: "GET", path: pathOf(domainName), signal });
      return answerOf(reply, objectBody<ContactsOfDomain>(reply));
    },

    async setContacts(domainName, contacts, options = {}) {
      return placedOrder(await send({ method: "PUT", path: pathOf(domainName), body: contacts, ...options }));
    },
  };
}
