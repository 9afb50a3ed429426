/**
 * What our calls set, as a registrar with another client sees it at the registry: Net::EPP::Simple, which shares no code with ours.
 * Of a name it must show exactly what the call has changed, and everything else as before.
 */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { SandboxRegistry } from "../../sandbox/registry/server.ts";
import { change, domain, startStage as startPlain } from "../changes/stage.ts";
import { departuresOf, untilLeft } from "../departures/stage.ts";
import { assertError } from "../harness/assert-reply.ts";
import { ada } from "../harness/contacts.ts";
import { registrarId, registrarPassword } from "../harness/profiles.ts";
import { until } from "../orders/judge.ts";
import {
  assertRenewedOnce,
  commands,
  own,
  portfolioEntry,
  type Stage,
  type StageOptions,
  startStage,
  untilRenewalIs,
  yearsLater,
} from "../renewals/stage.ts";
import { loginPerl, noNetEpp, type PerlRegistrar, type Seen } from "./perl-registrar.ts";

const skip = noNetEpp;
const name = "watched.example";
/** The add grace period is over. */
const laterDays = 20;
const approvalDays = 5.01;
const us = { id: registrarId, password: registrarPassword };
const rival = { id: "rival", password: "rival-pw-1" };

interface Watched {
  stage: Stage;
  perl: PerlRegistrar;
}

/** A registered name, and a client of ours that looks at it. */
async function startWatched(t: TestContext, options: StageOptions = {}): Promise<Watched> {
  const stage = await startStage(t, options);
  await own(stage, name);
  return { stage, perl: await loginUs(t, stage.gateway.registry) };
}

const loginUs = (t: TestContext, registry: SandboxRegistry) => loginPerl(t, registry, us);

type Request = Parameters<typeof change> extends [unknown, ...infer Rest] ? Rest : never;

/** Makes a call, and compares what the other client sees before and after it. `undefined`: it is not there any more. */
async function assertChanges({ stage, perl }: Watched, request: Request, wanted: Record<string, unknown>) {
  const before = await perl.ask("domain", name);
  const ended = await change(stage, ...request);
  assert.equal(ended.status, "Finished", String(ended.error_text));
  const after = await perl.ask("domain", name);
  const expected = { ...before, upID: registrarId, upDate: after.upDate, ...wanted };
  assert.deepEqual(sorted(after), sorted(JSON.parse(JSON.stringify(expected)) as Seen));
}

/** Lists in one order: EPP promises none. */
const sorted = (seen: Seen) =>
  Object.fromEntries(
    Object.entries(seen).map(([field, value]) => [field, Array.isArray(value) ? value.toSorted(byText) : value]),
  );
const byText = (one: unknown, other: unknown) => textOf(one).localeCompare(textOf(other));
const textOf = (item: unknown) => (typeof item === "string" ? item : (item as { name: string }).name);

const at = (call: string) => `/domains/${name}/${call}`;
const v4 = (addr: string) => ({ version: "v4", addr });
const v6 = (addr: string) => ({ version: "v6", addr });
const outside = "ns2.elsewhere.invalid";
const below = `ns1.${name}`;

test("name servers, and the addresses of those below the name", { skip }, async (t) => {
  const watched = await startWatched(t);
  const { perl } = watched;
  const set = (...name_servers: unknown[]): Request => ["PUT", at("nameservers"), { name_servers }];
  const servers = { ns: [below, outside], hosts: [below], status: ["ok"] };
  await assertChanges(watched, set({ name: below, addresses: ["9.9.9.9", "2620:fe::9"] }, outside), servers);
  const host = await perl.ask("host", below);
  assert.deepEqual(host.addrs, [v4("9.9.9.9"), v6("2620:fe::9")]);
  assert.equal(host.clID, registrarId);
  assert.equal((await perl.ask("host", outside)).addrs, undefined);
  await change(watched.stage, ...set({ name: below, addresses: ["1.1.1.1"] }, outside));
  assert.deepEqual((await perl.ask("host", below)).addrs, [v4("1.1.1.1")]);
  await assertChanges(watched, set(outside), { ns: [outside] });
  await assertChanges(watched, set(), { ns: undefined, status: ["inactive"] });
});

