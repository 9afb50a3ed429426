/**
 * The registrant's contact at a registry. Its id is a digest of the reseller's profile, so creating it again is safe, and "exists
 * already" is a success once we know that the contact is ours.
 */
import { hash } from "node:crypto";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { type Answered, describeAnswer, send } from "#domains/changes/kind.ts";
import { eventOfCreate } from "#domains/orders/kind-create.ts";
import { type Order, type OrderOutcome, orderTable } from "#domains/orders/orders.ts";
import { pauseCreates } from "#domains/registry/pause.ts";
import { type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import { Secret } from "#lib/secret.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { type ContactCreated, contactCreate } from "#registry/epp/commands/contact/create.ts";
import { type ContactInfo, contactInfo } from "#registry/epp/commands/contact/info.ts";
import type { EppResponse } from "#registry/epp/session.ts";

const authInfoBytes = 18;

const profileById = statement(
  "profile-by-reseller",
  `SELECT full_name, organisation, email, phone, street, city, state_or_province, postal_code, country_code,
     xmin::text AS version
   FROM reseller_profiles WHERE reseller_id = $reseller_id`,
  {
    full_name: "text",
    organisation: "text?",
    email: "text",
    phone: "text",
    street: "text",
    city: "text",
    state_or_province: "text?",
    postal_code: "text",
    country_code: "text",
    /** Changes with every update of the row. */
    version: "text",
  },
);
type Profile = Omit<NonNullable<(typeof profileById)["row"]>, "version">;

const knownContact = statement(
  "registry-contact",
  "SELECT contact_id FROM registry_contacts WHERE registry_id = $registry_id AND contact_id = $contact_id",
  { contact_id: "text" },
);

const insertContact = statement(
  "registry-contact-insert",
  `INSERT INTO registry_contacts (registry_id, contact_id, created_at) VALUES ($registry_id, $contact_id, $now)
   ON CONFLICT DO NOTHING`,
  {},
);

// This is no event of the order: its step continues at once.
const answerContact = statement(
  "contact-answer",
  `UPDATE attempts SET result_code = $result_code, sv_trid = $sv_trid, answered_at = $at WHERE cl_trid = $cl_trid`,
  {},
);

/** How many resellers' contacts an owner caches. */
const contactsKnownMax = 10_000;

/** The id of the reseller's contact, if the registry holds it. It changes only with the profile, and we never delete contacts. */
export async function findKnownContact(
  { context, profile: registry, contacts }: RegistrySessions,
  { reseller_id: resellerId, profile_version: version, contact_renewed: isRenewed }: Order,
): Promise<string | undefined> {
  if (isRenewed || version === null) return undefined;
  const known = contacts.get(resellerId);
  if (known?.version === version) return known.id;
  const [read] = await context.database.query(profileById, { reseller_id: resellerId });
  if (!read) return undefined;
  const { version: versionRead, ...profile } = read;
  const id = contactId(resellerId, profile);
  const found = await context.database.query(knownContact, { registry_id: registry.id, contact_id: id });
  if (found.length === 0) return undefined;
  if (contacts.size >= contactsKnownMax) contacts.clear();
  contacts.set(resellerId, { version: versionRead, id });
  return id;
}

type EnsuredContact = { id: string; outcome?: undefined } | { outcome: OrderOutcome };

/** Makes sure that the registry holds the reseller's contact. Returns its id, or why the order has to wait or end. */
export async function ensureContact(sessions: RegistrySessions, order: Order): Promise<EnsuredContact> {
  const { context } = sessions;
  const known = await findKnownContact(sessions, order);
  if (known !== undefined) return { id: known };
  const [read] = await context.database.query(profileById, { reseller_id: order.reseller_id });
  if (!read) return { outcome: { event: "rejected", reason: "the reseller's profile is gone" } };
  const { version: _, ...profile } = read;
  const id = contactId(order.reseller_id, profile);
  const sent = await send(sessions, contactCommand(context, id, profile), { table: orderTable, row: order });
  switch (sent.is) {
    case "answered":
      return readAnswer(sessions, id, sent);
    case "unreachable":
      return { outcome: { event: "unreachable", countsAsFailure: true } };
    case "invalid": {
      const operatorNote = `the contact could not be sent: ${sent.reason}`;
      return { outcome: { event: "rejected", reason: "the registrant's profile is not valid", operatorNote } };
    }
    default:
      // Whether it was executed does not matter: creating it again is safe.
      return notMade(sent.reason);
  }
}

function notMade(reason: string): EnsuredContact {
  return { outcome: { event: "not-executed", countsAsFailure: true, reason } };
}

function contactId(resellerId: number, profile: Profile): string {
  const digest = hash("sha256", JSON.stringify([resellerId, profile]));
  // RFC 5733 §4: 3 to 16 characters. 56 bits make a collision unlikely, and `readExisting` notices one.
  return `DH${digest.slice(0, 14).toUpperCase()}`;
}

function contactCommand(context: Context, id: string, profile: Profile): EppCommand<ContactCreated> {
  return contactCreate({
    id,
    postalInfo: {
      type: /^[\x20-\x7e]*$/.test(Object.values(profile).join("")) ? "int" : "loc",
      name: profile.full_name,
      ...(profile.organisation !== null && { org: profile.organisation }),
      street: [profile.street],
      city: profile.city,
      ...(profile.state_or_province !== null && { sp: profile.state_or_province }),
      pc: profile.postal_code,
      cc: profile.country_code,
    },
    voice: profile.phone,
    email: profile.email,
    authInfo: new Secret(context.random.bytes(authInfoBytes).toString("base64url")),
  });
}

async function readAnswer(
  sessions: RegistrySessions,
  id: string,
  { clTrid, response }: Answered<unknown>,
): Promise<EnsuredContact> {
  const { context, profile: registry } = sessions;
  const now = context.clock.now();
  const answer = { cl_trid: clTrid, result_code: response.code, sv_trid: response.svTRID ?? null, at: now };
  await context.database.query(answerContact, answer);
  const event = eventOfCreate(response.code, registry.resultCodes);
  if (event === "created" || event === "create-pending") return remember(context, registry.id, id);
  const reason = `contact: ${describeAnswer(response)}`;
  if (event === "exists") return readExisting(sessions, id, reason);
  if (event === "operator-needed") {
    await pauseCreates(context, registry.id, "configuration", reason);
    return { outcome: { event, reason, operatorNote: reason } };
  }
  if (event === "rejected") return { outcome: { event, reason } };
  return notMade(reason);
}

/** A contact that exists already is used only if it is ours. */
async function readExisting(sessions: RegistrySessions, id: string, reason: string): Promise<EnsuredContact> {
  const { context, profile: registry, pool } = sessions;
  let info: EppResponse<ContactInfo>;
  try {
    using lease = await pool.acquire("transform", { waitMs: sessionWaitMs });
    info = await lease.request(contactInfo(id), { clTRID: sessions.queryClTrid() });
  } catch {
    return notMade(reason);
  }
  if (info.data?.clID === registry.registrarId) return remember(context, registry.id, id);
  const isOthers = info.data !== undefined || info.code === 2201;
  // Deleted since, or no usable answer.
  if (!isOthers) return notMade(reason);
  return { outcome: { event: "operator-needed", reason: `${reason}; it is not ours`, operatorNote: reason } };
}

async function remember(context: Context, registryId: string, id: string): Promise<EnsuredContact> {
  await context.database.query(insertContact, { registry_id: registryId, contact_id: id, now: context.clock.now() });
  return { id };
}
