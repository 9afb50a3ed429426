/** The kind `contacts`: a name's registrant and its other contacts (RFC 5731 §3.2.5). */
import Type from "typebox";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import {
  type ContactRole,
  checkForRegistry,
  contactExample,
  contactRoles,
  contactShape,
  otherRoles,
  parseContacts,
} from "#domains/contacts/contact.ts";
import {
  abandonContacts,
  ensureContact,
  findContact,
  forgetContact,
  keepLocalContacts,
  localHandles,
  type SentHandles,
  type WantedContact,
} from "#domains/contacts/contact-object.ts";
import {
  type ContactRefs,
  digestsOf,
  findStored,
  type OwnedContact,
  refsOf,
  storeContacts,
} from "#domains/contacts/stored.ts";
import { type OrderKind, type Plan, whileHeld } from "#domains/orders/kind.ts";
import type { Order, Outcome } from "#domains/orders/order.ts";
import { type LockedName, placeAnswers, placeChange, placeErrors } from "#domains/orders/place.ts";
import { lostAnswer } from "#domains/orders/send.ts";
import type { Handles } from "#domains/portfolio/rows.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { invalidField } from "#errors.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import { type DomainParts, domainUpdate } from "#registry/epp/commands/domain/update.ts";
import { parseBody } from "#use-case/body.ts";
import { checkedByHand } from "#use-case/docs.ts";
import type { UseCase } from "#use-case/use-case.ts";

const role = Type.Optional(checkedByHand(contactShape));
const requestBody = Type.Object(
  { registrant: role, admin: role, tech: role, billing: role },
  { examples: [{ registrant: contactExample, tech: contactExample }] },
);

const presentHandles = statement("domain-handles", "SELECT handles FROM domains WHERE domain_name = $name", {
  handles: "jsonb?",
});

const presentRegistrant = statement(
  "domain-registrant-digest",
  `SELECT data_digest FROM domains AS domain JOIN registry_contacts AS known
     ON known.registry_id = domain.registry_id AND known.contact_id = domain.handles ->> 'registrant'
   WHERE domain_name = $name`,
  { data_digest: "text?" },
);

export const contactsKind: OrderKind = {
  name: "contacts",
  isUrgent: false,
  isByField: true,
  pendingStatus: "pendingUpdate",

  plan: whileHeld(async (sessions, order, info) => {
    const refs = order.input as ContactRefs;
    if (sessions.profile.dataModel === "thin") return keepOurs(sessions, order, refs);
    const ids: Partial<Record<ContactRole, string>> = {};
    for (const role of rolesIn(refs)) {
      const stored = await findStored(sessions.context, order.reseller_id, refs[role]!);
      if (!stored) return { is: "refused", as: "failed", reason: "the contact was erased" };
      const wanted = { ...stored, role };
      const found = await findContact(sessions, wanted);
      if (found.is !== "held") return planContact(sessions, order, wanted);
      ids[role] = found.id;
    }
    const { registrant } = ids;
    const contacts = otherRoles.flatMap((type) => (ids[type] === undefined ? [] : [{ type, id: ids[type] }]));
    return planHandles(order.domain_name, info, { ...(registrant !== undefined && { registrant }), contacts });
  }),

  async answered(sessions, order, { meaning, attempt, response }) {
    // RFC 5731 §3.2.5: the registry does not hold one of the contacts any more. It is made again.
    if (meaning !== "disputed" || response.code !== 2303) return undefined;
    const refs = order.input as ContactRefs;
    for (const role of rolesIn(refs)) {
      const stored = await findStored(sessions.context, order.reseller_id, refs[role]!);
      if (stored) await forgetContact(sessions, { ...stored, role }, attempt.clTrid);
    }
    return undefined;
  },
};

const rolesIn = (refs: ContactRefs) => contactRoles.filter((role) => refs[role] !== undefined);