test("name servers where they are attributes of the name", { skip }, async (t) => {
  const model = { hostModel: "attributes" } as const;
  const watched = await startWatched(t, { registry: model, sandbox: model });
  const name_servers = [{ name: below, addresses: ["9.9.9.9", "2620:fe::9"] }, outside];
  await assertChanges(watched, ["PUT", at("nameservers"), { name_servers }], {
    ns: [{ name: below, addrs: [v4("9.9.9.9"), v6("2620:fe::9")] }, { name: outside }],
    status: ["ok"],
  });
});

const engineer = { ...ada, company_name: "Engines & Sons", fax: "+44.2079460002", state: "LND" };
const zoe = {
  first_name: "Zoë",
  last_name: "Müller",
  email: "zoe@mueller.example",
  phone: "+49.3012345",
  address: "Straße <der> Übung 日本",
  postal_code: "10115",
  city: "Köln",
  country_code: "DE",
};

test("contacts, each in its role and with every field", { skip }, async (t) => {
  const watched = await startWatched(t);
  const { stage, perl } = watched;
  const before = await perl.ask("domain", name);
  await change(stage, "PUT", at("contacts"), { registrant: engineer, tech: zoe });
  const after = await perl.ask("domain", name);
  const { registrant, contacts } = after as Seen & { registrant: string; contacts: Record<string, string> };
  const admin = (before.contacts as Record<string, string>).admin;
  assert.deepEqual(after, {
    ...before,
    upID: registrarId,
    upDate: after.upDate,
    registrant,
    contacts: { admin, tech: contacts.tech },
  });
  assert.equal(new Set([registrant, admin, contacts.tech]).size, 3);
  const addr = { street: ["Analytical Mews 7"], city: "Londinium", sp: "LND", pc: "EC1A 1BB", cc: "GB" };
  const { roid: _, crDate: __, authInfo, ...owner } = await perl.ask("contact", registrant);
  assert.deepEqual(owner, {
    code: 1000,
    id: registrant,
    clID: registrarId,
    crID: registrarId,
    status: ["ok", "linked"],
    email: engineer.email,
    voice: engineer.phone,
    fax: engineer.fax,
    postalInfo: { int: { name: "Ada Quillfeather", org: "Engines & Sons", addr } },
  });
  assert.notEqual(authInfo, before.authInfo);
  const technician = await perl.ask("contact", contacts.tech!);
  assert.deepEqual(technician.postalInfo, {
    loc: { name: "Zoë Müller", addr: { street: [zoe.address], city: "Köln", pc: "10115", cc: "DE" } },
  });
  assert.deepEqual([technician.email, technician.voice, technician.fax], [zoe.email, zoe.phone, undefined]);
});

/** RFC 6605 §6.1: a key of example.net, and its DS record. */
const publicKey = "GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==";
const key = { flags: 257, protocol: 3, algorithm: 13, public_key: publicKey };

test("DNSSEC records, as DS records or as keys", { skip }, async (t) => {
  const digests = ["A1".repeat(32), "B2".repeat(48)];
  const [first, second] = digests.map((digest, index) => {
    return { key_tag: index + 1, algorithm: 13, digest_type: index === 0 ? 2 : 4, digest };
  });
  const watched = await startWatched(t);
  await assertChanges(watched, ["PUT", at("dnssec"), { ds: [first, second] }], {
    DS: [`1 13 2 ${digests[0]}`, `2 13 4 ${digests[1]}`],
  });
  await assertChanges(watched, ["PUT", at("dnssec"), { ds: [second] }], { DS: [`2 13 4 ${digests[1]}`] });
  await assertChanges(watched, ["PUT", at("dnssec"), { ds: [] }], { DS: undefined });
  const keyed = await startWatched(t, { registry: { secDns: "keys" } });
  await assertChanges(keyed, ["PUT", at("dnssec"), { keys: [key] }], { DNSKEY: [`257 3 13 ${publicKey}`] });
});

test("a key becomes the DS record that its RFC has for it", { skip }, async (t) => {
  const stage = await startPlain(t, ["example.net"], { moreRegistries: [{ id: "net", suffixes: ["net"] }] });
  await change(stage, "PUT", "/domains/example.net/dnssec", { keys: [key] });
  const perl = await loginUs(t, stage.gateway.moreRegistries.get("net")!);
  const { DS } = await perl.ask("domain", "example.net");
  assert.deepEqual(DS, ["55648 13 2 B4C8C1FE2E7477127B27115656AD6256F424625BF5C1E2770CE6D6E37DF61D17"]);
});

