/** Against frames that were written from the documentation: `frames/eurid/README.md` names the sources. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#lib/secret.ts";
import { contactCreate } from "#registry/epp/commands/contact/create.ts";
import { contactUpdate } from "#registry/epp/commands/contact/update.ts";
import { domainCheck } from "#registry/epp/commands/domain/check.ts";
import { domainCreate } from "#registry/epp/commands/domain/create.ts";
import { domainDelete } from "#registry/epp/commands/domain/delete.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";
import { contactNamespace, domainNamespace } from "#registry/epp/namespaces.ts";
import { offerXml } from "#registry/epp/test-stand-in-server.ts";
import { contactRequest, familyOf } from "#registry/flavours/test-family.ts";

const waitMs = 5_000;
const { profileWith, start, ask, assertSent } = familyOf("eurid");
const profile = profileWith();
const facts = {
  role: "tech",
  language: "nl-BE",
  isOrganisation: true,
  enterpriseNumber: new Secret("BE0123456789"),
} as const;

describe("a registry of EURid's family", () => {
  test("is asked at login for the newest version of each of its extensions that it offers", async (context) => {
    const { extensionURIs } = await ask(context, domainInfo("hello.example"), "domain-info-answer");
    assert.deepEqual(extensionURIs, [
      "http://www.eurid.eu/xml/epp/contact-ext-1.3",
      "http://www.eurid.eu/xml/epp/domain-ext-2.4",
      "http://www.eurid.eu/xml/epp/authInfo-1.1",
      "urn:ietf:params:xml:ns:secDNS-1.1",
      "http://www.eurid.eu/xml/epp/poll-1.2",
    ]);
  });

  test("without one of them gets no login, and the error names it", async (context) => {
    const { pool } = await start(context, "domain-info-answer", offerXml([domainNamespace, contactNamespace]));
    await assert.rejects(pool.acquire("check", { waitMs }), { reason: "not-offered", message: /contact-ext-1\.3/ });
  });

  test("is sent a contact with its type and language, in the local form, without an authInfo", async (context) => {
    const { sent, data } = await ask(context, contactCreate({ ...contactRequest, facts }), "contact-create-answer");
    assertSent(sent, "contact-create-command");
    assert.equal(data?.id, "c57");
  });

  test("is sent the change of an address in the local form", async (context) => {
    const postalInfo = { type: "int", name: "Rita", street: ["Main Street 2"], city: "Brussels", cc: "BE" } as const;
    const { sent } = await ask(context, contactUpdate({ id: "c57", postalInfo }), "contact-create-answer");
    assert.match(sent, /<contact:chg><contact:postalInfo type="loc">/);
  });

  test("gets the language of a contact if it has that language, and English otherwise", async (context) => {
    for (const [language, expected] of [
      ["tr", "en"],
      ["pt-BR", "pt"],
      [undefined, "en"],
    ] as const) {
      const command = contactCreate({ ...contactRequest, facts: { ...facts, language, isOrganisation: false } });
      const { sent } = await ask(context, command, "contact-create-answer");
      assert.match(sent, new RegExp(`lang>${expected}<.*naturalPerson>true<`));
      assert.doesNotMatch(sent, /vat/);
    }
  });

  test("is sent names without an authInfo, and updates and deletes as the RFCs have them", async (context) => {
    const create = domainCreate({
      name: "hello.example",
      periodYears: 1,
      nameServers: {
        hostModel: "attributes",
        hosts: [
          { name: "a.hello.example", addresses: ["203.0.113.1"] },
          { name: "ns.dns-host.example", addresses: [] },
        ],
      },
      registrant: "c56",
      contacts: [
        { type: "billing", id: "c10" },
        { type: "tech", id: "c57" },
      ],
      authInfo: new Secret("drawn-by-us"),
    });
    assertSent((await ask(context, create, "contact-create-answer")).sent, "domain-create-command");
    const update = domainUpdate({
      name: "hello.example",
      add: { contacts: [{ type: "tech", id: "c60" }] },
      remove: { contacts: [{ type: "tech", id: "c57" }] },
    });
    assertSent((await ask(context, update, "contact-create-answer")).sent, "domain-update-command");
    const deletion = await ask(context, domainDelete("hello.example"), "contact-create-answer");
    assertSent(deletion.sent, "domain-delete-command");
  });

  test("shows a name's states by its extension, which are the RFCs' statuses here", async (context) => {
    const show = async (answer: string) => (await ask(context, domainInfo("hello.example"), answer)).data;
    const held = await show("domain-info-answer");
    assert.deepEqual([held?.statuses, held?.rgpStatuses], [["ok"], []]);
    assert.deepEqual(held?.contacts, [
      { type: "billing", id: "c10" },
      { type: "tech", id: "c57" },
      { type: "onsite", id: "c58" },
    ]);
    const quarantined = await show("domain-info-quarantined-answer");
    assert.deepEqual([quarantined?.statuses, quarantined?.rgpStatuses], [["pendingDelete"], ["pendingDelete"]]);
    assert.deepEqual((await show("domain-info-suspended-answer"))?.statuses, ["serverHold"]);
  });

  test("issues an auth code to an info that asks for it", async (context) => {
    const command = domainInfo("hello.example", { issuedCode: "request" });
    const { sent, data } = await ask(context, command, "domain-info-code-answer");
    assertSent(sent, "domain-info-code-command");
    assert.equal(data?.authInfo?.reveal(), "XXXX-2MRN-MRAP-MXVR");
  });

  test("answers checks in its own words", async (context) => {
    const { pool } = await start(context, "domain-check-answer");
    using lease = await pool.acquire("check", { waitMs });
    const { data } = await lease.request(domainCheck("hello.example"), { clTRID: "test-0001" });
    assert.deepEqual(data, { available: false, reason: "quarantine" });
  });
});

describe("a profile with the flavour eurid", () => {
  test("has what the family has in common, unless it says otherwise", () => {
    const { contactIds, hostModel, authInfo, contactTypes, graceDays } = profile;
    assert.deepEqual(
      [contactIds, hostModel, authInfo, contactTypes],
      ["server", "attributes", "registry", ["billing", "tech"]],
    );
    assert.deepEqual([graceDays.add, graceDays.redemption, graceDays.pendingDelete], [0, 0, 40]);
    const own = profileWith({ contactTypes: ["billing"], graceDays: { add: 1 } });
    assert.deepEqual([own.contactTypes, own.graceDays.add, own.graceDays.pendingDelete], [["billing"], 1, 40]);
  });
});
