import { checkSeveral } from "#ote/check-several.ts";
import { type Memory, postalInfo } from "#ote/memory.ts";
import { contactThing, doneCodes, type Step, step } from "#ote/step.ts";
import { contactCheck } from "#registry/epp/commands/contact/check.ts";
import { contactCreate } from "#registry/epp/commands/contact/create.ts";
import { contactDelete } from "#registry/epp/commands/contact/delete.ts";
import { contactInfo } from "#registry/epp/commands/contact/info.ts";
import { contactUpdate } from "#registry/epp/commands/contact/update.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";

const needs = { dataModel: "thick" } as const;
const voice = "+49.30123456";
const email = "hostmaster@example.net";
const newCity = "Hamburg";

function createContact({ authInfo }: Memory, id: string) {
  return contactCreate({ id, postalInfo, voice, email, authInfo });
}

export const contactSteps: readonly Step[] = [
  step({
    id: "contact-check",
    title: "Check a contact id that is free",
    rfc: "RFC 5733 §3.1.1",
    needs,
    expected: [1000],
    command: ({ names }) => contactCheck(names.contact),
    judge: ({ available, reason }) => (available ? undefined : `it is not free: ${reason ?? "no reason is given"}`),
  }),
  step({
    id: "contact-create",
    title: "Create a contact",
    rfc: "RFC 5733 §3.2.1",
    needs,
    buildsOn: ["contact-check"],
    expected: doneCodes,
    command: (memory) => createContact(memory, memory.names.contact),
    makes: ({ names }) => contactThing(names.contact),
  }),
  step({
    id: "contact-create-again",
    title: "Create it again, which is refused",
    rfc: "RFC 5733 §3.2.1",
    needs,
    buildsOn: ["contact-create"],
    expected: [2302],
    command: (memory) => createContact(memory, memory.names.contact),
  }),
  step({
    id: "contact-check-several",
    title: "Check a contact id that is taken and one that is free, in one command",
    rfc: "RFC 5733 §3.1.1",
    needs,
    buildsOn: ["contact-create"],
    expected: [1000],
    command: ({ names }) => checkSeveral("contact", [names.contact, names.secondContact]),
    judge: (free, { names }) =>
      free.length === 1 && free[0] === names.secondContact ? undefined : `reported as free: ${free.join(", ")}`,
  }),
  step({
    id: "contact-info",
    title: "Query our contact",
    rfc: "RFC 5733 §3.1.2",
    needs,
    buildsOn: ["contact-create"],
    expected: [1000],
    command: ({ names }) => contactInfo(names.contact),
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
    command: ({ names }) => contactInfo(names.secondContact),
  }),
  step({
    id: "contact-update",
    title: "Change a contact's address, telephone and e-mail",
    rfc: "RFC 5733 §3.2.5",
    needs,
    buildsOn: ["contact-create"],
    expected: doneCodes,
    command: ({ names }) =>
      contactUpdate({
        id: names.contact,
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
    command: ({ names }) => contactInfo(names.contact),
    judge: ({ postalInfos }) =>
      postalInfos.some(({ city }) => city === newCity) ? undefined : "the address has not changed",
  }),
  step({
    id: "contact-create-second",
    title: "Create another contact",
    rfc: "RFC 5733 §3.2.1",
    needs,
    buildsOn: ["contact-check-several"],
    expected: doneCodes,
    command: (memory) => createContact(memory, memory.names.secondContact),
    makes: ({ names }) => contactThing(names.secondContact),
  }),
];

const needsTypes = { dataModel: "thick", contactTypes: true } as const;

function otherContacts({ names, profile }: Memory, from: "contact" | "secondContact", to: "contact" | "secondContact") {
  const type = profile.contactTypes[0] ?? "admin";
  return {
    name: names.domain,
    remove: { contacts: [{ type, id: names[from] }] },
    add: { contacts: [{ type, id: names[to] }] },
  };
}

/** With a name that has contacts. */
export const domainContactSteps: readonly Step[] = [
  step({
    id: "domain-contacts",
    title: "Change a name's contact",
    rfc: "RFC 5731 §3.2.5",
    needs: needsTypes,
    buildsOn: ["domain-create", "contact-create-second"],
    expected: doneCodes,
    command: (memory) => domainUpdate(otherContacts(memory, "contact", "secondContact")),
  }),
  step({
    id: "domain-registrant",
    title: "Change a name's registrant",
    rfc: "RFC 5731 §3.2.5",
    needs,
    buildsOn: ["domain-create", "contact-create-second"],
    expected: doneCodes,
    command: ({ names }) => domainUpdate({ name: names.domain, registrant: names.secondContact }),
  }),
  step({
    id: "contact-delete-linked",
    title: "Delete a contact that a name uses, which is refused",
    rfc: "RFC 5733 §3.2.2",
    needs,
    buildsOn: ["domain-registrant"],
    expected: [2305],
    command: ({ names }) => contactDelete(names.secondContact),
    unmakes: ({ names }) => contactThing(names.secondContact).what,
  }),
  step({
    id: "domain-contacts-back",
    title: "Change back to the first contact",
    rfc: "RFC 5731 §3.2.5",
    needs: needsTypes,
    buildsOn: ["domain-contacts"],
    expected: doneCodes,
    command: (memory) => domainUpdate(otherContacts(memory, "secondContact", "contact")),
  }),
  step({
    id: "domain-registrant-back",
    title: "Change back to the first registrant",
    rfc: "RFC 5731 §3.2.5",
    needs,
    buildsOn: ["domain-registrant"],
    expected: doneCodes,
    command: ({ names }) => domainUpdate({ name: names.domain, registrant: names.contact }),
  }),
  step({
    id: "contact-delete",
    title: "Delete a contact",
    rfc: "RFC 5733 §3.2.2",
    needs,
    buildsOn: ["contact-create-second", "domain-registrant-back", "domain-contacts-back"],
    expected: doneCodes,
    command: ({ names }) => contactDelete(names.secondContact),
    unmakes: ({ names }) => contactThing(names.secondContact).what,
  }),
];
