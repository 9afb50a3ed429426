import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { domain } from "../changes/stage.ts";
import { type GatewayOptions, startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { creates } from "./judge.ts";

const outside = ["ns1.dns-host.net", "ns2.dns-host.net"];
const name = "new.example";

interface Stage {
  gateway: TestGateway;
  reseller: TestReseller;
}

async function start(t: TestContext, options: GatewayOptions = {}): Promise<Stage> {
  const gateway = await startTestGateway(t, options);
  return { gateway, reseller: await gateway.addReseller() };
}

const send = ({ gateway, reseller }: Stage, body: object) =>
  gateway.send(reseller, "POST", "/domains/registrations", { body });

/** Registers, and waits for the end. */
async function register(stage: Stage, body: object) {
  const reply = await send(stage, body);
  assert.equal(reply.status, 202, reply.text);
  return stage.gateway.settled(stage.reseller, reply.headers.location ?? "");
}

async function refusedField(stage: Stage, body: object): Promise<string | undefined> {
  const reply = await send(stage, body);
  assert.equal(reply.status, 400, `${JSON.stringify(body)}: ${reply.text}`);
  return (reply.body as { validation_errors?: { field: string }[] }).validation_errors?.[0]?.field;
}

/** Waits for the orders that a registration has placed. */
async function settleChanges({ gateway, reseller }: Stage, of: string) {
  const codes = await runSql<{ order_code: string }>(
    gateway.databaseUrl,
    "SELECT order_code FROM orders WHERE domain_name = $1 ORDER BY id",
    [of],
  );
  const orders = [];
  for (const { order_code } of codes) orders.push(await gateway.settled(reseller, `/orders/${order_code}`));
  return orders;
}

test("a name is registered with name servers, for the years and with the renewal that were ordered", async (t) => {
  const stage = await start(t);
  const body = { domain_name: name, name_servers: outside, years: 3, will_renew: false };
  assert.equal((await register(stage, body)).status, "Finished");
  const shown = await domain(stage, name);
  assert.deepEqual(
    shown.name_servers,
    outside.map((host) => ({ name: host })),
  );
  assert.deepEqual([shown.will_renew, shown.status, shown.statuses], [false, "ok", ["ok"]]);
  const held = stage.gateway.registry.store.domains.find(name);
  assert.equal(held?.exDate, shown.expiration_date);
  const years = new Date(String(held?.exDate)).getUTCFullYear() - new Date(String(held?.crDate)).getUTCFullYear();
  assert.equal(years, 3);
  assert.deepEqual(
    held?.delegation?.servers.map((server) => server.name),
    outside,
  );
  assert.deepEqual(await settleChanges(stage, name), []);
});

test("hosts below the name are added by an order that follows its registration", async (t) => {
  const stage = await start(t);
  const glue = { name: `ns1.${name}`, addresses: ["9.9.9.9"] };
  assert.equal((await register(stage, { domain_name: name, name_servers: [glue, outside[0]] })).status, "Finished");
  const [order, ...others] = await settleChanges(stage, name);
  assert.deepEqual([order?.kind, order?.status, others.length], ["nameservers", "Finished", 0]);
  const shown = (await domain(stage, name)).name_servers as { name: string }[];
  assert.deepEqual(
    shown.find((server) => server.name === glue.name),
    glue,
  );
  assert.deepEqual(shown.map((server) => server.name).toSorted(), [outside[0], glue.name].toSorted());
});

test("a host below another's name has to exist before a name is registered with it", async (t) => {
  const stage = await start(t);
  const ended = await register(stage, { domain_name: name, name_servers: ["ns1.nobody.example"] });
  assert.equal(ended.status, "FailedValidation");
  assert.equal(creates(stage.gateway, name).length, 0);
  assert.equal(
    await refusedField(stage, { domain_name: name, name_servers: [`ns1.${name}`] }),
    "name_servers/0/addresses",
  );
});

test("a registry that demands name servers gets those of the request, or of its profile", async (t) => {
  const demanding = { nameserversAtCreate: { min: 2, max: 3 }, defaultNameServers: outside };
  const stage = await start(t, { registry: demanding });
  assert.equal((await register(stage, { domain_name: name })).status, "Finished");
  assert.deepEqual(
    (await domain(stage, name)).name_servers,
    outside.map((host) => ({ name: host })),
  );
  const refuse = (name_servers: unknown[]) => refusedField(stage, { domain_name: "other.example", name_servers });
  assert.equal(await refuse([outside[0]]), "name_servers");
  assert.equal(await refuse([]), "name_servers");
  assert.equal(await refuse(["a.net", "b.net", "c.net", "d.net"].map((host) => `ns.${host}`)), "name_servers");
  assert.equal(await refuse([outside[0], { name: "ns1.other.example", addresses: ["9.9.9.9"] }]), "name_servers/1");
});

test("where name servers are attributes, the create contains those below the name too", async (t) => {
  const attributes = { hostModel: "attributes" } as const;
  const stage = await start(t, { registry: attributes, sandbox: attributes });
  const servers = [{ name: `ns1.${name}`, addresses: ["9.9.9.9", "2620:fe::9"] }, { name: outside[0] }];
  assert.equal((await register(stage, { domain_name: name, name_servers: servers })).status, "Finished");
  assert.deepEqual((await domain(stage, name)).name_servers, servers);
  assert.deepEqual(await settleChanges(stage, name), []);
});

test("a dry run checks everything, says what would be sent, and orders nothing", async (t) => {
  const stage = await start(t, { registry: { yearsMax: 5, periodYears: 2 } });
  const glue = { name: `ns1.${name}`, addresses: ["9.9.9.9"] };
  const body = { domain_name: "New.Example", name_servers: [glue, outside[0]], dry_run: true };
  const reply = await send(stage, body);
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual(reply.body, {
    domain_name: name,
    years: 2,
    will_renew: true,
    name_servers: [{ name: outside[0] }],
    name_servers_later: [glue, { name: outside[0] }],
  });
  assert.equal(reply.headers.location, undefined);
  assert.equal(await refusedField(stage, { ...body, years: 6 }), "years");
  assert.equal(await refusedField(stage, { ...body, years: 11 }), "years");
  assert.equal(await refusedField(stage, { domain_name: "taken-a.example", dry_run: true }), undefined);
  const [stored] = await runSql(stage.gateway.databaseUrl, "SELECT count(*)::int AS orders FROM orders");
  assert.deepEqual(stored, { orders: 0 });
  assert.equal(stage.gateway.registry.store.hosts.values().length, 0);
});

test("a name with a price of its own is registered for the usual years only", async (t) => {
  const stage = await start(t, { registry: { premium: { amountMax: 1_000, currency: "EUR" } } });
  const premium = { domain_name: "premium-a.example" };
  assert.equal(await refusedField(stage, { ...premium, years: 2 }), "years");
  const { body } = await send(stage, { ...premium, years: 1, dry_run: true });
  assert.deepEqual((body as { price?: object }).price, { amount: "100.00", currency: "EUR" });
});

test("what is left out, or null, is as the registry's profile says", async (t) => {
  const stage = await start(t);
  const empty = { years: null, name_servers: null, will_renew: null, dry_run: null };
  assert.equal((await register(stage, { domain_name: name, ...empty })).status, "Finished");
  const { will_renew, name_servers, status } = await domain(stage, name);
  assert.deepEqual([will_renew, name_servers, status], [true, [], "inactive"]);
});
