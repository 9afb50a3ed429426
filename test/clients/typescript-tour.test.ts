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
import { runSql } from "../harness/sql.ts";

const name = "toured.example";
const identifier = "site.example";
const password = "correct-horse-battery";
/** More than two pages of the largest size. */
const namesCount = 230;

// Without the add grace period, a deleted name can be restored at once.
const graceDays = { add: 0, renew: 0, autoRenew: 45, redemption: 30, pendingDelete: 5 };
const gateway = await startTestGateway({ after }, { node: true, sandbox: { graceDays } });
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
/** The methods that were called. */
const called = new Set<string>();
const noted = new Proxy(client, {
  get(target, method: keyof typeof client) {
    called.add(method);
    return target[method];
  },
});

async function finish(placing: Promise<PlacedOrder>): Promise<Order> {
  const placed = await placing;
  assert.equal(placed.status, 202);
  const { data } = await noted.finished(placed);
  assert.equal(data.order_code, placed.data.order_code);
  return data;
}
async function listed<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

test("registers a name, and follows its order", async () => {
  const { data: found } = await noted.checkAvailability([name, "other.example"]);
  assert.deepEqual(
    found.map(({ domain_name, availability }) => [domain_name, availability]),
    [
      [name, "available"],
      ["other.example", "available"],
    ],
  );
  const options = { years: 2, contacts: { registrant: ada, tech: { ...ada, first_name: "Téa" } }, willRenew: false };
  const { data: plan } = await noted.checkRegistration(name, options);
  assert.ok(!("order_code" in plan) && plan.years === 2 && !plan.will_renew);
  const { kind, order_code } = await finish(noted.registerDomain(name, options));
  assert.equal(kind, "create");
  assert.equal((await noted.getRegistration(order_code, { waitSeconds: 1 })).data.status, "Finished");
  assert.equal((await noted.getOrder(order_code)).data.domain_name, name);
  assert.equal((await noted.waitForOrder(order_code)).data.status, "Finished");
  assert.equal((await noted.setWillRenew(name, true)).status, 204);
  const shown = await noted.getDomain(name);
  assert.deepEqual([shown.data.will_renew, shown.data.changes_pending], [true, []]);
  assert.equal(shown.rateLimit?.limit, 100_000);
});

test("changes the name's contacts, name servers, DNSSEC and lock", async () => {
  await finish(noted.setContacts(name, { registrant: { ...ada, city: "Ghent" } }));
  assert.equal((await noted.getContacts(name)).data.registrant?.city, "Ghent");
  await finish(noted.setNameServers(name, [{ name: `ns1.${name}`, addresses: ["9.9.9.9"] }, "ns2.dns-host.invalid"]));
  const ds = [{ key_tag: 55648, algorithm: 13, digest_type: 2, digest: "B4C8".repeat(16) }];
  await finish(noted.setDnssec(name, { ds }));
  await finish(noted.setTransferLock(name, false));
  const { data } = await noted.getDomain(name);
  assert.deepEqual(data.name_servers, [
    { name: `ns1.${name}`, addresses: ["9.9.9.9"] },
    { name: "ns2.dns-host.invalid" },
  ]);
  assert.deepEqual([data.dnssec, data.transfer_locked], [{ ds }, false]);
});

test("renews, deletes and restores the name", async () => {
  const { expiration_date: expirationDate } = (await noted.getDomain(name)).data;
  const { order_code } = await finish(noted.renewDomain(name, { years: 1, expirationDate }));
  assert.match(order_code, /^REN-/);
  await assert.rejects(noted.renewDomain(name, { years: 1, expirationDate }), (error) => {
    return error instanceof ApiError && error.errorCode === "domain_expiration_changed";
  });
  await finish(noted.deleteDomain(name));
  await assert.rejects(noted.getDomain(name), { errorCode: "domain_not_found", status: 404 });
  await finish(noted.restoreDomain(name));
  assert.equal((await noted.getDomain(name)).data.domain_name, name);
});

