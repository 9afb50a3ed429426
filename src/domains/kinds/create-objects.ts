/**
 * The objects that a create refers to. Its contacts are those that the order was given, and the reseller's profile for the others. Its
 * hosts have no addresses, so making one again is safe.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import {
  type ContactRole,
  contactOfProfile,
  contactRoles,
  profileColumnNames,
  profileColumns,
} from "#domains/contacts/contact.ts";
import {
  type EnsuredContact,
  ensureContact,
  findContact,
  forgetContact,
  keepLocalContacts,
  localHandles,
  objectRoleOf,
  type SentHandles,
} from "#domains/contacts/contact-object.ts";
import { findStored, type OwnedContact, storeContacts } from "#domains/contacts/stored.ts";
import type { OrderedName } from "#domains/kinds/registration.ts";
import { nextHostStep } from "#domains/name-servers/host-objects.ts";
import { ownSuperordinates, type WantedHost } from "#domains/name-servers/wanted.ts";
import type { Plan } from "#domains/orders/kind.ts";
import type { Order } from "#domains/orders/order.ts";
import { meaningOf } from "#domains/orders/result-codes.ts";
import { describeAnswer, recordPreparation, send } from "#domains/orders/send.ts";
import { askOnce } from "#domains/registry/ask.ts";
import { pauseCreates } from "#domains/registry/pause.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { EppCommand } from "#registry/epp/command.ts";

const profileById = statement(
  "profile-by-reseller",
  `SELECT ${profileColumnNames},
     xmin::text AS version
   FROM reseller_profiles WHERE reseller_id = $reseller_id`,
  {
    ...profileColumns,
    /** Changes with every update of the row. */
    version: "text",
  },
);

/** How many contacts of resellers' profiles an owner caches. */
const contactsKnownMax = 10_000;

/** The id of the reseller's contact, if the registry holds it. It changes only with the profile, and when it is deleted. */
export async function findKnownContact(
  sessions: RegistrySessions,
  { reseller_id: resellerId, profile_version: version }: Order,
  role: ContactRole,
): Promise<string | undefined> {
  const { context, contacts, leavingContacts, profile } = sessions;
  if (version === null) return undefined;
  const key = `${resellerId} ${objectRoleOf(profile, role)}`;
  const known = contacts.get(key);
  if (known?.version === version && !leavingContacts.has(known.id)) return known.id;
  const read = await readProfile(context, resellerId);
  const found = read && (await findContact(sessions, { ...read.contact, role }));
  if (found?.is !== "held") return undefined;
  // Its data may have been erased while another profile was the present one.
  await storeContacts(context, context.database, resellerId, [read!.contact.data]);
  if (contacts.size >= contactsKnownMax) contacts.clear();
  contacts.set(key, { version: read!.version, id: found.id });
  return found.id;
}

/** What a create says about people: nothing at a thin registry, where contacts are ours alone. */
type OrderContacts =
  | { handles: SentHandles | undefined; instead?: undefined }
  | { handles?: undefined; instead: Instead };

type Instead = Extract<Plan, { is: "refused" | "unknown" }>;

/** Makes sure that the registry holds the order's contacts. Returns their ids, or why the order has to wait or end. */
export async function ensureContacts(sessions: RegistrySessions, order: Order): Promise<OrderContacts> {
  const { dataModel, contactTypes } = sessions.profile;
  const { contacts: refs } = order.input as OrderedName;
  if (dataModel === "thin") {
    if (refs) await keepLocalContacts(sessions, order.reseller_id, refs);
    return { handles: refs ? localHandles(refs) : undefined };
  }
  const ids = new Map<string, string>();
  const keyOf = (role: ContactRole) => `${refs?.[role] ?? "profile"} ${objectRoleOf(sessions.profile, role)}`;
  for (const role of ["registrant", ...contactTypes] as const) {
    const digest = refs?.[role];
    if (ids.has(keyOf(role))) continue;
    const ensured =
      digest === undefined
        ? await ensureProfile(sessions, order, role)
        : await ensureGiven(sessions, order, digest, role);
    if (ensured.is !== "held") return { instead: await planWithout(sessions, ensured) };
    ids.set(keyOf(role), ensured.id);
  }
  const idOf = (role: ContactRole) => ids.get(keyOf(role))!;
  return {
    handles: { registrant: idOf("registrant"), contacts: contactTypes.map((type) => ({ type, id: idOf(type) })) },
  };
}

const gone = (reason: string): EnsuredContact => ({ is: "refused", reason });

