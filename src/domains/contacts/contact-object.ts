/**
 * Contact objects at a registry. Equal data of a reseller is one object, under the id that the registry answers; where a contact
 * has one role only (`contactPerRole`), it is one for each role. We ask for an id
 * that is a digest of the data: where the registry takes it, creating the contact again is safe, and "exists already" is a success
 * once we know that the contact is ours. Where the registry chooses the id, each create makes another object, and a lost answer
 * leaves one that nobody can name: it is abandoned, and after a few of them an operator must look.
 */

import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { type Contact, type ContactRole, fullNameOf, isAscii, otherRoles, textsOf } from "#domains/contacts/contact.ts";
import { type ContactRefs, digestsOf, type OwnedContact, storeContacts } from "#domains/contacts/stored.ts";
import type { Order } from "#domains/orders/order.ts";
import { meaningOf } from "#domains/orders/result-codes.ts";
import { type Answered, describeAnswer, recordPreparation, send } from "#domains/orders/send.ts";
import { later } from "#domains/registry/ask.ts";
import { operatorRetryMs, type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import { dayMs } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import { type ContactFieldValue, contactFieldElements } from "#registry/contact-fields.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { type ContactCreated, contactCreate } from "#registry/epp/commands/contact/create.ts";
import { type ContactInfo, contactInfo } from "#registry/epp/commands/contact/info.ts";
import type { DomainContact } from "#registry/epp/commands/domain/contacts.ts";
import type { EppResponse } from "#registry/epp/session.ts";
import type { RegistryProfile } from "#registry/registries.ts";

const authInfoBytes = 18;
/** How many objects may be abandoned at a registry within the time below, before an operator must look. */
const abandonedMax = 3;
const abandonedCountMs = dayMs;

export type EnsuredContact =
  | { is: "held"; id: string }
  /** There was no session. */
  | { is: "unreachable" }
  /** The registry does not take this contact. */
  | { is: "refused"; reason: string; operatorNote?: string }
  | { is: "operator-needed"; reason: string; operatorNote: string; isConfiguration: boolean }
  /** Try again. */
  | { is: "not-made"; reason: string; isLost?: true; nextStepAt?: Date };

// Waits while it is decided whether the object is deleted (delete-unused.ts).
const knownContact = statement(
  "registry-contact",
  `SELECT contact_id, delete_cl_trid IS NOT NULL AS is_leaving FROM registry_contacts WHERE registry_id = $registry_id
     AND reseller_id = $reseller_id AND data_digest = ANY ($digests::text[]) AND role = $role LIMIT 1 FOR KEY SHARE`,
  { contact_id: "text", is_leaving: "bool" },
);

const insertContact = statement(
  "registry-contact-insert",
  `INSERT INTO registry_contacts (registry_id, contact_id, reseller_id, data_digest, role, created_at)
   VALUES ($registry_id, $contact_id, $reseller_id, $digest, $role, $now) ON CONFLICT DO NOTHING`,
  {},
);

const closeUnsent = statement("contact-not-sent", "UPDATE attempts SET answered_at = $at WHERE cl_trid = $cl_trid", {});

const abandonLost = statement(
  "contacts-abandon",
  `UPDATE attempts SET abandoned_at = $at, answered_at = $at
   WHERE order_id = $order_id AND command = 'contact:create' AND answered_at IS NULL`,
  {},
);

// An operator who resolves the alarm starts the count again.
const countAbandoned = statement(
  "contacts-abandoned",
  `SELECT count(*) AS abandoned FROM attempts
   WHERE abandoned_at > greatest($since, (
       SELECT max(resolved_at) FROM alarms WHERE kind = 'contacts-lost' AND subject = $registry_id))
     AND (SELECT registry_id FROM orders AS o WHERE o.id = order_id) = $registry_id`,
  { abandoned: "int8" },
);

const forgetContactBefore = statement(
  "registry-contact-forget",
  `DELETE FROM registry_contacts WHERE registry_id = $registry_id
     AND reseller_id = $reseller_id AND data_digest = ANY ($digests::text[]) AND role = $role
     AND created_at <= (SELECT committed_at FROM attempts WHERE cl_trid = $cl_trid)`,
  {},
);

/** The id that we ask for. RFC 5733 §4: 3 to 16 characters. 56 bits make a collision unlikely, and `readExisting` notices one. */
const requestedIdOf = (digest: string, role: ObjectRole = ""): string =>
  `D${role === "" ? "H" : role[0]!.toUpperCase()}${digest.slice(0, 14).toUpperCase()}`;

/** A contact for a role of a name. */
export interface WantedContact extends OwnedContact {
  role: ContactRole;
}

type ObjectRole = ContactRole | "";

/** The role of the object that such a contact needs; "" where an object can have any. */
export const objectRoleOf = ({ contactPerRole }: RegistryProfile, role: ContactRole): ObjectRole =>
  contactPerRole ? role : "";

/** The key of a contact in the database, the digests under which it may be known, and the id that we ask for. */
function keyOf({ context, profile }: RegistrySessions, wanted: WantedContact) {
  const digests = digestsOf(context.sealer, wanted);
  const [digest = ""] = digests;
  const role = objectRoleOf(profile, wanted.role);
  const key = { registry_id: profile.id, reseller_id: wanted.resellerId, role };
  return { key, digest, digests, requestedId: requestedIdOf(digest, role) };
}

/** What is known of the object that has the data. */
export type FoundContact =
  /** @param id under which the registry holds it */
  | { is: "held"; id: string }
  | { is: "absent" }
  /** It is being deleted, because nothing used it: an order for it waits for the end. */
  | { is: "leaving" };

/** To be asked before each command that names the contact. The order must have been accepted before: a delete waits for it then. */
export async function findContact(sessions: RegistrySessions, wanted: WantedContact): Promise<FoundContact> {
  const { key, digests } = keyOf(sessions, wanted);
  const [found] = await sessions.context.database.query(knownContact, { ...key, digests });
  if (!found) return { is: "absent" };
  const { contact_id: id, is_leaving } = found;
  return is_leaving || sessions.leavingContacts.has(id) ? { is: "leaving" } : { is: "held", id };
}

/**
 * The registry does not hold it any more, as it answered to a command.
 * @param clTrid of that command: a contact that was made since stays known
 */
export async function forgetContact(sessions: RegistrySessions, wanted: WantedContact, clTrid: string): Promise<void> {
  const { key, digests } = keyOf(sessions, wanted);
  await sessions.context.database.query(forgetContactBefore, { ...key, digests, cl_trid: clTrid });
}

/** Keeps a contact's id, and the contact itself, which a profile may change. */
async function rememberContact(sessions: RegistrySessions, wanted: WantedContact, id: string): Promise<void> {
  const { context } = sessions;
  const { key, digest } = keyOf(sessions, wanted);
  await storeContacts(context, context.database, wanted.resellerId, [wanted.data]);
  await context.database.query(insertContact, { ...key, digest, contact_id: id, now: context.clock.now() });
}

/** The ids of contacts, as a command names them. */
export interface SentHandles {
  registrant?: string;
  contacts: readonly DomainContact[];
}

/** The handles of contacts at a registry that has none: they are ours alone. */
export function localHandles({ registrant, ...others }: ContactRefs): SentHandles {
  return {
    ...(registrant !== undefined && { registrant: requestedIdOf(registrant) }),
    contacts: otherRoles.flatMap((type) => {
      const digest = others[type];
      return digest === undefined ? [] : [{ type, id: requestedIdOf(digest) }];
    }),
  };
}

/** Keeps what `localHandles` stand for. */
export async function keepLocalContacts(
  { context, profile }: RegistrySessions,
  resellerId: number,
  refs: ContactRefs,
): Promise<void> {
  const key = { registry_id: profile.id, reseller_id: resellerId, role: "", now: context.clock.now() };
  for (const digest of Object.values(refs)) {
    await context.database.query(insertContact, { ...key, digest, contact_id: requestedIdOf(digest) });
  }
}

/** Makes sure that the registry holds a contact with this data. Sends at most one command. */
export async function ensureContact(
  sessions: RegistrySessions,
  order: Order,
  wanted: WantedContact,
): Promise<EnsuredContact> {
  const find = async (): Promise<EnsuredContact> => {
    const found = await findContact(sessions, wanted);
    if (found.is === "leaving") return notMade("the contact was not used for a week, and is being deleted");
    return found.is === "absent" ? makeContact(sessions, order, wanted) : found;
  };
  if (sessions.profile.contactIds === "client") return find();
  // Two creates at the same time would make two objects.
  const { contactsBeingMade: all } = sessions;
  const { digest, key } = keyOf(sessions, wanted);
  const made = `${digest} ${key.role}`;
  const others = all.get(made);
  if (others) {
    await others.catch(() => undefined);
    const found = await findContact(sessions, wanted);
    return found.is === "held" ? found : notMade("the contact was not made for another order");
  }
  const own = find().finally(() => all.delete(made));
  all.set(made, own);
  return own;
}

async function makeContact(sessions: RegistrySessions, order: Order, wanted: WantedContact): Promise<EnsuredContact> {
  const { context, profile: registry } = sessions;
  const isOurId = registry.contactIds === "client";
  if (!isOurId) {
    await abandonContacts(context, order);
    const tooMany = await whyNoMore(sessions);
    if (tooMany) return tooMany;
  }
  if (registry.contactLetters === "ascii" && !isAscii(textsOf(wanted.data).join(""))) {
    return { is: "refused", reason: "contact: the registry takes only ASCII characters" };
  }
  const command = contactCommand(sessions, keyOf(sessions, wanted).requestedId, wanted);
  const sent = await send(sessions, order, command);
  switch (sent.is) {
    case "answered":
      return readAnswer(sessions, order, wanted, sent);
    case "unreachable":
      return { is: "unreachable" };
    case "invalid": {
      const operatorNote = `the contact could not be sent: ${sent.reason}`;
      return { is: "refused", reason: "the contact is not valid", operatorNote };
    }
    case "not-sent":
      await context.database.query(closeUnsent, { cl_trid: sent.attempt.clTrid, at: context.clock.now() });
      return notMade(sent.reason);
    case "unanswered":
      // Whether an id of ours exists does not matter: creating it again is safe.
      if (!isOurId) await abandonContacts(context, order);
      return { is: "not-made", reason: sent.reason, isLost: true };
  }
}

const notMade = (reason: string): EnsuredContact => ({ is: "not-made", reason });

/** Gives up the objects that this order's lost answers may have left at the registry. */
export async function abandonContacts({ database, clock }: Context, { id }: Order): Promise<void> {
  await database.query(abandonLost, { order_id: id, at: clock.now() });
}

/** The order waits for the operator if too many objects were abandoned. */
async function whyNoMore(sessions: RegistrySessions): Promise<EnsuredContact | undefined> {
  const { context, profile } = sessions;
  const since = later(sessions, -abandonedCountMs);
  const [row] = await context.database.query(countAbandoned, { registry_id: profile.id, since });
  const abandoned = row?.abandoned ?? 0;
  if (abandoned < abandonedMax) return undefined;
  const reason = `the answers to ${abandoned} contact creates were lost at ${profile.id}, and it may hold contacts for us whose ids we do not know`;
  await raiseAlarm(context, { kind: "contacts-lost", subject: profile.id, note: reason });
  return { is: "not-made", reason, nextStepAt: later(sessions, operatorRetryMs) };
}

/** What says who somebody is does not appear in traces, nor in what the registry says about it (redaction.ts). */
function contactCommand(
  { context, profile }: RegistrySessions,
  id: string,
  { data, role }: WantedContact,
): EppCommand<ContactCreated> {
  const { company_name: org, state: sp, fax, extra_fields = [], language_code: language } = data;
  const { enterprise_number: enterpriseNumber } = data;
  const extraFields = extra_fields.map(({ name, value }) => ({ name, value: new Secret(value) }));
  return contactCreate({
    id,
    postalInfo: {
      type: isAscii(textsOf({ ...data, extra_fields: [] }).join("")) ? "int" : "loc",
      name: new Secret(fullNameOf(data)),
      ...(org !== undefined && { org: new Secret(org) }),
      street: [new Secret(data.address)],
      city: new Secret(data.city),
      ...(sp !== undefined && { sp: new Secret(sp) }),
      pc: new Secret(data.postal_code),
      cc: data.country_code,
    },
    voice: new Secret(data.phone),
    ...(fax !== undefined && { fax: new Secret(fax) }),
    email: new Secret(data.email),
    authInfo: new Secret(context.random.bytes(authInfoBytes).toString("base64url")),
    extensions: contactFieldElements(profile.contactFields, extraFields),
    facts: {
      role: objectRoleOf(profile, role) || undefined,
      language,
      isOrganisation: org !== undefined,
      enterpriseNumber: enterpriseNumber === undefined ? undefined : new Secret(enterpriseNumber),
    },
  });
}

async function readAnswer(
  sessions: RegistrySessions,
  order: Order,
  wanted: WantedContact,
  { clTrid, response }: Answered<ContactCreated>,
): Promise<EnsuredContact> {
  const { context, profile: registry } = sessions;
  const meaning = meaningOf(response.code, "create", registry);
  const isMade = meaning === "answered" || meaning === "pending";
  const isOurId = registry.contactIds === "client";
  const id = response.data?.id ?? (isOurId ? keyOf(sessions, wanted).requestedId : undefined);
  if (isMade && id === undefined) {
    await abandonContacts(context, order);
    return notMade("the registry has answered a contact create without the contact's id");
  }
  // First, because nobody can ask for an id that is lost; without it the answer counts as lost too.
  if (isMade && id !== undefined) await rememberContact(sessions, wanted, id);
  await recordPreparation(context, { clTrid, response });
  if (isMade && id !== undefined) {
    if (!isOurId) await resolveAlarm(context, { kind: "contacts-lost", subject: registry.id });
    return { is: "held", id };
  }
  const reason = `contact: ${describeAnswer(response)}`;
  if (meaning === "disputed") return readExisting(sessions, wanted, reason);
  if (meaning === "failed") return { is: "operator-needed", reason, operatorNote: reason, isConfiguration: true };
  if (meaning === "rejected") return { is: "refused", reason };
  return notMade(reason);
}

/** The name of a field that the registry shows with another value. */
const findOtherField = ({ extra_fields: given = [] }: Contact, shown: readonly ContactFieldValue[] = []) =>
  given.find(({ name, value }) => shown.some((one) => one.name === name && one.value !== value))?.name;

/** A contact that exists already is used only if it is ours, and as it was sent. */
async function readExisting(
  sessions: RegistrySessions,
  wanted: WantedContact,
  reason: string,
): Promise<EnsuredContact> {
  const { profile: registry, pool } = sessions;
  const { requestedId: id } = keyOf(sessions, wanted);
  let info: EppResponse<ContactInfo>;
  try {
    using lease = await pool.acquire("transform", { waitMs: sessionWaitMs });
    info = await lease.request(contactInfo(id, undefined, registry.contactFields), { clTRID: sessions.queryClTrid() });
  } catch {
    return notMade(reason);
  }
  const other = findOtherField(wanted.data, info.data?.extraFields);
  if (other !== undefined) {
    const note = `${reason}; the registry shows another ${other} of it`;
    return { is: "operator-needed", reason: note, operatorNote: note, isConfiguration: false };
  }
  if (info.data?.clID === registry.registrarId) {
    await rememberContact(sessions, wanted, id);
    return { is: "held", id };
  }
  const isOthers = info.data !== undefined || info.code === 2201;
  // Deleted since, or no usable answer.
  if (!isOthers) return notMade(reason);
  const operatorNote = reason;
  const whose = info.data && info.data.clID === undefined ? "nothing shows that it is ours" : "it is not ours";
  return { is: "operator-needed", reason: `${reason}; ${whose}`, operatorNote, isConfiguration: false };
}