test("gives the name to another registrar", async () => {
  await finish(noted.orderAuthCode(name));
  const { auth_code } = (await noted.getAuthCode(name)).data;
  const rival = await RawClient.login(gateway.registry, "rival", "rival-pw-1");
  assert.equal((await rival.ask(transferFrame("request", name, auth_code))).code, 1001);
  await finish(noted.answerTransfer(name, { answer: "reject", reason: "unpaid" }));
  assert.equal((await rival.ask(transferFrame("request", name, auth_code))).code, 1001);
  await finish(noted.answerTransfer(name, { answer: "approve" }));
  rival.close();
  const { data: page } = await noted.listDepartures();
  assert.deepEqual(
    page.map(({ domain_name, reason }) => [domain_name, reason]),
    [
      [name, "transferred"],
      [name, "deleted"],
    ],
  );
  assert.deepEqual(await listed(noted.allDepartures()), page);
});

test("pages through lists without a gap or a repeat, when items are needed", async () => {
  const names = Array.from({ length: namesCount }, (_, at) => `many-${String(at).padStart(3, "0")}.example`);
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date,
       registry_ex_date, will_renew, status)
     SELECT name, $1, 'sandbox', now(), now() + interval '1 year', now() + interval '1 year', true, 'ok'
     FROM unnest($2::text[]) AS name`,
    [resellerId, names],
  );
  const before = requests;
  const all = await listed(noted.allDomains({ namePrefix: "many-" }));
  assert.deepEqual(
    all.map(({ domain_name }) => domain_name),
    names,
  );
  assert.equal(requests - before, 3);
  for await (const { domain_name } of noted.allDomains()) if (domain_name === names[4]) break;
  assert.equal(requests - before, 4);
  const page = await noted.listDomains({ skip: 2, take: 3 });
  assert.deepEqual([page.skipped, page.take, page.total], [2, 3, namesCount]);
  assert.deepEqual((await noted.listRenewals({ status: "Ended" })).data, []);
  assert.deepEqual(await listed(noted.allRenewals({ status: "Ended" })), []);
});

test("lists what was ordered and what happened, and exports whole lists", async () => {
  const { data: renewals } = await noted.listOrders({ domainName: name, kind: "renew", status: "Finished" });
  assert.deepEqual(
    renewals.map(({ kind, domain_name }) => [kind, domain_name]),
    [["renew", name]],
  );
  assert.deepEqual(await listed(noted.allOrders({ kind: "renew" })), renewals);
  const history = await listed(noted.allDomainHistory(name));
  assert.deepEqual((await noted.listDomainHistory(name, { take: 100 })).data, history);
  const events = new Set(history.map(({ event }) => event));
  for (const event of ["ordered", "renewed", "will-renew-on", "ended"]) assert.ok(events.has(event), event);
  for (const [parts, heading] of [
    [noted.exportDomains(), "domain_name"],
    [noted.exportOrders(), "order_code"],
    [noted.exportRenewals(), "domain_name"],
    [noted.exportDepartures(), "domain_name"],
  ] as const) {
    assert.match(Buffer.concat(await listed(parts)).toString(), new RegExp(`^${heading},`));
  }
});

test("shows its account, creates a hosting account, and works with it", async () => {
  const { data: own } = await noted.getAccount();
  assert.equal(own.key.id, key.id);
  const packId = await gateway.addPack();
  const { data: packs } = await noted.listServicePacks();
  assert.ok(packs.some(({ id }) => id === packId));
  const placed = await noted.createHostingAccount({ identifier, servicePackId: packId, password });
  assert.equal((await noted.provisioned(placed)).data.status, "Ready");
  assert.equal((await noted.waitForHostingAccount(identifier)).data.status, "Ready");
  assert.equal((await noted.getHostingAccount(identifier, { waitSeconds: 1 })).data.ftp.username, identifier);
  assert.equal((await noted.setHostingPassword(identifier, `${password}-2`)).status, 202);
  assert.equal((await noted.suspendHostingAccount(identifier, { reason: "unpaid" })).status, 202);
  const { data: suspended } = await noted.getHostingAccount(identifier, { waitSeconds: 30 });
  assert.deepEqual([suspended.status, suspended.suspensions?.[0]?.reason], ["Suspended", "unpaid"]);
  assert.equal((await noted.unsuspendHostingAccount(identifier)).status, 202);
  assert.equal((await noted.getHostingAccount(identifier, { waitSeconds: 30 })).data.status, "Ready");
  const { data: accounts } = await noted.listHostingAccounts();
  assert.deepEqual(
    accounts.map((account) => account.identifier),
    [identifier],
  );
  assert.equal((await listed(noted.allHostingAccounts())).length, 1);
  assert.equal((await noted.getHostingHistory(identifier)).data.history[0]?.event, "requested");

  const hostName = "www.many-000.example";
  assert.equal((await noted.addHostName(identifier, hostName)).status, 202);
  assert.equal((await noted.getHostName(identifier, hostName)).data.record.type, "TXT");
  const { data: hostNames } = await noted.listHostNames(identifier);
  assert.ok(hostNames.some(({ host_name }) => host_name === hostName));
  await noted.removeHostName(identifier, hostName);
  await assert.rejects(noted.getHostName(identifier, hostName), { errorCode: "host_name_not_found" });
  assert.equal((await noted.deleteHostingAccount(identifier)).status, 202);
});

test("makes a webhook, and sends to it again", async () => {
  // Nobody listens there.
  const { data: made } = await noted.createWebhook("http://127.0.0.1:1/", { types: ["domain.*"] });
  assert.match(made.secret ?? "", /^whsec_/);
  const { data: all } = await noted.listWebhooks();
  assert.deepEqual(
    all.map(({ id }) => id),
    [made.id],
  );
  const { data: changed } = await noted.updateWebhook(made.id, { description: "the shop", types: [] });
  assert.deepEqual([changed.description, changed.types], ["the shop", undefined]);
  assert.notEqual((await noted.rotateWebhookSecret(made.id)).data.secret, made.secret);
  assert.equal((await noted.testWebhook(made.id)).status, 202);
  const { data: page } = await noted.listWebhookDeliveries(made.id);
  assert.equal(page[0]?.type, "webhook.test");
  assert.equal((await noted.resendWebhookDelivery(made.id, page[0].event_id)).status, 202);
  assert.equal((await listed(noted.allWebhookDeliveries(made.id, { status: "Pending" }))).length, 1);
  assert.equal((await noted.getWebhook(made.id)).data.enabled, true);
  assert.equal((await noted.deleteWebhook(made.id)).status, 204);
});

test("lists events, and follows them until a signal", async () => {
  const page = await noted.listEvents({ types: ["domain.*"], take: 2 });
  assert.deepEqual([page.data.length, page.data[0]?.type], [2, "domain.registered"]);
  const controller = new AbortController();
  const types: string[] = [];
  const follow = async () => {
    for await (const { type } of noted.followEvents({ after: page.data[0]!.id, signal: controller.signal })) {
      types.push(type);
      // The last thing that has happened: the service holds its next answer.
      if (type === "hosting.removed") setImmediate(() => controller.abort(new Error("enough")));
    }
  };
  await assert.rejects(follow, /^Error: enough$/);
  assert.ok(types.includes("domain.left") && types.includes("hosting.ready"), types.join());
});

test("says what was refused and why, and with which order it has to do", async () => {
  await assert.rejects(noted.registerDomain("bad_name.example"), (error) => {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.status, error.errorCode], [400, "bad_request"]);
    assert.match(error.requestId ?? "", /./);
    const [mistake] = error.validationErrors;
    return mistake?.field === "domain_name" && mistake.errorCode === "invalid";
  });
  const placed = await noted.registerDomain("race-lost.example");
  await assert.rejects(noted.finished(placed), { name: "UnsuccessfulError", message: /ended as Errors: ./ });
  const { data } = await noted.checkSignature({ method: "GET", target: "/v1/domains", headers: {} });
  assert.equal(data.form, null);
});

test("has called every method, and every operation of openapi.json that is signed", () => {
  const uncalled = Object.keys(client).filter((method) => !called.has(method));
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