test("a transfer lock", { skip }, async (t) => {
  const watched = await startWatched(t);
  const set = (transfer_locked: boolean): Request => ["PUT", at("transfer-lock"), { transfer_locked }];
  await assertChanges(watched, set(true), { status: ["inactive", "clientTransferProhibited"] });
  await assertChanges(watched, set(false), { status: ["inactive"] });
});

test("an auth code, which no other code replaces", { skip }, async (t) => {
  const watched = await startWatched(t);
  const { stage, perl } = watched;
  const { authInfo: before } = await perl.ask("domain", name);
  const code = await orderAuthCode(stage);
  const { authInfo } = await perl.ask("domain", name);
  assert.equal(authInfo, code);
  assert.notEqual(authInfo, before);
  const other = await loginPerl(t, stage.gateway.registry, rival);
  assert.equal((await other.ask("domain", name)).authInfo, undefined);
  assert.equal((await other.ask("domain", name, code)).authInfo, code);
  for (const wrong of [String(before), "guess"]) assert.equal((await other.ask("domain", name, wrong)).code, 2202);
});

/** @returns the code that the API shows */
async function orderAuthCode(stage: Stage, of = name): Promise<string> {
  const target = `/domains/${of}/auth-code`;
  assert.equal((await change(stage, "POST", target)).status, "Finished");
  const { body } = await stage.gateway.send(stage.reseller, "GET", target);
  return (body as { auth_code: string }).auth_code;
}

test("a renewal", { skip }, async (t) => {
  const watched = await startWatched(t);
  const { expiration_date } = await portfolioEntry(watched.stage.gateway, watched.stage.reseller, name);
  const exDate = yearsLater(expiration_date, 3);
  await assertChanges(watched, ["POST", at("renewals"), { years: 3, expiration_date }], {
    exDate,
    rgp: ["addPeriod", "renewPeriod"],
  });
  assert.equal((await domain(watched.stage, name)).expiration_date, exDate);
});

test("a delete and a restore of a name with everything that it had", { skip }, async (t) => {
  const watched = await startWatched(t);
  const { stage, perl } = watched;
  await change(stage, "PUT", at("nameservers"), { name_servers: [outside] });
  await change(stage, "PUT", at("transfer-lock"), { transfer_locked: true });
  await stage.travel(laterDays);
  const before = await perl.ask("domain", name);
  assert.deepEqual([before.ns, before.rgp], [[outside], []]);
  const remove: Request = ["DELETE", `/domains/${name}?confirm=${name}`];
  await assertChanges(watched, remove, {
    status: [...(before.status as string[]).filter((status) => status !== "ok"), "pendingDelete"],
    rgp: ["redemptionPeriod"],
    upDate: before.upDate,
  });
  await assertChanges(watched, ["POST", at("restores")], { status: before.status, rgp: [] });
  assert.equal((await domain(stage, name)).expiration_date, before.exDate);
});

test("a delete in the add grace period, after which the name does not exist", { skip }, async (t) => {
  const { stage, perl } = await startWatched(t);
  assert.equal((await perl.ask("domain", name)).code, 1000);
  assert.equal((await change(stage, "DELETE", `/domains/${name}?confirm=${name}`)).status, "Finished");
  assert.equal((await perl.ask("domain", name)).code, 2303);
});

/** The other registrar has asked for a name by the code that its holder gave it, and the portfolio shows it. */
async function startAsked(t: TestContext, ...more: string[]) {
  const stage = await startStage(t, { registry: { pollIntervalMs: 20 } });
  await own(stage, name, ...more);
  const perl = await loginPerl(t, stage.gateway.registry, rival);
  if (more.length > 0) await stage.travelTo(name, 31);
  const code = await orderAuthCode(stage);
  assert.equal((await perl.ask("request", name, "guess")).code, 2202);
  const asked = await perl.ask("request", name, code);
  assert.deepEqual(
    [asked.code, asked.name, asked.trStatus, asked.reID, asked.acID],
    [1001, name, "pending", rival.id, registrarId],
  );
  const shown = async () => (await domain(stage, name)).transfer as Record<string, unknown> | undefined;
  await until("the request is shown", async () => (await shown()) !== undefined);
  const { status, gaining_registrar, requested_at, answer_by } = (await shown())!;
  assert.deepEqual(
    [status, gaining_registrar, requested_at, answer_by],
    ["pending", rival.id, asked.reDate, asked.acDate],
  );
  return { stage, perl };
}

