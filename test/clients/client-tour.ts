/** Every call of a client library, against a gateway with a registry and a hosting node. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { transferFrame } from "../../sandbox/registry/test/frames.ts";
import { RawClient } from "../../sandbox/registry/test/raw-client.ts";
import { ada } from "../harness/contacts.ts";
import type { Scope } from "../harness/database.ts";
import { type FaultRelay, startFaultRelay } from "../harness/fault-relay.ts";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { type Fields, type ForeignClient, type Language, startForeignClient } from "./foreign-client.ts";
import { changeRecords, zones } from "./zone-tour.ts";

const name = "toured.example";
const account = "site.example";
const password = "correct-horse-battery";
/** More than two pages of the largest size. */
const namesCount = 230;

export interface Tour {
  gateway: TestGateway;
  reseller: TestReseller;
  relay: FaultRelay;
  client: ForeignClient;
  /** The methods called. */
  called: Set<string>;
}

/** A test that calls all methods, in the order of its steps: they share one gateway. */
export function testTour(language: Language): void {
  test(`the library for ${language.name} makes every call of the API`, { skip: language.skip }, async (t) => {
    const tour = await startTour(t, language);
    await t.test("registers a name, and follows its order", () => register(tour));
    await t.test("changes the name's contacts, name servers, DNSSEC and lock", () => change(tour));
    await t.test("renews, deletes and restores the name", () => renewAndRestore(tour));
    await t.test("gives the name to another registrar", () => transfer(tour));
    await t.test("pages through lists without a gap or a repeat", () => page(tour));
    await t.test("lists what was ordered and what happened", () => listOrders(tour));
    await t.test("shows its account, creates a hosting account, and works with it", () => host(tour));
    await t.test("adds and removes host names", () => addHostNames(tour));
    await t.test("makes a zone, and changes its records", () => changeRecords(tour));
    await t.test("reads the events so far, and those that come", () => readEvents(tour));
    await t.test("makes a webhook, and sends to it again", () => hook(tour));
    await t.test("shows what the service makes of a signature", () => checkSignature(tour));
    await t.test("says what was refused, and why", () => refuse(tour));
    await t.test("has called every method, and every route of the API", () => judgeCoverage(tour));
  });
}

async function startTour(scope: Scope, language: Language): Promise<Tour> {
  // Without the add grace period, a deleted name can be restored at once.
  const graceDays = { add: 0, renew: 0, autoRenew: 45, redemption: 30, pendingDelete: 5 };
  const gateway = await startTestGateway(scope, { node: true, sandbox: { graceDays }, context: { zones } });
  const reseller = await gateway.addReseller();
  const relay = await startFaultRelay(Number(new URL(gateway.url).port));
  scope.after(() => relay.close());
  const client = await startForeignClient(scope, language, {
    url: `http://127.0.0.1:${relay.port}/v1`,
    apiKey: reseller.key.id,
    apiSecret: reseller.key.secret.reveal(),
    userAgent: "tour/1.0",
  });
  const called = new Set<string>();
  const noted = <Rest extends unknown[], R>(call: (method: string, ...rest: Rest) => R) => {
    return (method: string, ...rest: Rest) => {
      called.add(language.spell(method.split("(")[0]!));
      return call(method, ...rest);
    };
  };
  const { say, get, data, fail } = client;
  const tourClient = { say: noted(say), get: noted(get), data: noted(data) as typeof data, fail: noted(fail) };
  return { gateway, reseller, relay, called, client: tourClient };
}

