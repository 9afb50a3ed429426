import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../../sandbox/registry/result-codes.ts";
import { ada, grace } from "../harness/contacts.ts";
import { dumpDatabase, runSql } from "../harness/sql.ts";
import { change, order, received, type Stage, startStage } from "./stage.ts";

const name = "people.example";
const target = `/domains/${name}/contacts`;
const quick = { registry: { transformTimeoutMs: 400, settleMs: 800, takeoverSettleMs: 0, backoffFirstMs: 50 } };

/** The contact that the profile of every test's reseller makes. */
const profile = {
  first_name: "Rita",
  last_name: "Reseller",
  company_name: "Reseller Ltd",
  email: "rita@reseller.example",
  phone: "+32.25550100",
  address: "Main Street 1",
  postal_code: "1000",
  city: "Brussels",
  country_code: "BE",
};

async function contacts({ gateway, reseller }: Stage, of = name): Promise<Record<string, unknown>> {
  const reply = await gateway.send(reseller, "GET", `/domains/${of}/contacts`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body as Record<string, unknown>;
}

const atRegistry = ({ gateway }: Stage, of = name) => {
  const row = gateway.registry.store.domains.find(of);
  const idOf = (type: string) => row?.contacts.filter((contact) => contact.type === type).map(({ id }) => id);
  return { registrant: row?.registrant, admin: idOf("admin"), tech: idOf("tech") };
};

const emailOf = ({ gateway }: Stage, id: string | undefined) => gateway.registry.store.contacts.find(id ?? "")?.email;

const contactCreates = ({ gateway }: Stage) =>
  gateway.registry.store.journal.entries({ command: "contact:create" }).filter(({ direction }) => direction === "in");

async function refusedFields({ gateway, reseller }: Stage, body: object, method = "PUT", path = target) {
  const reply = await gateway.send(reseller, method, path, { body });
  assert.equal(reply.status, 400, reply.text);
  return (reply.body as { validation_errors: { field: string }[] }).validation_errors.map(({ field }) => field);
}

test("a name's contacts are the profile's, until others are ordered; those left out stay", async (t) => {
  const stage = await startStage(t, [name]);
  assert.deepEqual(await contacts(stage), { registrant: profile, admin: profile, tech: profile, billing: null });
  const before = atRegistry(stage);
  const ordered = await change(stage, "PUT", target, { registrant: ada, tech: null });
  assert.deepEqual([ordered.kind, ordered.status], ["contacts", "Finished"]);
  assert.deepEqual(await contacts(stage), { registrant: ada, admin: profile, tech: profile, billing: null });
  const after = atRegistry(stage);
  assert.deepEqual([after.admin, after.tech], [before.admin, before.tech]);
  assert.equal(emailOf(stage, after.registrant), ada.email);
  assert.equal((await change(stage, "PUT", target, { registrant: ada })).status, "Finished");
  assert.equal(received(stage, name, "domain:update").length, 1, "what is so already is not sent again");
});

test("equal data is one contact object, and other data another one: none is changed under another name", async (t) => {
  const [first, second] = ["first.example", "second.example"];
  const stage = await startStage(t, [first, second]);
  for (const one of [first, second]) await change(stage, "PUT", `/domains/${one}/contacts`, { admin: ada, tech: ada });
  assert.equal(contactCreates(stage).length, 2, "the profile's and this one");
  assert.deepEqual(atRegistry(stage, first).admin, atRegistry(stage, second).admin);
  await change(stage, "PUT", `/domains/${first}/contacts`, { admin: grace });
  assert.deepEqual(await contacts(stage, second), { registrant: profile, admin: ada, tech: ada, billing: null });
  const kept = atRegistry(stage, second);
  assert.deepEqual([emailOf(stage, kept.admin?.[0]), kept.admin?.length], [ada.email, 1]);
  assert.deepEqual(stage.gateway.registry.store.journal.entries({ command: "contact:update" }), []);
});

test("at a registry without contacts they are ours alone", async (t) => {
  const dataModel = "thin" as const;
  const stage = await startStage(t, [name], { sandbox: { dataModel }, registry: { dataModel } });
  assert.deepEqual(await contacts(stage), { registrant: profile, admin: profile, tech: profile, billing: null });
  assert.equal((await change(stage, "PUT", target, { registrant: ada })).status, "Finished");
  assert.equal((await change(stage, "PUT", target, { tech: grace })).status, "Finished");
  assert.deepEqual(await contacts(stage), { registrant: ada, admin: profile, tech: grace, billing: null });
  assert.equal(
    (await change(stage, "PUT", `/domains/${name}/transfer-lock`, { transfer_locked: true })).status,
    "Finished",
  );
  const kept = { registrant: ada, admin: profile, tech: grace, billing: null };
  assert.deepEqual(await contacts(stage), kept, "what the registry does not show stays");
  assert.deepEqual(contactCreates(stage), []);
  assert.equal(received(stage, name, "domain:update").length, 1);
});

for (const execute of [true, false]) {
  const fate = execute ? "was executed" : "was lost on its way";
  test(`a contact whose create ${fate} unanswered is made once, and the name has it (rows C11, C14)`, async (t) => {
    const stage = await startStage(t, [name], quick);
    const hold = stage.gateway.registry.holds.place({ command: "contact:create", at: "before-execution", times: 1 });
    const location = await order(stage, "PUT", target, { registrant: ada });
    await hold.abandoned(1);
    assert.equal(received(stage, name, "domain:update").length, 0);
    hold.release({ execute });
    assert.equal((await stage.gateway.settled(stage.reseller, location)).status, "Finished");
    assert.deepEqual((await contacts(stage)).registrant, ada);
    assert.equal(contactCreates(stage).filter(({ executed }) => executed).length, 2);
  });

  test(`an update whose answer never came and that ${fate} is done once (rows C11, C14)`, async (t) => {
    const stage = await startStage(t, [name], quick);
    const hold = stage.gateway.registry.holds.place({
      command: "domain:update",
      name,
      at: "before-execution",
      times: 1,
    });
    const location = await order(stage, "PUT", target, { registrant: ada, admin: grace });
    await hold.abandoned(1);
    hold.release({ execute });
    assert.equal((await stage.gateway.settled(stage.reseller, location)).status, "Finished");
    assert.deepEqual(await contacts(stage), { registrant: ada, admin: grace, tech: profile, billing: null });
    assert.equal(received(stage, name, "domain:update").filter(({ executed }) => executed).length, 1);
  });
}

test("a newer order takes over the roles that it leaves out of one that was not sent (row C2)", async (t) => {
  const stage = await startStage(t, [name], quick);
  stage.gateway.registry.pause();
  const replaced = await order(stage, "PUT", target, { registrant: ada, tech: ada });
  const last = await order(stage, "PUT", target, { tech: grace });
  assert.equal((await stage.gateway.settled(stage.reseller, replaced)).status, "Cancelled");
  stage.gateway.registry.resume();
  assert.equal((await stage.gateway.settled(stage.reseller, last)).status, "Finished");
  assert.deepEqual(await contacts(stage), { registrant: ada, admin: profile, tech: grace, billing: null });
});

test("a contact that the registry has lost is made again", async (t) => {
  const [other] = ["other.example"];
  const stage = await startStage(t, [name, other], quick);
  await change(stage, "PUT", target, { admin: ada });
  const { store } = stage.gateway.registry;
  const [lost] = atRegistry(stage).admin ?? [];
  store.contacts.delete(lost ?? "");
  assert.equal((await change(stage, "PUT", `/domains/${other}/contacts`, { admin: ada })).status, "Finished");
  assert.equal(emailOf(stage, atRegistry(stage, other).admin?.[0]), ada.email);
});

test("where the registry chooses ids, a contact whose answer was lost is abandoned, and counted", async (t) => {
  const sandbox = { contactIds: "server" } as const;
  const stage = await startStage(t, [name], { sandbox, registry: { ...quick.registry, ...sandbox } });
  const hold = stage.gateway.registry.holds.place({ command: "contact:create", at: "before-execution", times: 1 });
  const location = await order(stage, "PUT", target, { registrant: ada });
  await hold.abandoned(1);
  hold.release({ execute: true });
  assert.equal((await stage.gateway.settled(stage.reseller, location)).status, "Finished");
  assert.match(atRegistry(stage).registrant ?? "", /^SBX/);
  assert.deepEqual((await contacts(stage)).registrant, ada);
  const abandoned = "SELECT FROM attempts WHERE abandoned_at IS NOT NULL";
  assert.equal((await runSql(stage.gateway.databaseUrl, abandoned)).length, 1);
});

test("a registration has the contacts that it names, and the profile for those that it leaves out", async (t) => {
  for (const dataModel of ["thick", "thin"] as const) {
    const stage = await startStage(t, [], { sandbox: { dataModel }, registry: { dataModel } });
    const { gateway, reseller } = stage;
    const body = { domain_name: name, registrant: ada, contacts: { tech: grace } };
    const reply = await gateway.send(reseller, "POST", "/domains/registrations", { body });
    assert.equal(reply.status, 202, reply.text);
    const ended = await gateway.settled(reseller, reply.headers.location ?? "");
    assert.equal(ended.status, "Finished");
    assert.deepEqual(await contacts(stage), { registrant: ada, admin: profile, tech: grace, billing: null }, dataModel);
    if (dataModel === "thick") assert.equal(emailOf(stage, atRegistry(stage).registrant), ada.email);
    assert.equal(contactCreates(stage).length, dataModel === "thick" ? 3 : 0);
  }
});

test("a registration whose answer was lost has its contacts nevertheless", async (t) => {
  for (const dataModel of ["thick", "thin"] as const) {
    const stage = await startStage(t, [], { sandbox: { dataModel }, registry: { dataModel } });
    const { gateway, reseller } = stage;
    const body = { domain_name: "drop-after-1.example", registrant: ada };
    const { headers } = await gateway.send(reseller, "POST", "/domains/registrations", { body });
    assert.equal((await gateway.settled(reseller, headers.location ?? "")).status, "Finished");
    assert.deepEqual((await contacts(stage, "drop-after-1.example")).registrant, ada, dataModel);
  }
});

test("a repeated registration is the same order, unless it names another contact than the order", async (t) => {
  const stage = await startStage(t, []);
  const { gateway, reseller } = stage;
  const hold = gateway.registry.hold({ command: "domain:create", name, at: "before-execution" });
  const send = (more: object) =>
    gateway.send(reseller, "POST", "/domains/registrations", { body: { domain_name: name, ...more } });
  const first = await send({ registrant: ada });
  await hold.reached(1);
  for (const more of [{}, { registrant: ada }, { registrant: { ...ada, fax: "" } }]) {
    const again = await send(more);
    assert.deepEqual([again.status, again.headers.location], [202, first.headers.location]);
  }
  const path = "/domains/registrations";
  assert.deepEqual(await refusedFields(stage, { domain_name: name, registrant: grace }, "POST", path), ["registrant"]);
  const contacts = { tech: ada };
  assert.deepEqual(await refusedFields(stage, { domain_name: name, contacts }, "POST", path), ["contacts.tech"]);
  hold.release();
  assert.equal((await gateway.settled(reseller, first.headers.location ?? "")).status, "Finished");
});

test("another reseller sees and changes nothing, and only a key with contacts:read sees contacts", async (t) => {
  const stage = await startStage(t, [name]);
  const { gateway } = stage;
  await change(stage, "PUT", target, { registrant: ada });
  const other = await gateway.addReseller();
  for (const [method, body] of [["GET"], ["PUT", { registrant: grace }]] as const) {
    const of = (one: string) => gateway.send(other, method, `/domains/${one}/contacts`, body ? { body } : {});
    const [others, nobodys] = [await of(name), await of("nobodys.example")];
    assert.deepEqual([others.status, others.text], [404, nobodys.text]);
  }
  // Even if it got the name, it would not see whom the one before it named.
  await runSql(gateway.databaseUrl, "UPDATE domains SET reseller_id = $1", [other.id]);
  assert.equal((await contacts({ gateway, reseller: other })).registrant, null);
  await runSql(gateway.databaseUrl, "UPDATE domains SET reseller_id = $1", [stage.reseller.id]);
  const reader = await gateway.addKey(stage.reseller, { scopes: ["domains:read", "domains:update"] });
  const refused = await gateway.send(reader, "GET", target);
  assert.equal(refused.status, 403, refused.text);
});

test("nothing in the database says who somebody is, except under the master key", async (t) => {
  const stage = await startStage(t, [name], quick);
  const { gateway, reseller } = stage;
  await change(stage, "PUT", target, { registrant: ada });
  const body = { domain_name: "second.example", registrant: grace };
  const { headers } = await gateway.send(reseller, "POST", "/domains/registrations", { body });
  await gateway.settled(reseller, headers.location ?? "");
  // A registry may quote what it was sent.
  const quoted = { ...ada, email: "quoted@quillfeather.example" };
  gateway.registry.store.contacts.watch(({ email, postalInfo: [postal] }) => {
    if (email === quoted.email) throw new Refusal(2005, `${email} of ${postal?.name} is refused`);
  });
  const refused = await change(stage, "PUT", target, { admin: quoted });
  assert.deepEqual([refused.status, refused.error_code], ["FailedValidation", "order_refused"]);
  assert.match(String(refused.error_text), /2005.*\[secret\] of \[secret\] is refused/);
  const dump = await dumpDatabase(gateway.databaseUrl);
  for (const text of [ada, grace, quoted].flatMap((one) => [one.email, one.phone, one.address, one.last_name])) {
    assert.ok(!dump.includes(text), text);
    assert.ok(!dump.includes(Buffer.from(text).toString("hex")), text);
  }
});

test("each field that is not valid is named, and nothing is ordered", async (t) => {
  const stage = await startStage(t, [name], { registry: { contactLetters: "ascii" } });
  const wrong: [contact: object | string | null, ...fields: string[]][] = [
    ["ada", ""],
    [{}, "first_name", "last_name", "email", "phone", "address", "postal_code", "city", "country_code"],
    [{ ...ada, email: "ada@" }, "email"],
    [{ ...ada, email: "ada@localhost" }, "email"],
    [{ ...ada, phone: "0207 946 0001", fax: "+0.123456" }, "phone", "fax"],
    [{ ...ada, phone: "+1.23456789012345678" }, "phone"],
    [{ ...ada, country_code: "UK" }, "country_code"],
    [{ ...ada, city: "Lon\ndon", state: 7 }, "city", "state"],
    [{ ...ada, postal_code: "12345678901234567" }, "postal_code"],
    [{ ...ada, first_name: "a".repeat(130), last_name: "b".repeat(130) }, "last_name"],
    [{ ...ada, first_name: "\u0000", last_name: "\ud800" }, "first_name", "last_name"],
    [{ ...ada, language_code: "english" }, "language_code"],
    [{ ...ada, extra_fields: [{ name: "vat", value: "1" }] }, "extra_fields"],
    [{ ...ada, city: "Köln" }, "city"],
  ];
  for (const [contact, ...fields] of wrong) {
    const expected = fields.map((field) => (field === "" ? "tech" : `tech.${field}`));
    assert.deepEqual(await refusedFields(stage, { tech: contact }), expected, JSON.stringify(contact));
    const path = "/domains/registrations";
    const inOrder = { domain_name: "new.example", contacts: { tech: contact } };
    assert.deepEqual(
      await refusedFields(stage, inOrder, "POST", path),
      expected.map((field) => `contacts.${field}`),
    );
  }
  assert.deepEqual(await refusedFields(stage, {}), ["registrant"]);
  assert.deepEqual(await refusedFields(stage, { billing: ada }), ["billing"], "a role that the registry does not have");
  assert.deepEqual(await runSql(stage.gateway.databaseUrl, "SELECT FROM orders"), []);
});

test("a number is taken without its dot, a country in small letters, and an empty text is left out", async (t) => {
  const stage = await startStage(t, [name]);
  const loose = { ...ada, phone: "+442079460001", country_code: "gb", company_name: "", fax: null, extra_fields: [] };
  await change(stage, "PUT", target, { registrant: loose });
  assert.deepEqual((await contacts(stage)).registrant, ada);
});

test("a registrant that the registry does not let change is refused, unless it is the same", async (t) => {
  const stage = await startStage(t, [name], { registry: { registrantChange: "forbidden" } });
  assert.deepEqual(await refusedFields(stage, { registrant: ada }), ["registrant"]);
  assert.equal((await change(stage, "PUT", target, { registrant: profile, tech: ada })).status, "Finished");
  assert.deepEqual(await contacts(stage), { registrant: profile, admin: profile, tech: ada, billing: null });
});
