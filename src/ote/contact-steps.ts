import { checkSeveral } from "#ote/check-several.ts";
import {
  type ContactSlot,
  type ContactType,
  changedTypeOf,
  contactSlotOf,
  type Memory,
  postalInfo,
  type Role,
} from "#ote/memory.ts";
import { contactThing, doneCodes, namelessContactThing, type Step, step } from "#ote/step.ts";
import { contactFieldElements } from "#registry/contact-fields.ts";
import { contactCheck } from "#registry/epp/commands/contact/check.ts";
import { type ContactCreated, contactCreate } from "#registry/epp/commands/contact/create.ts";
import { contactDelete } from "#registry/epp/commands/contact/delete.ts";
import { contactInfo } from "#registry/epp/commands/contact/info.ts";
import { contactUpdate } from "#registry/epp/commands/contact/update.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";

const needs = { dataModel: "thick" } as const;
const needsCheck = { dataModel: "thick", command: "contact:check", ownIds: true } as const;
const voice = "+49.30123456";
const email = "hostmaster@example.net";
const newCity = "Hamburg";

/** @param role what an extension of the registry may say about it */
function createContact({ authInfo, contactIds, contactFields, profile }: Memory, slot: ContactSlot, role: Role) {
  return contactCreate({
    id: contactIds[slot],
    postalInfo,
    voice,
    email,
    authInfo,
    extensions: contactFieldElements(profile.contactFields, contactFields),
    facts: { role: profile.contactPerRole ? role : undefined, language: "en", isOrganisation: true },
  });
}

type CreateStep = Pick<Step, "id" | "title" | "needs" | "buildsOn"> & { slot: ContactSlot };

/** @param roleOf the role of the new contact, where a contact has one */
function createStep({ slot, ...form }: CreateStep, roleOf: (memory: Memory) => Role): Step {
  return step<ContactCreated>({
    ...form,
    rfc: "RFC 5733 §3.2.1",
    expected: doneCodes,
    command: (memory) => createContact(memory, slot, roleOf(memory)),
    makes: ({ profile, contactIds }, data) =>
      data || profile.contactIds === "client"
        ? contactThing(data?.id ?? contactIds[slot])
        : namelessContactThing(contactIds[slot]),
    remember: (memory, { data }) => {
      memory.contactIds[slot] = data?.id ?? memory.contactIds[slot];
    },
  });
}

/** Where a contact has one role, each type of a name's contacts needs one. */
function createOfType(type: ContactType): Step {
  return createStep(
    {
      id: `contact-create-${type}`,
      title: `Create a contact for the role ${type}`,
      needs: { dataModel: "thick", ownContactOf: type },
      buildsOn: ["contact-create"],
      slot: type,
    },
    () => type,
  );
}

export const contactSteps: readonly Step[] = [
  step({
    id: "contact-check",
    title: "Check a contact id that is free",
    rfc: "RFC 5733 §3.1.1",
    needs: needsCheck,
    expected: [1000],
    command: ({ contactIds }) => contactCheck(contactIds.first),
    judge: ({ available, reason }) => (available ? undefined : `it is not free: ${reason ?? "no reason is given"}`),
  }),
  createStep(
    { id: "contact-create", title: "Create a contact", needs, buildsOn: ["contact-check"], slot: "first" },
    () => "registrant",
  ),
  step({
    id: "contact-create-again",
    title: "Create it again, which is refused",
    rfc: "RFC 5733 §3.2.1",
    needs: { dataModel: "thick", ownIds: true },
    buildsOn: ["contact-create"],
    expected: [2302],
    command: (memory) => createContact(memory, "first", "registrant"),
  }),
  step({
    id: "contact-check-several",
    title: "Check a contact id that is taken and one that is free, in one command",
    rfc: "RFC 5733 §3.1.1",
    needs: needsCheck,
    buildsOn: ["contact-create"],
    expected: [1000],
    command: ({ contactIds }) => checkSeveral("contact", [contactIds.first, contactIds.second]),
    judge: (free, { contactIds }) =>
      free.length === 1 && free[0] === contactIds.second ? undefined : `reported as free: ${free.join(", ")}`,
  }),
  step({
    id: "contact-info",
    title: "Query our contact",
    rfc: "RFC 5733 §3.1.2",
    needs,
    buildsOn: ["contact-create"],
    expected: [1000],
    command: ({ contactIds }) => contactInfo(contactIds.first),
    judge: (info, { profile }) =>
      info.clID === profile.registrarId ? undefined : `it belongs to ${info.clID ?? "nobody that it names"}`,
  }),
  step({
    id: "contact-info-absent",
    title: "Query a contact that does not exist",
    rfc: "RFC 5733 §3.1.2",
    needs,
    buildsOn: ["contact-check-several"],
    expected: [2303],
    command: ({ contactIds }) => contactInfo(contactIds.second),
  }),
  step({
    id: "contact-update",
    title: "Change a contact's address, telephone and e-mail",
    rfc: "RFC 5733 §3.2.5",
    needs,
    buildsOn: ["contact-create"],
    expected: doneCodes,
    command: ({ contactIds }) =>
      contactUpdate({
        id: contactIds.first,
        postalInfo: { ...postalInfo, city: newCity },
        voice: "+49.40123456",
        email: "postmaster@example.net",
      }),
  }),
  step({
    id: "contact-info-updated",
    title: "Verify the change",
    rfc: "RFC 5733 §3.1.2",
    needs,
    buildsOn: ["contact-update"],
    expected: [1000],
    command: ({ contactIds }) => contactInfo(contactIds.first),
    judge: ({ postalInfos }) =>
      postalInfos.some(({ city }) => city === newCity) ? undefined : "the address has not changed",
  }),
  createStep(
    {
      id: "contact-create-second",
      title: "Create another contact",
      needs,
      buildsOn: ["contact-check-several"],
      slot: "second",
    },
    () => "registrant",
  ),
  ...(["admin", "tech", "billing"] as const).map(createOfType),
  createStep(
    {
      id: "contact-create-second-role",
      title: "Create another one for the role that is changed below",
      needs: { dataModel: "thick", ownContactOf: "any" },
      buildsOn: ["contact-create"],
      slot: "secondOther",
    },
    ({ profile }) => changedTypeOf(profile),
  ),
];