/** Orders a change, and waits until it is finished. */
async function change(tour: Tour): Promise<void> {
  const { client, gateway } = tour;
  const held = () => gateway.registry.store.domains.find(name)!;
  await finish(tour, "domains.setContacts", { domainName: name, contacts: { registrant: { ...ada, city: "Ghent" } } });
  const contacts = await client.data<Record<string, Fields | null>>("domains.getContacts", { domainName: name });
  assert.equal(contacts.registrant?.city, "Ghent");
  const nameServers = [{ name: `ns1.${name}`, addresses: ["9.9.9.9"] }, "ns2.dns-host.invalid"];
  await finish(tour, "domains.setNameServers", { domainName: name, nameServers });
  const shown = await client.data("domains.get", { domainName: name });
  assert.deepEqual(shown.name_servers, [
    { name: `ns1.${name}`, addresses: ["9.9.9.9"] },
    { name: "ns2.dns-host.invalid" },
  ]);
  const ds = [{ key_tag: 55648, algorithm: 13, digest_type: 2, digest: "B4C8".repeat(16) }];
  await finish(tour, "domains.setDnssec", { domainName: name, ds });
  assert.deepEqual((await client.data("domains.get", { domainName: name })).dnssec, { ds });
  await finish(tour, "domains.setDnssec", { domainName: name, ds: [] });
  assert.equal((await client.data("domains.get", { domainName: name })).dnssec, null);
  await finish(tour, "domains.setTransferLock", { domainName: name, isLocked: true });
  assert.ok(held().statuses.includes("clientTransferProhibited"));
  await finish(tour, "domains.setTransferLock", { domainName: name, isLocked: false });
  assert.ok(!held().statuses.includes("clientTransferProhibited"));
}

async function finish({ client }: Tour, method: string, args: object): Promise<Fields> {
  const placed = await client.get(method, args);
  assert.match(String(placed.orderCode), /^(REG|CHG|REN)-/);
  const ended = await client.get("orders.finished", { order: "placed!" });
  assert.equal((ended.data as Fields).order_code, placed.orderCode);
  assert.equal((ended.data as Fields).status, "Finished");
  return ended;
}

async function register(tour: Tour): Promise<void> {
  const { client, relay } = tour;
  const domainNames = [name, "other.example"];
  const found = await client.data<Fields[]>("domains.checkAvailability", { domainNames });
  assert.deepEqual(
    found.map(({ domain_name, availability }) => [domain_name, availability]),
    domainNames.map((domainName) => [domainName, "available"]),
  );
  const contacts = { registrant: ada, tech: { ...ada, first_name: "Téa" } };
  const wanted = { domainName: name, years: 2, contacts, willRenew: false };
  const plan = await client.data("domains.checkRegistration", wanted);
  assert.deepEqual([plan.domain_name, plan.years, plan.will_renew], [name, 2, false]);
  const ended = await finish(tour, "domains.register", wanted);
  assert.equal((ended.statuses as string[]).at(-1), "Finished");
  const { order_code: orderCode } = ended.data as Fields;
  for (const method of ["domains.getRegistration", "orders.get"])
    assert.equal((await client.data(method, { orderCode, waitSeconds: 1 })).status, "Finished");
  const waited = await client.get("orders.wait", { order: "placed!" });
  assert.deepEqual([waited.statuses, waited.data], [["Finished"], ended.data]);
  const shown = await client.get("domains.get", { domainName: name });
  assert.deepEqual((shown.data as Fields).will_renew, false);
  assert.match(String(shown.requestId), /./);
  assert.equal((shown.rateLimit as Fields).limit, 100_000);
  assert.equal((await client.get("domains.setWillRenew", { domainName: name, willRenew: true })).status, 204);
  assert.equal((await client.data("domains.get", { domainName: name })).will_renew, true);
  assert.match(relay.carried[0]?.headers["user-agent"] ?? "", /^tour\/1\.0 deedhouse-[a-z]+\/0\.1\.0$/);
  const held = tour.gateway.registry.store.domains.find(name)!;
  const tech = tour.gateway.registry.store.contacts.find(held.contacts.find(({ type }) => type === "tech")!.id);
  assert.equal(tech?.postalInfo[0]?.name, "Téa Quillfeather");
}