/** The other registrar holds the name and has a message about it; the portfolio says to whom it went. */
async function assertTaken({ stage, perl }: Watched, status: string): Promise<void> {
  await untilLeft(stage, name);
  const { clID, authInfo } = await perl.ask("domain", name);
  assert.equal(clID, rival.id);
  assert.equal(typeof authInfo, "string", "it is the new holder who sees the code");
  const { trStatus } = await perl.ask("query", name);
  assert.equal(trStatus, status);
  const told = await perl.ask("poll");
  assert.deepEqual([told.name, told.trStatus, told.reID], [name, status, rival.id]);
  const departures = await departuresOf(stage, stage.reseller);
  assert.deepEqual(departures, [
    { domain_name: name, left_at: departures[0]?.left_at, reason: "transferred", gaining_registrar: rival.id },
  ]);
  assertError(await stage.gateway.send(stage.reseller, "GET", `/domains/${name}`), "domain_not_found");
}

test("a name whose transfer we approve is the other registrar's, and its due renewal is not charged", {
  skip,
}, async (t) => {
  const kept = "kept.example";
  const watched = await startAsked(t, kept);
  const { stage } = watched;
  const { expiration_date: before } = await portfolioEntry(stage.gateway, stage.reseller, kept);
  for (const scheduled of [name, kept]) await untilRenewalIs(stage.gateway, scheduled, "Scheduled");
  assert.equal((await change(stage, "POST", at("transfer-out"), { answer: "approve" })).status, "Finished");
  await assertTaken(watched, "clientApproved");
  await stage.travelTo(kept, 29);
  await assertRenewedOnce(stage, kept, before);
  await untilRenewalIs(stage.gateway, name, "Ended");
  for (const command of ["domain:renew", "domain:delete"] as const) {
    assert.deepEqual(commands(stage.gateway, name, command), [], command);
  }
});

test("a name whose transfer nobody answers goes to the other registrar in time", { skip }, async (t) => {
  const watched = await startAsked(t);
  await watched.stage.travel(approvalDays);
  await assertTaken(watched, "serverApproved");
});

test("a name whose transfer we reject stays, and the other registrar gets a message", { skip }, async (t) => {
  const { stage, perl } = await startAsked(t);
  const rejected = await change(stage, "POST", at("transfer-out"), { answer: "reject", reason: "unpaid" });
  assert.equal(rejected.status, "Finished");
  assert.equal((await perl.ask("query", name)).trStatus, "clientRejected");
  const told = await perl.ask("poll");
  assert.deepEqual([told.name, told.trStatus], [name, "clientRejected"]);
  assert.equal((await perl.ask("domain", name)).clID, registrarId);
  assert.equal((await domain(stage, name)).transfer, undefined);
  assert.deepEqual(await departuresOf(stage, stage.reseller), []);
});

test("a locked name cannot be asked for, even with its code", { skip }, async (t) => {
  const { stage } = await startWatched(t);
  const code = await orderAuthCode(stage);
  await change(stage, "PUT", at("transfer-lock"), { transfer_locked: true });
  const other = await loginPerl(t, stage.gateway.registry, rival);
  assert.equal((await other.ask("request", name, code)).code, 2304);
});

const secDns = "urn:ietf:params:xml:ns:secDNS-1.1";
const rgp = "urn:ietf:params:xml:ns:rgp-1.0";

test("the sandbox shows a client the extensions that its login requests, and refuses what it does not serve", {
  skip,
}, async (t) => {
  const { stage, perl } = await startWatched(t);
  await change(stage, "PUT", at("dnssec"), { keys: [key] });
  const { registry } = stage.gateway;
  const { DS, rgp: graces } = await perl.ask("domain", name);
  assert.deepEqual([(DS as string[]).length, graces], [1, ["addPeriod"]]);
  const onlyRgp = await (await loginPerl(t, registry, { ...us, extensions: [rgp] })).ask("domain", name);
  assert.deepEqual([onlyRgp.DS, onlyRgp.rgp], [undefined, ["addPeriod"]]);
  const onlySecDns = await (await loginPerl(t, registry, { ...us, extensions: [secDns] })).ask("domain", name);
  assert.deepEqual([onlySecDns.DS, onlySecDns.rgp], [DS, []]);
  const strange = await loginPerl(t, registry, { ...us, extensions: [rgp, "urn:ietf:params:xml:ns:nobody-1.0"] });
  assert.equal(strange.login.code, 2103);
  assert.equal((await loginPerl(t, registry, { ...us, password: "guess-1" })).login.code, 2200);
});
