import { answerOf, idFromLocation, objectBody } from "./response.ts";
import { newIdempotencyKey } from "./sign.ts";
import type { Send } from "./transport.ts";
import type { Answer, CallOptions, CreateOptions } from "./types.ts";

/** A person or company that a name names. A contact that is sent must be complete. */
export interface Contact {
  first_name: string;
  last_name: string;
  company_name?: string | undefined;
  email: string;
  /** With its country's code: `+32.25550100`. */
  phone: string;
  fax?: string | undefined;
  address: string;
  postal_code: string;
  city: string;
  state?: string | undefined;
  /** ISO 3166-1, like `BE`. */
  country_code: string;
  language_code?: string | undefined;
  enterprise_number?: string | undefined;
  /** What only some registries ask for, such as a tax number. */
  extra_fields?: { name: string; value: string }[] | undefined;
}

export type ContactRole = "registrant" | "admin" | "tech" | "billing";

/** Contacts by role. */
export type Contacts = { [Role in ContactRole]?: Contact | undefined };

/** The calls for a name's contacts. */
export interface ContactCalls {
  /** Null: the name has no such contact, or one that was not made here. */
  getContacts(domainName: string, options?: CallOptions): Promise<Answer<Record<ContactRole, Contact | null>>>;
  /** Orders other contacts; those left out stay. Follow `data.order_code` with `waitForOrder`. */
  setContacts(domainName: string, contacts: Contacts, options?: CreateOptions): Promise<Answer<{ order_code: string }>>;
}

export function contactCalls(send: Send): ContactCalls {
  const pathOf = (domainName: string) => `/domains/${encodeURIComponent(domainName)}/contacts`;
  return {
    async getContacts(domainName, { signal } = {}) {
      const reply = await send({ method: "GET", path: pathOf(domainName), signal });
      return answerOf(reply, objectBody<Record<ContactRole, Contact | null>>(reply));
    },

    async setContacts(domainName, contacts, { idempotencyKey = newIdempotencyKey(), signal } = {}) {
      const reply = await send({ method: "PUT", path: pathOf(domainName), body: contacts, idempotencyKey, signal });
      return answerOf(reply, { order_code: idFromLocation(reply) });
    },
  };
}
