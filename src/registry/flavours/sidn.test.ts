/** Against frames that were written from public sources: `frames/sidn/README.md` names them. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#lib/secret.ts";
import { contactCreate } from "#registry/epp/commands/contact/create.ts";
import { domainCreate } from "#registry/epp/commands/domain/create.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { contactRequest, familyOf } from "#registry/flavours/test-family.ts";

const { profileWith, ask, assertSent } = familyOf("sidn");
const profile = profileWith();

describe("SIDN's registry", () => {
  test("is asked at login for its extension", async (context) => {
    const { extensionURIs } = await ask(context, domainInfo("hello.example"), "domain-info-answer");
    assert.equal(extensionURIs[0], "http://rxsd.domain-registry.nl/sidn-ext-epp-1.0");
  });

  test("is sent a contact with its legal form and number, in the local form", async (context) => {
    const facts = { isOrganisation: true, enterpriseNumber: new Secret("BE0123456789") };
    const { sent, data } = await ask(context, contactCreate({ ...contactRequest, facts }), "contact-create-answer");
    assertSent(sent, "contact-create-command");
    assert.equal(data?.id, "TES000079-TESTA");
  });

  test("is sent a person without a number", async (context) => {
    const command = contactCreate({ ...contactRequest, facts: { isOrganisation: false } });
    const { sent } = await ask(context, command, "contact-create-answer");
    assert.match(sent, /legalForm>PERSOON</);
    assert.doesNotMatch(sent, /legalFormRegNo/);
  });

  test("is sent names without a period", async (context) => {
    const create = domainCreate({
      name: "hello.example",
      periodYears: 1,
      periodForm: profile.period,
      nameServers: { hostModel: "objects", hosts: [{ name: "ns1.dns-host.example", addresses: [] }] },
      registrant: "TES000079-TESTA",
      contacts: [
        { type: "admin", id: "TES000080-TESTA" },
        { type: "tech", id: "TES000081-TESTA" },
      ],
      authInfo: new Secret("drawn-by-us"),
    });
    assertSent((await ask(context, create, "contact-create-answer")).sent, "domain-create-command");
  });

  test("shows a name that is being deleted, which nothing here restores", async (context) => {
    const show = async (answer: string) => {
      const { data } = await ask(context, domainInfo("hello.example"), answer);
      return [data?.statuses, data?.rgpStatuses, data?.authInfo?.reveal()];
    };
    assert.deepEqual(await show("domain-info-answer"), [["ok"], [], "token4556"]);
    for (const answer of ["domain-info-scheduled-answer", "domain-info-deleted-answer"]) {
      assert.deepEqual(await show(answer), [["pendingDelete"], ["pendingDelete"], "token4556"], answer);
    }
  });

  test("has names without dates that it renews itself", () => {
    const { renew, expiry, period, renewalAlarmDays, lockNewNames } = profile;
    assert.deepEqual([renew, expiry, period, renewalAlarmDays, lockNewNames], ["none", "ours", "none", [0], false]);
  });
});