/** Changes the handles of the given roles to the wanted ones; other roles stay as they are. */
function planHandles(name: string, info: DomainInfo, { registrant, contacts }: SentHandles): Plan {
  const isShown = ({ type, id }: { type: string; id: string }) =>
    info.contacts.some((shown) => shown.type === type && shown.id === id);
  const added = contacts.filter((wanted) => !isShown(wanted));
  const removed = contacts.flatMap(({ type, id }) =>
    info.contacts.flatMap((shown) => (shown.type === type && shown.id !== id ? [{ type, id: shown.id }] : [])),
  );
  const isOther = registrant !== undefined && registrant !== info.registrant;
  if (!isOther && added.length === 0 && removed.length === 0) return { is: "done" };
  const parts = (list: DomainParts["contacts"] = []) => (list.length > 0 ? { contacts: list } : undefined);
  const [add, remove] = [parts(added), parts(removed)];
  const command = domainUpdate({
    name,
    ...(add && { add }),
    ...(remove && { remove }),
    ...(isOther && { registrant }),
  });
  return { is: "send", command };
}

/** A contact that the registry does not hold yet comes first. */
function planContact(sessions: RegistrySessions, order: Order, wanted: WantedContact): Plan {
  return {
    is: "prepare",
    async prepare(): Promise<Outcome> {
      const ensured = await ensureContact(sessions, order, wanted);
      switch (ensured.is) {
        case "held":
          return { event: "prepared" };
        case "refused":
          return { event: "rejected", reason: ensured.reason, operatorNote: ensured.operatorNote };
        case "operator-needed":
          return { event: "failed", reason: ensured.reason, operatorNote: ensured.operatorNote };
        case "unreachable":
          return { event: "not-executed", countsAsFailure: true, reason: "the registry could not be reached" };
        case "not-made": {
          const { isLost, reason, nextStepAt } = ensured;
          return isLost ? lostAnswer(sessions) : { event: "not-executed", countsAsFailure: true, reason, nextStepAt };
        }
      }
    },
    giveUp: async () => {
      if (sessions.profile.contactIds === "server") await abandonContacts(sessions.context, order);
    },
  };
}

/** At a registry without contacts they are ours alone. */
async function keepOurs(sessions: RegistrySessions, order: Order, refs: ContactRefs): Promise<Plan> {
  await keepLocalContacts(sessions, order.reseller_id, refs);
  const [row] = await sessions.context.database.query(presentHandles, { name: order.domain_name });
  const present = (row?.handles ?? { contacts: [] }) as Handles;
  const wanted = localHandles(refs);
  const kept = present.contacts.filter(({ type }) => !wanted.contacts.some((one) => one.type === type));
  const registrant = wanted.registrant ?? present.registrant;
  const handles = { ...(registrant !== undefined && { registrant }), contacts: [...kept, ...wanted.contacts] };
  order.shown = order.shown && { ...order.shown, handles };
  return { is: "done" };
}

/** PUT /domains/<domain_name>/contacts: 202 and an order. */
export const setContacts: UseCase = {
  errors: placeErrors,
  scope: "domains:update",
  docs: {
    operation: "setContacts",
    summary: "Orders contacts of a name.",
    description: "It changes the roles that it names, and no others. A contact that is sent must be complete.",
    body: requestBody,
    answers: placeAnswers,
  },

  async handle(context, request) {
    const given = parseContacts(parseBody(requestBody, request.rawBody));
    const { resellerId } = request.caller;
    const refs = refsOf(context, resellerId, given);
    if (Object.keys(refs).length === 0) {
      throw invalidField("registrant", "Give at least one of registrant, admin, tech and billing.");
    }
    return placeChange(context, request, {
      kind: contactsKind,
      prefix: "CHG",
      input: refs,
      async check(tx, name) {
        const registry = context.registries.find(({ id }) => id === name.registry_id);
        if (registry) checkForRegistry(registry, given);
        const { registrant: data } = given;
        if (data && registry?.registrantChange === "forbidden") {
          await refuseOtherRegistrant(context, tx, name, { resellerId, data });
        }
        await storeContacts(context, tx, resellerId, Object.values(given));
      },
    });
  },
};

/** The registrant may be sent as it is. @throws ApiError when it is another one */
async function refuseOtherRegistrant(
  { sealer }: Context,
  tx: Transaction,
  { domain_name: name }: LockedName,
  registrant: OwnedContact,
): Promise<void> {
  const [present] = await tx.query(presentRegistrant, { name });
  if (digestsOf(sealer, registrant).includes(present?.data_digest ?? "")) return;
  const text = "The registry of this name does not let its registrant be changed by an update: leave registrant out.";
  throw invalidField("registrant", text);
}
