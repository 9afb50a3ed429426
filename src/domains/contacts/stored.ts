/**
 * Contacts in the database: sealed, under a digest of their data. Orders and registries' contact objects refer to the digest, so
 * what people are called is in one place.
 */
import type { Context } from "#context.ts";
import type { Database, Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { type Contact, type ContactRole, contactRoles, type GivenContacts } from "#domains/contacts/contact.ts";
import type { Sealer } from "#lib/sealed-secret.ts";
import { Secret } from "#lib/secret.ts";

/** Whose contact it is, and what it says. */
export interface OwnedContact {
  resellerId: number;
  data: Contact;
}

/** The digests of contacts by role. */
export type ContactRefs = Partial<Record<ContactRole, string>>;

/** The context under which a contact is sealed: it opens in no other row. */
const contactRow = (resellerId: number, digest: string) => `contacts.data/${resellerId}/${digest}`;

// A row that is there is locked, so that it is not erased before the order that refers to it is committed.
const insertContacts = statement(
  "contacts-insert",
  `INSERT INTO contacts (reseller_id, digest, data_sealed, created_at)
   SELECT $reseller_id, digest, data_sealed, $now
   FROM unnest($digests::text[], $data::bytea[]) AS given(digest, data_sealed) ORDER BY digest
   ON CONFLICT (reseller_id, digest) DO UPDATE SET unused_since = NULL WHERE contacts.unused_since IS NOT NULL`,
  {},
);

const contactByDigest = statement(
  "contact-by-digest",
  "SELECT data_sealed FROM contacts WHERE reseller_id = $reseller_id AND digest = $digest",
  { data_sealed: "bytea" },
);

/** The digests of a contact: under the present master key first, then under those before it. */
export const digestsOf = (sealer: Sealer, { resellerId, data }: OwnedContact): string[] =>
  sealer.hmacs("contact", JSON.stringify([resellerId, data])).map((mac) => mac.toString("hex"));

const digestOf = (sealer: Sealer, contact: OwnedContact): string => digestsOf(sealer, contact)[0]!;

/** What an order keeps of the contacts that it is given. */
export function refsOf({ sealer }: Pick<Context, "sealer">, resellerId: number, given: GivenContacts): ContactRefs {
  const refs: ContactRefs = {};
  for (const role of contactRoles) {
    const data = given[role];
    if (data) refs[role] = digestOf(sealer, { resellerId, data });
  }
  return refs;
}

/** The role of a contact that is not the one that an order has already. */
export function findOtherRole(
  { sealer }: Pick<Context, "sealer">,
  resellerId: number,
  given: GivenContacts,
  refs: ContactRefs,
): ContactRole | undefined {
  return contactRoles.find((role) => {
    const data = given[role];
    return data && !digestsOf(sealer, { resellerId, data }).includes(refs[role] ?? "");
  });
}

type Keeper = Pick<Context, "sealer" | "clock">;

/** Keeps contacts, with the order that refers to them. */
export async function storeContacts(
  context: Keeper,
  tx: Transaction | Database,
  resellerId: number,
  contacts: readonly Contact[],
): Promise<void> {
  await tx.query(insertContacts, rowsOf(context, resellerId, contacts));
}

/** The same at the transaction's commit. */
export function storeContactsAtCommit(
  context: Keeper,
  tx: Transaction,
  resellerId: number,
  contacts: readonly Contact[],
): void {
  tx.atCommit(insertContacts, rowsOf(context, resellerId, contacts));
}

function rowsOf({ sealer, clock }: Keeper, resellerId: number, contacts: readonly Contact[]) {
  const rows = new Map(
    contacts.map((data) => {
      const digest = digestOf(sealer, { resellerId, data });
      return [digest, sealer.seal(contactRow(resellerId, digest), new Secret(JSON.stringify(data)))];
    }),
  );
  const data = [...rows.values()].map((bytes) => `\\x${bytes.toString("hex")}`);
  return { reseller_id: resellerId, digests: [...rows.keys()], data, now: clock.now() };
}

/** The contact of a digest; `undefined` once it is erased. */
export async function findStored(
  { database, sealer }: Pick<Context, "database" | "sealer">,
  resellerId: number,
  digest: string,
): Promise<OwnedContact | undefined> {
  const [row] = await database.query(contactByDigest, { reseller_id: resellerId, digest });
  return row && { resellerId, data: openContact(sealer, resellerId, digest, row.data_sealed) };
}

export function openContact(sealer: Sealer, resellerId: number, digest: string, sealed: Uint8Array): Contact {
  return JSON.parse(sealer.open(contactRow(resellerId, digest), sealed).reveal()) as Contact;
}
