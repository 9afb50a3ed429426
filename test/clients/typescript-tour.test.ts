/** The library for TypeScript makes every call of the API, against a gateway with a registry and a hosting node. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { apiDocument } from "#api/open-routes.ts";
import { createClient } from "../../client/sdk/client.ts";
import { ApiError } from "../../client/sdk/errors.ts";
import type { Order, PlacedOrder } from "../../client/sdk/types.ts";
import { transferFrame } from "../../sandbox/registry/test/frames.ts";
import { RawClient } from "../../sandbox/registry/test/raw-client.ts";
import { ada } from "../harness/contacts.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { methodsOf } from "./client-methods.ts";
import { zones } from "./zone-tour.ts";

const name = "toured.example";
const identifier = "site.example";
const password = "correct-horse-battery";
/** More than two pages of the largest size. */
const namesCount = 230;

// Without the add grace period, a deleted name can be restored at once.
const graceDays = { add: 0, renew: 0, autoRenew: 45, redemption: 30, pendingDelete: 5 };
const gateway = await startTestGateway({ after }, { node: true, sandbox: { graceDays }, context: { zones } });
const { key, id: resellerId } = await gateway.addReseller();

/** Every request that was answered with success, as `GET /domains`. */
const answered: string[] = [];
let requests = 0;
const client = createClient({
  url: `${gateway.url}/v1`,
  apiKey: key.id,
  apiSecret: key.secret.reveal(),
  fetch: async (input, init) => {
    requests++;
    const response = await fetch(input, init);
    const path = new URL(String(input)).pathname.replace(/^\/v1/, "");
    if (response.ok) answered.push(`${init?.method} ${path}`);
    return response;
  },
});
/** The methods that were called, as `hosting.packs.list`. */
const called = new Set<string>();
const noted = note(client, "");

