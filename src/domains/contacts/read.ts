/** GET /domains/<domain_name>/contacts: whom the registry shows, by the data that they were made of. */
import Type, { type Static } from "typebox";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import {
  type Contact,
  type ContactRole,
  contactOfProfile,
  contactRoles,
  contactShape,
  findProfile,
  isRequiredRole,
  joinedProfileColumns,
  type ProfileRow,
  profileColumnNames,
} from "#domains/contacts/contact.ts";
import { openContact } from "#domains/contacts/stored.ts";
import { ApiError } from "#errors.ts";
import { parsePathName } from "#use-case/path-name.ts";
import type { UseCase } from "#use-case/use-case.ts";

/** SQL: the contact object of a handle, and its data. A contact of another reseller looks like one that we do not know. */
export const joinContact = (domain: string, handle: string) => `
  LEFT JOIN registry_contacts AS known ON known.registry_id = ${domain}.registry_id AND known.contact_id = ${handle}
    AND coalesce(known.reseller_id, ${domain}.reseller_id) = ${domain}.reseller_id
  LEFT JOIN contacts AS contact ON contact.reseller_id = ${domain}.reseller_id AND contact.digest = known.data_digest`;

const contactsOfDomain = statement(
  "domain-contacts",
  `SELECT domain.registry_id, shown.role, known.contact_id IS NOT NULL AND known.data_digest IS NULL AS is_profile,
     contact.digest, contact.data_sealed,
     ${profileColumnNames}
   FROM domains AS domain
     LEFT JOIN LATERAL (
       SELECT 'registrant' AS role, handles ->> 'registrant' AS handle
       UNION ALL SELECT other ->> 'type', other ->> 'id' FROM jsonb_array_elements(handles -> 'contacts') AS other
     ) AS shown ON shown.handle IS NOT NULL
     ${joinContact("domain", "shown.handle")}
     LEFT JOIN reseller_profiles AS profile ON profile.reseller_id = domain.reseller_id
   WHERE domain.reseller_id = $reseller_id AND domain.domain_name = $name`,
  {
    registry_id: "text",
    role: "text?",
    is_profile: "bool",
    digest: "text?",
    data_sealed: "bytea?",
    ...joinedProfileColumns,
  },
);
type Row = NonNullable<(typeof contactsOfDomain)["row"]>;

/** What is known of a handle. */
interface KnownContact {
  /** It was made of the reseller's profile, before contacts were kept. */
  is_profile: boolean;
  digest: string | null;
  data_sealed: Buffer | null;
}

/** The contact of a handle; null when it is not one that we made for this reseller. */
export function openKnown(
  { sealer }: Pick<Context, "sealer">,
  resellerId: number,
  { is_profile, digest, data_sealed }: KnownContact,
  profile: ProfileRow | undefined,
): Contact | null {
  if (is_profile) return profile ? contactOfProfile(profile) : null;
  return digest !== null && data_sealed ? openContact(sealer, resellerId, digest, data_sealed) : null;
}

const contactOrNull = Type.Union([contactShape, Type.Null()], {
  description: "Null: none that was made here for you.",
});
const contactsShape = Type.Object(
  { registrant: contactOrNull, admin: contactOrNull, tech: contactOrNull, billing: contactOrNull },
  { title: "Contacts" },
);

export const readContacts: UseCase = {
  errors: ["domain_not_valid", "domain_not_found"],
  scope: "contacts:read",
  docs: {
    operation: "readContacts",
    summary: "Reads whom the registry shows as the contacts of a name.",
    description: "Until a contact is named, it is your account's profile.",
    answers: { 200: { description: "The contacts by role.", body: contactsShape } },
  },

  async handle(context, request) {
    const name = parsePathName(request.params.domain_name ?? "");
    const { resellerId } = request.caller;
    const rows = await context.database.point(contactsOfDomain, { reseller_id: resellerId, name });
    if (rows.length === 0) throw new ApiError("domain_not_found");
    return { status: 200, body: presentContacts(context, resellerId, rows) };
  },
};

function presentContacts(context: Context, resellerId: number, rows: Row[]): Static<typeof contactsShape> {
  const [first] = rows;
  const profile = first && findProfile(first);
  const registry = context.registries.find(({ id }) => id === first?.registry_id);
  const isNothingShown = rows.every(({ role }) => role === null);
  const contactOf = (role: ContactRole): Contact | null => {
    const row = rows.find((one) => one.role === role);
    if (row) return openKnown(context, resellerId, row, profile);
    // Where the registry shows no contacts, those that nobody has named are the profile.
    const isProfile = (registry?.dataModel === "thin" || isNothingShown) && registry && isRequiredRole(registry, role);
    return isProfile && profile ? contactOfProfile(profile) : null;
  };
  const [registrant, admin, tech, billing] = contactRoles.map(contactOf);
  return { registrant: registrant ?? null, admin: admin ?? null, tech: tech ?? null, billing: billing ?? null };
}
