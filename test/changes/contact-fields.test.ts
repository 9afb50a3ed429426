/** Registries that ask for more of a contact, or let a contact have one role only: their profiles say so. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ada } from "../harness/contacts.ts";
import { dumpDatabase, runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { change, own, type Stage, startStage } from "./stage.ts";

const name = "people.example";
const target = `/domains/${name}/contacts`;
const uri = "urn:example:taxNumber-1.0";
const contactFields = [
  {
    name: "tax_number",
    pattern: "[A-Z]{2}[0-9]{6,12}",
    required: true,
    element: `<t:create xmlns:t="${uri}"><t:taxNumber>{value}</t:taxNumber></t:create>`,
  },
];
const sandbox = { extensions: ["taxNumber"] as const };
const registry = { contactFields, contactTypes: ["admin" as const] };

const number = "GB998877665";
const taxed = { ...ada, extra_fields: [{ name: "tax_number", value: number }] };
const registration = { domain_name: name, registrant: taxed, contacts: { admin: taxed } };

const contactCreates = ({ gateway }: Stage) =>
  gateway.registry.store.journal.entries({ command: "contact:create" }).filter(({ direction }) => direction === "in");

async function register({ gateway, reseller }: Stage, body: object, path = "/domains/registrations") {
  const reply = await gateway.send(reseller, "POST", path, { body });
  assert.equal(reply.status, 202, reply.text);
  return gateway.settled(reseller, reply.headers.location ?? "");
}

async function refusedFields({ gateway, reseller }: Stage, method: "PUT" | "POST", path: string, body: object) {
  const reply = await gateway.send(reseller, method, path, { body });
  assert.equal(reply.status, 400, reply.text);
  return (reply.body as { validation_errors: { field: string }[] }).validation_errors.map(({ field }) => field);
}

test("a field that the registry demands is sent in its element, shown again, and sealed", async (t) => {
  const stage = await startStage(t, [], { sandbox, registry });
  const { gateway, reseller } = stage;
  assert.equal((await register(stage, registration)).status, "Finished");
  const { contacts } = gateway.registry.store;
  assert.deepEqual(
    contacts.values().map(({ taxNumber }) => taxNumber),
    [number],
  );
  const shown = await gateway.send(reseller, "GET", target);
  assert.deepEqual(shown.body, { registrant: taxed, admin: taxed, tech: null, billing: null });
  const other = { ...taxed, extra_fields: [{ name: "tax_number", value: "GB123456" }] };
  assert.equal((await change(stage, "PUT", target, { admin: other })).status, "Finished");
  assert.deepEqual(
    contacts.values().map(({ taxNumber }) => taxNumber),
    [number, "GB123456"],
  );
  const { journal } = gateway.registry.store;
  assert.match(journal.entries({ command: "login" })[0]?.xml ?? "", new RegExp(`<extURI>${uri}</extURI>`));
  assert.ok(!(await dumpDatabase(gateway.databaseUrl)).includes(number));
});

test("under /v2 a registrant has such fields too", async (t) => {
  const stage = await startStage(t, [], { sandbox, registry: { contactFields, contactTypes: [] } });
  const { gateway } = stage;
  const { body } = registrationOfV2();
  const job = await gateway.send(stage.reseller, "POST", "/v2/domains/registrations", { body });
  assert.equal(job.status, 202, job.text);
  const orders = "SELECT order_code FROM orders";
  const [order] = await runSql<{ order_code: string }>(gateway.databaseUrl, orders);
  const ended = await gateway.settled(stage.reseller, `/domains/registrations/${order!.order_code}`);
  assert.equal(ended.status, "Finished");
  assert.equal(gateway.registry.store.contacts.values()[0]?.taxNumber, number);
  const wrong = { ...body, domain_name: "other.example", registrant: ada };
  assert.deepEqual(await refusedFields(stage, "POST", "/v2/domains/registrations", wrong), [
    "registrant.extra_fields.tax_number",
  ]);
});

const registrationOfV2 = () => ({ body: { domain_name: name, registrant: taxed } });

test("a contact that the registry would refuse is refused before anything is sent, and the answer names the field", async (t) => {
  const stage = await startStage(t, [], { sandbox, registry });
  const extra = (...extra_fields: unknown[]) => ({ ...ada, extra_fields });
  const tax = (value: unknown) => ({ name: "tax_number", value });
  const wrong: [contact: object, ...fields: string[]][] = [
    [ada, "extra_fields.tax_number"],
    [extra(), "extra_fields.tax_number"],
    [extra(tax("")), "extra_fields.tax_number"],
    [extra(tax("12")), "extra_fields.tax_number"],
    [extra(tax(7)), "extra_fields.tax_number"],
    [extra(tax(number), tax(number)), "extra_fields.tax_number"],
    [extra(tax(number), { name: "shoe_size", value: "44" }), "extra_fields.shoe_size"],
    [extra(tax(number), { name: "a b", value: "44" }), "extra_fields.1.name"],
    [extra(tax(number), null), "extra_fields.1.name"],
    [{ ...ada, extra_fields: "tax" }, "extra_fields"],
  ];
  const path = "/domains/registrations";
  for (const [contact, ...fields] of wrong) {
    const named = await refusedFields(stage, "POST", path, { ...registration, registrant: contact });
    assert.deepEqual(
      named,
      fields.map((field) => `registrant.${field}`),
      JSON.stringify(contact),
    );
  }
  // The account's profile has no such field.
  assert.deepEqual(await refusedFields(stage, "POST", path, { domain_name: name }), ["registrant", "contacts.admin"]);
  const { contacts: _left, ...alone } = registration;
  assert.deepEqual(await refusedFields(stage, "POST", path, alone), ["contacts.admin"]);
  assert.equal((await register(stage, registration)).status, "Finished");
  assert.deepEqual(await refusedFields(stage, "PUT", target, { admin: ada }), ["admin.extra_fields.tax_number"]);
  assert.equal(contactCreates(stage).length, 1);
});

test("a contact without the field is refused by such a registry, where the profile does not name it", async (t) => {
  const stage = await startStage(t, [], { sandbox });
  const ended = await register(stage, { domain_name: name, registrant: ada, contacts: { admin: ada, tech: ada } });
  assert.equal(ended.status, "FailedValidation");
});

test("fields count for equality: the same person with another number is another contact, in whatever order they come", async (t) => {
  const two = [
    ...contactFields,
    { name: "note", element: `<t:create xmlns:t="${uri}"><t:note>{value}</t:note></t:create>` },
  ];
  const stage = await startStage(t, [], { sandbox, registry: { ...registry, contactFields: two } });
  const note = { name: "note", value: "x" };
  const [tax] = taxed.extra_fields;
  const one = { ...ada, extra_fields: [note, tax] };
  const same = { ...ada, extra_fields: [tax, note] };
  assert.equal(
    (await register(stage, { ...registration, registrant: one, contacts: { admin: same } })).status,
    "Finished",
  );
  assert.equal(contactCreates(stage).length, 1);
  assert.equal((await change(stage, "PUT", target, { admin: taxed })).status, "Finished");
  assert.equal(contactCreates(stage).length, 2);
});

test("an object that exists with another value of a field than the order's is not used", async (t) => {
  const stage = await startStage(t, [], { sandbox, registry });
  const { gateway } = stage;
  assert.equal((await register(stage, registration)).status, "Finished");
  const [made] = gateway.registry.store.contacts.values();
  gateway.registry.store.contacts.put({ ...made!, taxNumber: "GB000000" });
  // As after a restore of our database: the object is there, and we do not know it.
  await runSql(gateway.databaseUrl, "DELETE FROM registry_contacts");
  const reply = await gateway.send(stage.reseller, "POST", "/domains/registrations", {
    body: { ...registration, domain_name: "second.example" },
  });
  assert.equal(reply.status, 202);
  const alarms = () => runSql<{ note: string }>(gateway.databaseUrl, "SELECT note FROM alarms WHERE kind = 'order'");
  await until("an operator is called", async () => (await alarms()).length > 0);
  assert.match((await alarms())[0]!.note, /another tax_number/);
  assert.equal(gateway.registry.store.domains.find("second.example"), undefined);
});

test("where a contact has one role only, each role of a name has an object of its own, and names share them by role", async (t) => {
  const perRole = { contactPerRole: true };
  for (const contactIds of ["client", "server"] as const) {
    const stage = await startStage(t, [], {
      sandbox: { ...perRole, contactIds },
      registry: { ...perRole, contactIds },
    });
    const { gateway, reseller } = stage;
    const { domains } = gateway.registry.store;
    await own(stage, name);
    await own(stage, "second.example");
    assert.equal(contactCreates(stage).length, 3, "registrant, admin and tech");
    const idsOf = (of: string) => {
      const { registrant, contacts } = domains.find(of)!;
      return [registrant, ...contacts.map(({ id }) => id)];
    };
    assert.equal(new Set(idsOf(name)).size, 3);
    assert.deepEqual(idsOf("second.example"), idsOf(name));
    assert.equal((await change(stage, "PUT", target, { registrant: ada, admin: ada, tech: ada })).status, "Finished");
    assert.equal(new Set([...idsOf(name), ...idsOf("second.example")]).size, 6);
    const { body } = await gateway.send(reseller, "GET", target);
    assert.deepEqual(body, { registrant: ada, admin: ada, tech: ada, billing: null });
    const given = { domain_name: "third.example", registrant: ada };
    assert.equal((await register(stage, given)).status, "Finished");
    assert.deepEqual(idsOf("third.example"), [idsOf(name)[0], ...idsOf("second.example").slice(1)]);
    assert.equal(contactCreates(stage).length, 6);
  }
});

test("such a registry refuses a name whose roles share an object, where the profile does not say so", async (t) => {
  const stage = await startStage(t, [], { sandbox: { contactPerRole: true } });
  assert.equal((await register(stage, { domain_name: name })).status, "FailedValidation");
});