async function renewAndRestore(tour: Tour): Promise<void> {
  const { client } = tour;
  const { expiration_date: expirationDate } = await client.data("domains.get", { domainName: name });
  await finish(tour, "domains.renew", { domainName: name, years: 1, expirationDate });
  const later = new Date(String(expirationDate));
  later.setUTCFullYear(later.getUTCFullYear() + 1);
  const renewed = await client.data("domains.get", { domainName: name });
  assert.equal(String(renewed.expiration_date).slice(0, 10), later.toISOString().slice(0, 10));
  const stale = await client.fail("domains.renew", { domainName: name, years: 1, expirationDate });
  assert.equal(stale.errorCode, "domain_expiration_changed");
  await finish(tour, "domains.delete", { domainName: name });
  assert.equal((await client.fail("domains.get", { domainName: name })).errorCode, "domain_not_found");
  await finish(tour, "domains.restore", { domainName: name });
  assert.equal((await client.data("domains.get", { domainName: name })).domain_name, name);
}

async function transfer(tour: Tour): Promise<void> {
  const { client, gateway } = tour;
  await finish(tour, "domains.orderAuthCode", { domainName: name });
  const { auth_code: code } = await client.data("domains.getAuthCode", { domainName: name });
  const rival = await RawClient.login(gateway.registry, "rival", "rival-pw-1");
  try {
    const ask = async () =>
      assert.equal(
        (await rival.ask(transferFrame("request", name, String(code)))).code,
        1001,
        "the code is the name's",
      );
    await ask();
    await finish(tour, "domains.rejectTransfer", { domainName: name, reason: "unpaid" });
    assert.equal(gateway.registry.store.domains.find(name)?.transfer?.status, "clientRejected");
    await ask();
    await finish(tour, "domains.approveTransfer", { domainName: name });
  } finally {
    rival.close();
  }
  assert.equal(gateway.registry.store.domains.find(name)?.clID, "rival");
  for (const method of ["domains.departures().page", "domains.departures"]) {
    const departures = await client.data<Fields[]>(method);
    assert.deepEqual(
      departures.map(({ domain_name, reason }) => [domain_name, reason]),
      [
        [name, "transferred"],
        [name, "deleted"],
      ],
    );
  }
}

async function page({ client, gateway, reseller, relay }: Tour): Promise<void> {
  const names = Array.from({ length: namesCount }, (_, at) => `many-${String(at).padStart(3, "0")}.example`);
  const domains = names.map((name) => ({ name, expiresAt: "2099-01-01", willRenew: !name.endsWith("7.example") }));
  await insertDomains(gateway.databaseUrl, reseller, domains);
  const before = relay.carried.length;
  const all = await client.data<Fields[]>("domains.list", { namePrefix: "many-" });
  assert.deepEqual(
    all.map((item) => item.domain_name),
    names,
  );
  assert.equal(relay.carried.length - before, 3);
  const some = await client.get("domains.list", { namePrefix: "many-" }, 5);
  assert.equal((some.items as unknown[]).length, 5);
  assert.equal(relay.carried.length - before, 4, "a page is fetched when its items are needed");
  const lapsing = await client.data<Fields[]>("domains.list", { willRenew: false });
  assert.equal(lapsing.length, names.filter((each) => each.endsWith("7.example")).length);
  const second = await client.get("domains.list().page", { skip: 2, take: 3 });
  assert.deepEqual(
    (second.data as Fields[]).map((item) => item.domain_name),
    names.slice(2, 5),
  );
  assert.deepEqual([second.skipped, second.take, second.total], [2, 3, namesCount]);
  assert.match(String(second.nextQuery), /take=3/);
  assert.deepEqual(await client.data("domains.list().page", { expiresBefore: "2020-01-31" }), []);
  for (const method of ["renewals.list().page", "renewals.list"])
    assert.deepEqual(await client.data(method, { status: "Ended" }), []);
}

async function listOrders({ client }: Tour): Promise<void> {
  for (const method of ["orders.list().page", "orders.list"]) {
    const orders = await client.data<Fields[]>(method, { domainName: name, kind: "renew", status: "Finished" });
    assert.deepEqual(
      orders.map(({ kind, domain_name }) => [kind, domain_name]),
      [["renew", name]],
    );
  }
  const histories = [
    await client.data<Fields[]>("domains.history().page", { domainName: name, take: 100 }),
    await client.data<Fields[]>("domains.history", { domainName: name }),
  ];
  assert.deepEqual(histories[0], histories[1]);
  const events = new Set(histories[0]!.map(({ event }) => event));
  for (const event of ["ordered", "renewed", "will-renew-on", "ended"]) assert.ok(events.has(event), event);
}