async function ensureProfile(sessions: RegistrySessions, order: Order, role: ContactRole): Promise<EnsuredContact> {
  const id = await findKnownContact(sessions, order, role);
  if (id !== undefined) return { is: "held", id };
  const read = await readProfile(sessions.context, order.reseller_id);
  return read ? ensureContact(sessions, order, { ...read.contact, role }) : gone("the reseller's profile is gone");
}

async function ensureGiven(
  sessions: RegistrySessions,
  order: Order,
  digest: string,
  role: ContactRole,
): Promise<EnsuredContact> {
  const stored = await findStored(sessions.context, order.reseller_id, digest);
  return stored ? ensureContact(sessions, order, { ...stored, role }) : gone("the order's contacts were erased");
}

async function planWithout(
  { context, profile }: RegistrySessions,
  ensured: Exclude<EnsuredContact, { is: "held" }>,
): Promise<Instead> {
  switch (ensured.is) {
    case "unreachable":
      return { is: "unknown", reason: "the registry could not be reached" };
    case "refused":
      return { ...ensured, as: "rejected" };
    case "operator-needed": {
      const { reason, operatorNote, isConfiguration } = ensured;
      if (isConfiguration) await pauseCreates(context, profile.id, "configuration", reason);
      return { is: "refused", as: "failed", reason, operatorNote };
    }
    case "not-made":
      return { is: "unknown", reason: ensured.reason, nextStepAt: ensured.nextStepAt };
  }
}

/** The registry has answered this command of the order that it does not hold one of its contacts. */
export async function forgetContacts(sessions: RegistrySessions, order: Order, clTrid: string): Promise<void> {
  const { reseller_id: resellerId } = order;
  const { contacts: refs = {} } = order.input as OrderedName;
  const read = await readProfile(sessions.context, resellerId);
  for (const role of contactRoles) {
    sessions.contacts.delete(`${resellerId} ${objectRoleOf(sessions.profile, role)}`);
    const digest = refs[role];
    const given = digest === undefined ? read?.contact : await findStored(sessions.context, resellerId, digest);
    if (given) await forgetContact(sessions, { ...given, role }, clTrid);
  }
}

async function readProfile(
  { database }: Context,
  resellerId: number,
): Promise<{ version: string; contact: OwnedContact } | undefined> {
  const [read] = await database.query(profileById, { reseller_id: resellerId });
  if (!read) return undefined;
  const { version, ...profile } = read;
  return { version, contact: { resellerId, data: contactOfProfile(profile) } };
}

/** Makes sure that the registry holds the hosts. @returns why the order has to wait or end; undefined once all are there */
export async function ensureHosts(
  sessions: RegistrySessions,
  order: Order,
  hosts: readonly WantedHost[],
): Promise<Instead | undefined> {
  const { context, profile: registry } = sessions;
  if (hosts.length === 0 || registry.hostModel === "attributes") return undefined;
  const { domain_name: domainName, reseller_id: resellerId, attempts } = order;
  const own = await ownSuperordinates(context.database, { resellerId, domainName, registry }, hosts);
  const wanted = { domainName, registry, hosts, delegated: new Set<string>(), own, attempts };
  for (;;) {
    const step = await nextHostStep(askOnce(sessions, "transform"), wanted);
    switch (step.is) {
      case "ready":
        return undefined;
      case "unknown":
        return { is: "unknown", reason: step.reason };
      case "refused":
        return refused(step.reason, step.as === "failed");
      case "send": {
        const instead = await make(sessions, order, step.command);
        if (instead) return instead;
      }
    }
  }
}

const refused = (reason: string, needsOperator: boolean): Instead => {
  return { is: "refused", as: "rejected", reason, ...(needsOperator && { operatorNote: reason }) };
};

/** @returns why the order has to wait or end; undefined when the host is there */
async function make(
  sessions: RegistrySessions,
  order: Order,
  command: EppCommand<unknown>,
): Promise<Instead | undefined> {
  const sent = await send(sessions, order, command);
  switch (sent.is) {
    case "answered": {
      const { response } = sent;
      await recordPreparation(sessions.context, sent);
      const meaning = meaningOf(response.code, "create", sessions.profile);
      const reason = `host: ${describeAnswer(response)}`;
      if (meaning === "answered" || meaning === "disputed") return undefined;
      if (meaning === "rejected" || meaning === "failed") return refused(reason, meaning === "failed");
      return { is: "unknown", reason };
    }
    case "invalid":
      return refused(`the host could not be sent: ${sent.reason}`, true);
    default:
      // Whether it was executed does not matter: the next lookup shows it.
      return { is: "unknown", reason: sent.reason };
  }
}