/** The same calls, which are noted. */
function note<T extends object>(target: T, path: string): T {
  return new Proxy(target, {
    get(_, name: string) {
      const value = target[name as keyof T];
      const place = path + name;
      if (typeof value === "object") return note(value as object, `${place}.`);
      called.add(place);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function finish(placing: Promise<PlacedOrder>): Promise<Order> {
  const placed = await placing;
  assert.equal(placed.status, 202);
  const { data } = await noted.orders.finished(placed);
  assert.equal(data.order_code, placed.data.order_code);
  return data;
}
async function listed<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

test("registers a name, and follows its order", async () => {
  const { data: found } = await noted.domains.checkAvailability([name, "other.example"]);
  assert.deepEqual(
    found.map(({ domain_name, availability }) => [domain_name, availability]),
    [
      [name, "available"],
      ["other.example", "available"],
    ],
  );
  const options = { years: 2, contacts: { registrant: ada, tech: { ...ada, first_name: "Téa" } }, willRenew: false };
  const { data: plan } = await noted.domains.checkRegistration(name, options);
  assert.ok(!("order_code" in plan) && plan.years === 2 && !plan.will_renew);
  const { kind, order_code } = await finish(noted.domains.register(name, options));
  assert.equal(kind, "create");
  assert.equal((await noted.domains.getRegistration(order_code, { waitSeconds: 1 })).data.status, "Finished");
  assert.equal((await noted.orders.get(order_code)).data.domain_name, name);
  assert.equal((await noted.orders.wait(order_code)).data.status, "Finished");
  assert.equal((await noted.domains.setWillRenew(name, true)).status, 204);
  const shown = await noted.domains.get(name);
  assert.deepEqual([shown.data.will_renew, shown.data.changes_pending], [true, []]);
  assert.equal(shown.rateLimit?.limit, 100_000);
});

test("changes the name's contacts, name servers, DNSSEC and lock", async () => {
  await finish(noted.domains.setContacts(name, { registrant: { ...ada, city: "Ghent" } }));
  assert.equal((await noted.domains.getContacts(name)).data.registrant?.city, "Ghent");
  await finish(
    noted.domains.setNameServers(name, [{ name: `ns1.${name}`, addresses: ["9.9.9.9"] }, "ns2.dns-host.invalid"]),
  );
  const ds = [{ key_tag: 55648, algorithm: 13, digest_type: 2, digest: "B4C8".repeat(16) }];
  await finish(noted.domains.setDnssec(name, { ds }));
  await finish(noted.domains.setTransferLock(name, false));
  const { data } = await noted.domains.get(name);
  assert.deepEqual(data.name_servers, [
    { name: `ns1.${name}`, addresses: ["9.9.9.9"] },
    { name: "ns2.dns-host.invalid" },
  ]);
  assert.deepEqual([data.dnssec, data.transfer_locked], [{ ds }, false]);
});

test("renews, deletes and restores the name", async () => {
  const { expiration_date: expirationDate } = (await noted.domains.get(name)).data;
  const { order_code } = await finish(noted.domains.renew(name, { years: 1, expirationDate }));
  assert.match(order_code, /^REN-/);
  await assert.rejects(noted.domains.renew(name, { years: 1, expirationDate }), (error) => {
    return error instanceof ApiError && error.errorCode === "domain_expiration_changed";
  });
  await finish(noted.domains.delete(name));
  await assert.rejects(noted.domains.get(name), { errorCode: "domain_not_found", status: 404 });
  await finish(noted.domains.restore(name));
  assert.equal((await noted.domains.get(name)).data.domain_name, name);
});

test("gives the name to another registrar", async () => {
  await finish(noted.domains.orderAuthCode(name));
  const { auth_code } = (await noted.domains.getAuthCode(name)).data;
  const rival = await RawClient.login(gateway.registry, "rival", "rival-pw-1");
  assert.equal((await rival.ask(transferFrame("request", name, auth_code))).code, 1001);
  await finish(noted.domains.rejectTransfer(name, "unpaid"));
  assert.equal((await rival.ask(transferFrame("request", name, auth_code))).code, 1001);
  await finish(noted.domains.approveTransfer(name));
  rival.close();
  const { data: page } = await noted.domains.departures().page();
  assert.deepEqual(
    page.map(({ domain_name, reason }) => [domain_name, reason]),
    [
      [name, "transferred"],
      [name, "deleted"],
    ],
  );
  assert.deepEqual(await listed(noted.domains.departures()), page);
});

test("pages through lists without a gap or a repeat, when items are needed", async () => {
  const names = Array.from({ length: namesCount }, (_, at) => `many-${String(at).padStart(3, "0")}.example`);
  const domains = names.map((name) => ({ name, expiresAt: "2099-01-01" }));
  await insertDomains(gateway.databaseUrl, { id: resellerId }, domains);
  const before = requests;
  const all = await listed(noted.domains.list({ namePrefix: "many-" }));
  assert.deepEqual(
    all.map(({ domain_name }) => domain_name),
    names,
  );
  assert.equal(requests - before, 3);
  for await (const { domain_name } of noted.domains.list()) if (domain_name === names[4]) break;
  assert.equal(requests - before, 4);
  const page = await noted.domains.list().page({ skip: 2, take: 3 });
  assert.deepEqual([page.skipped, page.take, page.total], [2, 3, namesCount]);
  assert.deepEqual((await noted.renewals.list({ status: "Ended" }).page()).data, []);
  assert.deepEqual(await listed(noted.renewals.list({ status: "Ended" })), []);
});

test("lists what was ordered and what happened, and exports whole lists", async () => {
  const { data: renewals } = await noted.orders.list({ domainName: name, kind: "renew", status: "Finished" }).page();
  assert.deepEqual(
    renewals.map(({ kind, domain_name }) => [kind, domain_name]),
    [["renew", name]],
  );
  assert.deepEqual(await listed(noted.orders.list({ kind: "renew" })), renewals);
  const history = await listed(noted.domains.history(name));
  assert.deepEqual((await noted.domains.history(name).page({ take: 100 })).data, history);
  const events = new Set(history.map(({ event }) => event));
  for (const event of ["ordered", "renewed", "will-renew-on", "ended"]) assert.ok(events.has(event), event);
  for (const [parts, heading] of [
    [noted.domains.list().csv(), "domain_name"],
    [noted.orders.list().csv(), "order_code"],
    [noted.renewals.list().csv(), "domain_name"],
    [noted.domains.departures().csv(), "domain_name"],
  ] as const) {
    assert.match(Buffer.concat(await listed(parts)).toString(), new RegExp(`^${heading},`));
  }
});

test("makes a zone, and changes its records", async () => {
  const zoned = "zoned.example";
  await insertDomains(gateway.databaseUrl, { id: resellerId }, [zoned]);
  const www = (...records: string[]) => ({ subname: "www", type: "A", ttl: 300, records });
  const made = await noted.zones.create(zoned, { sets: [www("192.0.2.1")] });
  assert.equal(made.data.change_id, "1");
  assert.equal((await noted.zones.get(zoned)).data.record_count, 1);
  await noted.zones.records.set(zoned, www("192.0.2.2"), { ifChangeId: "1" });
  await assert.rejects(noted.zones.records.change(zoned, [www()], { ifChangeId: "1" }), { errorCode: "zone_changed" });
  await noted.zones.records.change(zoned, [{ subname: "@", type: "TXT", records: ["a;b"] }]);
  const sets = await listed(noted.zones.records.list(zoned, { type: "A" }));
  assert.deepEqual(
    sets.map(({ subname, records }) => [subname, records]),
    [["www", ["192.0.2.2"]]],
  );
  assert.equal((await noted.zones.records.get(zoned, "www", "A")).data.ttl, 300);
  const { data: file } = await noted.zones.records.exportFile(zoned);
  assert.match(file, /^\$ORIGIN zoned\.example\.\n/);
  await noted.zones.records.replace(zoned, []);
  assert.deepEqual(await listed(noted.zones.records.list(zoned)), []);
  await noted.zones.records.importFile(zoned, file);
  const removed = await noted.zones.records.remove(zoned, "www", "A");
  const [last] = await listed(noted.zones.changes(zoned));
  assert.equal(last?.change_id, removed.data.change_id);
  const { data: change } = await noted.zones.getChange(zoned, removed.data.change_id, { waitSeconds: 1 });
  assert.deepEqual(change.removed[0]?.records, ["192.0.2.2"]);
  await noted.zones.delegate(zoned);
  assert.equal((await noted.zones.delete(zoned, { isForced: true })).status, 202);
  await noted.zones.restore(zoned);
  assert.equal((await noted.zones.get(zoned)).data.record_count, 1);
});

test("shows its account, creates a hosting account, and works with it", async () => {
  const { data: own } = await noted.account.get();
  assert.equal(own.key.id, key.id);
  const packId = await gateway.addPack();
  const packs = await listed(noted.hosting.packs.list());
  assert.ok(packs.some(({ id }) => id === packId));
  const placed = await noted.hosting.create({ identifier, servicePackId: packId, password });
  assert.equal((await noted.hosting.provisioned(placed)).data.status, "Ready");
  assert.equal((await noted.hosting.wait(identifier)).data.status, "Ready");
  assert.equal((await noted.hosting.get(identifier, { waitSeconds: 1 })).data.ftp.username, identifier);
  assert.equal((await noted.hosting.setPassword(identifier, `${password}-2`)).status, 202);
  assert.equal((await noted.hosting.suspend(identifier, { reason: "unpaid" })).status, 202);
  const { data: suspended } = await noted.hosting.get(identifier, { waitSeconds: 30 });
  assert.deepEqual([suspended.status, suspended.suspensions?.[0]?.reason], ["Suspended", "unpaid"]);
  assert.equal((await noted.hosting.unsuspend(identifier)).status, 202);
  assert.equal((await noted.hosting.get(identifier, { waitSeconds: 30 })).data.status, "Ready");
  const { data: accounts } = await noted.hosting.list().page();
  assert.deepEqual(
    accounts.map((account) => account.identifier),
    [identifier],
  );
  assert.equal((await listed(noted.hosting.list())).length, 1);
  assert.equal((await noted.hosting.getHistory(identifier)).data.history[0]?.event, "requested");

  const hostName = "www.many-000.example";
  assert.equal((await noted.hosting.hostNames.add(identifier, hostName)).status, 202);
  assert.equal((await noted.hosting.hostNames.get(identifier, hostName)).data.record.type, "TXT");
  const hostNames = await listed(noted.hosting.hostNames.list(identifier));
  assert.ok(hostNames.some(({ host_name }) => host_name === hostName));
  await noted.hosting.hostNames.remove(identifier, hostName);
  await assert.rejects(noted.hosting.hostNames.get(identifier, hostName), { errorCode: "host_name_not_found" });
  assert.equal((await noted.hosting.delete(identifier)).status, 202);
});

test("makes a webhook, and sends to it again", async () => {
  // Nobody listens there.
  const { data: made } = await noted.webhooks.create("http://127.0.0.1:1/", { types: ["domain.*"] });
  assert.match(made.secret ?? "", /^whsec_/);
  const all = await listed(noted.webhooks.list());
  assert.deepEqual(
    all.map(({ id }) => id),
    [made.id],
  );
  const { data: changed } = await noted.webhooks.update(made.id, { description: "the shop", types: [] });
  assert.deepEqual([changed.description, changed.types], ["the shop", undefined]);
  assert.notEqual((await noted.webhooks.rotateSecret(made.id)).data.secret, made.secret);
  assert.equal((await noted.webhooks.test(made.id)).status, 202);
  const { data: page } = await noted.webhooks.deliveries.list(made.id).page();
  assert.equal(page[0]?.type, "webhook.test");
  assert.equal((await noted.webhooks.deliveries.resend(made.id, page[0].event_id)).status, 202);
  const pending = await listed(noted.webhooks.deliveries.list(made.id, { status: "Pending" }));
  // The end of the hosting account can be another one.
  assert.equal(pending.filter(({ type }) => type === "webhook.test").length, 1);
  assert.equal((await noted.webhooks.get(made.id)).data.enabled, true);
  assert.equal((await noted.webhooks.delete(made.id)).status, 204);
});

test("lists events, and follows them until a signal", async () => {
  const page = await noted.events.page({ types: ["domain.*"], take: 2 });
  assert.deepEqual([page.data.length, page.data[0]?.type], [2, "domain.registered"]);
  const controller = new AbortController();
  const types: string[] = [];
  const follow = async () => {
    for await (const { type } of noted.events.follow({ after: page.data[0]!.id, signal: controller.signal })) {
      types.push(type);
      // The last thing that has happened: the service holds its next answer.
      if (type === "hosting.removed") setImmediate(() => controller.abort(new Error("enough")));
    }
  };
  await assert.rejects(follow, /^Error: enough$/);
  assert.ok(types.includes("domain.left") && types.includes("hosting.ready"), types.join());
});

test("says what was refused and why, and with which order it has to do", async () => {
  await assert.rejects(noted.domains.register("bad_name.example"), (error) => {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.status, error.errorCode], [400, "bad_request"]);
    assert.match(error.requestId ?? "", /./);
    const [mistake] = error.validationErrors;
    return mistake?.field === "domain_name" && mistake.errorCode === "invalid";
  });
  const placed = await noted.domains.register("race-lost.example");
  await assert.rejects(noted.orders.finished(placed), { name: "UnsuccessfulError", message: /ended as Errors: ./ });
  const { data } = await noted.signatures.check({ method: "GET", target: "/v1/domains", headers: {} });
  assert.equal(data.form, null);
});

test("has called every method, and every operation of openapi.json that is signed", () => {
  const uncalled = methodsOf(client).filter((method) => !called.has(method));
  assert.deepEqual(uncalled, [], "call it in this tour");
  const { paths } = apiDocument();
  const signed = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations as Record<string, { security?: object[] }>)
      // v2 has the same use cases in shapes of other clients.
      .filter(([, { security = [] }]) => security.length > 0 && !path.startsWith("/v2/"))
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  );
  assert.ok(signed.length > 30, `${signed.length} operations`);
  const unreached = signed.filter((operation) => {
    const pattern = new RegExp(`^${operation.replace(/\{\w+\}/g, "[^/]+")}$`);
    return !answered.some((request) => pattern.test(request));
  });
  assert.deepEqual(unreached, [], "write a method for it in client/sdk, and call it in this tour");
});