/** The account, read once no change of it is pending. */
async function inEffect(client: Tour["client"], identifier: string, status: string): Promise<Fields> {
  const read = await client.data("hosting.get", { identifier, waitSeconds: 30 });
  assert.deepEqual([read.status, read.changes_pending], [status, false]);
  return read;
}

async function host({ client, gateway, reseller }: Tour): Promise<void> {
  const own = await client.data<Record<string, Fields>>("account.get");
  assert.deepEqual([own.name, own.key?.id], [reseller.name, reseller.key.id]);
  const packId = await gateway.addPack();
  const packs = await client.data<Fields[]>("hosting.packs.list");
  const { id: servicePackId } = packs.find(({ id }) => id === packId)!;
  const placed = await client.get("hosting.create", { identifier: account, servicePackId, password });
  assert.equal(placed.identifier, account);
  const ready = await client.get("hosting.provisioned", { account: "placed!" });
  assert.equal((ready.data as Fields).status, "Ready");
  assert.deepEqual((await client.get("hosting.wait", { account: "placed!" })).statuses, ["Ready"]);
  assert.equal((await client.data("hosting.get", { identifier: account, waitSeconds: 1 })).status, "Ready");
  const changed = await client.get("hosting.setPassword", { identifier: account, password: `${password}-2` });
  assert.deepEqual([changed.status, changed.data], [202, null]);
  assert.equal((await client.get("hosting.suspend", { identifier: account, reason: "unpaid" })).status, 202);
  const suspended = await inEffect(client, account, "Suspended");
  const [suspension] = suspended.suspensions as Fields[];
  assert.deepEqual([suspension?.by, suspension?.reason], ["reseller", "unpaid"]);
  assert.equal((await client.get("hosting.unsuspend", { identifier: account })).status, 202);
  assert.equal((await inEffect(client, account, "Ready")).suspensions, undefined);
  for (const method of ["hosting.list().page", "hosting.list"]) {
    const accounts = await client.data<Fields[]>(method);
    assert.deepEqual(
      accounts.map(({ identifier }) => identifier),
      [account],
    );
  }
  const { history } = await client.data<{ history: Fields[] }>("hosting.getHistory", { identifier: account });
  assert.equal(history[0]?.event, "requested");
}

async function addHostNames({ client }: Tour): Promise<void> {
  const hostName = "www.many-000.example";
  const of = { identifier: account, hostName };
  assert.equal((await client.get("hosting.hostNames.add", of)).status, 202);
  assert.equal((await client.data("hosting.hostNames.get", of)).host_name, hostName);
  const all = await client.data<Fields[]>("hosting.hostNames.list", { identifier: account });
  assert.ok(all.some(({ host_name }) => host_name === hostName));
  await client.get("hosting.hostNames.remove", of);
  assert.equal((await client.fail("hosting.hostNames.get", of)).errorCode, "host_name_not_found");
  assert.equal((await client.get("hosting.delete", { identifier: account })).status, 202);
}

async function readEvents({ client }: Tour): Promise<void> {
  const first = await client.get("events.page", { types: ["domain.*", "order.failed"], take: 2 });
  assert.deepEqual(
    (first.data as Fields[]).map(({ type }) => type),
    ["domain.registered", "domain.will_renew_changed"],
  );
  const { items } = await client.get("events.follow", { after: first.next, types: ["hosting.*"] }, 1);
  assert.deepEqual((items as Fields[])[0]?.data, { identifier: account, status: "Ready" });
  const nothing = await client.get("events.page", { types: ["order.cancelled"], waitSeconds: 1 });
  assert.deepEqual(nothing.data, []);
  assert.match(String(nothing.next), /^evt_/);
  assert.equal((await client.fail("events.page", { after: "evt_9_1_1" })).errorCode, "events_expired");
}

