/** Against frames that were written from the documentation: `frames/dnsbe/README.md` names the sources. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#lib/secret.ts";
import { contactCreate } from "#registry/epp/commands/contact/create.ts";
import { domainCreate } from "#registry/epp/commands/domain/create.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { contactRequest, familyOf } from "#registry/flavours/test-family.ts";

const { profileWith, ask, assertSent } = familyOf("dnsbe", { registrarContacts: { billing: "c80" } });
const facts = {
  role: "registrant",
  language: "nl-BE",
  isOrganisation: true,
  enterpriseNumber: new Secret("BE0123456789"),
} as const;

describe("DNS Belgium's registry", () => {
  test("is asked at login for its extension, and for DNSSEC", async (context) => {
    const { extensionURIs } = await ask(context, domainInfo("hello.example"), "domain-info-answer");
    assert.deepEqual(extensionURIs, ["http://www.dns.be/xml/epp/dnsbe-1.0", "urn:ietf:params:xml:ns:secDNS-1.1"]);
  });

  test("is sent a contact with its type, its language and its VAT number, in the local form", async (context) => {
    const { sent, data } = await ask(context, contactCreate({ ...contactRequest, facts }), "contact-create-answer");
    assertSent(sent, "contact-create-command");
    assert.equal(data?.id, "c26511");
  });

  test("gets the type of each role, and English where it does not have the language", async (context) => {
    const command = contactCreate({
      ...contactRequest,
      facts: { role: "tech", language: "de", isOrganisation: false },
    });
    const { sent } = await ask(context, command, "contact-create-answer");
    assert.match(sent, /type>tech<.*lang>en</);
    assert.doesNotMatch(sent, /:vat>/);
  });

  test("is sent names with the account's billing contact", async (context) => {
    const create = domainCreate({
      name: "hello.example",
      periodYears: 1,
      nameServers: { hostModel: "attributes", hosts: [{ name: "a.hello.example", addresses: ["203.0.113.1"] }] },
      registrant: "c26511",
      contacts: [{ type: "tech", id: "c182" }],
      authInfo: new Secret("drawn-by-us"),
    });
    assertSent((await ask(context, create, "contact-create-answer")).sent, "domain-create-command");
  });

  test("shows a name's states by its extension, which are the RFCs' statuses here", async (context) => {
    const show = async (answer: string) => {
      const { sent, data } = await ask(context, domainInfo("hello.example"), answer);
      assertSent(sent, "domain-info-command");
      return [data?.statuses, data?.rgpStatuses];
    };
    assert.deepEqual(await show("domain-info-answer"), [["clientTransferProhibited"], []]);
    assert.deepEqual(await show("domain-info-on-hold-answer"), [
      ["serverTransferProhibited", "serverUpdateProhibited"],
      [],
    ]);
    // Deleted today, and in quarantine afterwards.
    assert.deepEqual(await show("domain-info-scheduled-answer"), [["pendingDelete"], ["pendingDelete"]]);
    assert.deepEqual(await show("domain-info-quarantined-answer"), [["pendingDelete"], ["pendingDelete"]]);
  });

  test("has names for a year that it renews itself", () => {
    const { renew, yearsMax, renewalLeadDays, renewalAlarmDays, contactTypes, registrantChange } = profileWith();
    assert.deepEqual([renew, yearsMax, renewalLeadDays, renewalAlarmDays], ["none", 1, 0, [0]]);
    assert.deepEqual([contactTypes, registrantChange], [["tech"], "forbidden"]);
  });
});