const needsChange = { dataModel: "thick", registrantChange: true } as const;
const needsTypes = { dataModel: "thick", contactTypes: true } as const;

/** A change of the type that the test changes, from one contact to the other. */
function otherContacts(memory: Memory, from: "first" | "second", to: "first" | "second") {
  const type = changedTypeOf(memory.profile);
  const contact = (which: "first" | "second") => ({ type, id: memory.contactIds[contactSlotOf(memory, type, which)] });
  return { name: memory.names.domain, remove: { contacts: [contact(from)] }, add: { contacts: [contact(to)] } };
}

/** The registrant after the step that changes it, if the registry allows that. */
const registrantOf = ({ contactIds, profile }: Memory) =>
  profile.registrantChange === "update" ? contactIds.second : contactIds.first;

/** With a name that has contacts. */
export const domainContactSteps: readonly Step[] = [
  step({
    id: "domain-contacts",
    title: "Change a name's contact",
    rfc: "RFC 5731 §3.2.5",
    needs: needsTypes,
    buildsOn: ["domain-create", "contact-create-second", "contact-create-second-role"],
    expected: doneCodes,
    command: (memory) => domainUpdate(otherContacts(memory, "first", "second")),
  }),
  step({
    id: "domain-registrant",
    title: "Change a name's registrant",
    rfc: "RFC 5731 §3.2.5",
    needs: needsChange,
    buildsOn: ["domain-create", "contact-create-second"],
    expected: doneCodes,
    command: ({ names, contactIds }) => domainUpdate({ name: names.domain, registrant: contactIds.second }),
  }),
  step({
    id: "contact-delete-linked",
    title: "Delete a contact that a name uses, which is refused",
    rfc: "RFC 5733 §3.2.2",
    needs,
    buildsOn: ["domain-create", "domain-registrant"],
    expected: [2305],
    command: (memory) => contactDelete(registrantOf(memory)),
    unmakes: (memory) => contactThing(registrantOf(memory)).what,
  }),
  step({
    id: "domain-contacts-back",
    title: "Change back to the first contact",
    rfc: "RFC 5731 §3.2.5",
    needs: needsTypes,
    buildsOn: ["domain-contacts"],
    expected: doneCodes,
    command: (memory) => domainUpdate(otherContacts(memory, "second", "first")),
  }),
  step({
    id: "domain-registrant-back",
    title: "Change back to the first registrant",
    rfc: "RFC 5731 §3.2.5",
    needs: needsChange,
    buildsOn: ["domain-registrant"],
    expected: doneCodes,
    command: ({ names, contactIds }) => domainUpdate({ name: names.domain, registrant: contactIds.first }),
  }),
  step({
    id: "contact-delete",
    title: "Delete a contact",
    rfc: "RFC 5733 §3.2.2",
    needs,
    buildsOn: ["contact-create-second", "domain-registrant-back", "domain-contacts-back"],
    expected: doneCodes,
    command: ({ contactIds }) => contactDelete(contactIds.second),
    unmakes: ({ contactIds }) => contactThing(contactIds.second).what,
  }),
];