async function hook({ client }: Tour): Promise<void> {
  // Nobody listens there.
  const made = await client.data("webhooks.create", { url: "http://127.0.0.1:1/", types: ["domain.*"] });
  assert.match(String(made.secret), /^whsec_/);
  const webhookId = made.id;
  const all = await client.data<Fields[]>("webhooks.list");
  assert.deepEqual(
    all.map(({ id }) => id),
    [webhookId],
  );
  const changed = await client.data("webhooks.update", { webhookId, description: "the shop", types: [] });
  assert.deepEqual([changed.description, changed.types], ["the shop", undefined]);
  const { secret } = await client.data("webhooks.rotateSecret", { webhookId });
  assert.notEqual(secret, made.secret);
  assert.equal((await client.get("webhooks.test", { webhookId })).status, 202);
  const [delivery] = await client.data<Fields[]>("webhooks.deliveries.list().page", { webhookId });
  assert.equal(delivery?.type, "webhook.test");
  const resent = await client.get("webhooks.deliveries.resend", { webhookId, eventId: delivery.event_id });
  assert.equal(resent.status, 202);
  const pending = await client.data<Fields[]>("webhooks.deliveries.list", { webhookId, status: "Pending" });
  // The end of the hosting account can be another one.
  assert.equal(pending.filter(({ type }) => type === "webhook.test").length, 1);
  assert.equal((await client.get("webhooks.delete", { webhookId })).status, 204);
  assert.equal((await client.fail("webhooks.get", { webhookId })).errorCode, "webhook_not_found");
}

async function checkSignature({ client }: Tour): Promise<void> {
  const checked = await client.get("signatures.check", { method: "GET", target: "/v1/domains", headers: {} });
  assert.equal((checked.data as Fields).form, null);
}

async function refuse({ client }: Tour): Promise<void> {
  const error = await client.fail("domains.register", { domainName: "bad_name.example" });
  assert.equal(error.type, "Api");
  assert.equal(error.status, 400);
  assert.equal(error.errorCode, "bad_request");
  assert.match(String(error.message), /^.+ \(bad_request, HTTP 400\)$/);
  assert.match(String(error.requestId), /./);
  assert.deepEqual(
    (error.errors as Fields[]).map(({ field }) => field),
    ["domain_name"],
  );
  assert.equal((await client.fail("orders.get", { orderCode: "CHG-00000000-000" })).errorCode, "order_not_found");
  for (const domainName of ["", ".", ".."]) {
    assert.match(String((await client.fail("domains.delete", { domainName })).message), /is not a name$/);
  }
  const failed = await client.get("domains.register", { domainName: "race-lost.example" });
  const ended = await client.fail("orders.finished", { order: failed.orderCode });
  assert.equal(ended.type, "Unsuccessful");
  assert.deepEqual([ended.status, (ended.outcome as Fields).status], ["Errors", "Errors"]);
  assert.deepEqual((await client.get("orders.wait", { order: failed.orderCode })).statuses, ["Errors"]);
}

async function judgeCoverage({ client, called, relay }: Tour): Promise<void> {
  const methods = (await client.get("methods")) as unknown as string[];
  const uncalled = methods.filter((method) => !called.has(method) && method !== "close");
  assert.deepEqual(uncalled, [], "call it in this tour");
  const seen = relay.carried.map(({ method, target }) => `${method} ${target.split("?")[0]}`);
  const unseen = (await firstFormRoutes()).filter((route) => {
    const pattern = new RegExp(`^${route.replace(" ", " /v1").replace(/:\w+/g, "[^/]+")}$`);
    return !seen.some((request) => pattern.test(request));
  });
  assert.deepEqual(unseen, [], "write a method for it in each client library, and call it in this tour");
}

/** The routes of the API that the libraries speak: all but those under /v2. */
export async function firstFormRoutes(): Promise<string[]> {
  const golden = await readFile(new URL("../golden/routes.txt", import.meta.url), "utf8");
  return [...golden.matchAll(/^([A-Z]+ \/(?!v2\/)\S*)$/gm)].map(([, route]) => route!);
}
