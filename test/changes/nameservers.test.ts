import assert from "node:assert/strict";
import { test } from "node:test";
import { runSql } from "../harness/sql.ts";
import { change, domain, order, own, received, startStage } from "./stage.ts";

const name = "brand.example";
const target = `/domains/${name}/nameservers`;
const outside = ["ns1.dns.invalid-tld.net", "ns2.dns.invalid-tld.net"];

const serversOf = async (stage: Parameters<typeof domain>[0], of = name) => (await domain(stage, of)).name_servers;

test("hosts outside the registry's suffixes are made without addresses, and the portfolio shows them", async (t) => {
  const stage = await startStage(t, [name]);
  const done = await change(stage, "PUT", target, { name_servers: [outside[0], { name: "NS2.dns.invalid-tld.net." }] });
  assert.deepEqual([done.kind, done.status], ["nameservers", "Finished"]);
  const { store } = stage.gateway.registry;
  assert.deepEqual(
    store.domains.find(name)?.delegation?.servers.map((server) => server.name),
    outside,
  );
  assert.deepEqual(store.hosts.find(outside[0]!)?.addresses, []);
  assert.deepEqual(
    await serversOf(stage),
    outside.map((host) => ({ name: host })),
  );
  const sent = received(stage, name, "domain:update").length;
  assert.equal((await change(stage, "PUT", target, { name_servers: outside })).status, "Finished");
  assert.equal((await domain(stage, name)).status, "ok", "a name with name servers is not inactive any more");
  assert.equal(received(stage, name, "domain:update").length, sent, "what is so already is not sent again");
  assert.equal((await change(stage, "PUT", target, { name_servers: [outside[1]] })).status, "Finished");
  assert.deepEqual(await serversOf(stage), [{ name: outside[1] }]);
  assert.equal((await change(stage, "PUT", target, { name_servers: [] })).status, "Finished");
  assert.deepEqual(await serversOf(stage), []);
  assert.ok(store.hosts.find(outside[0]!), "a host is not deleted with its last delegation");
});

test("a host below the name gets the addresses that are sent, and keeps them when none are sent", async (t) => {
  const stage = await startStage(t, [name]);
  const host = `ns1.${name}`;
  const { store } = stage.gateway.registry;
  const set = (...addresses: string[]) =>
    change(stage, "PUT", target, {
      name_servers: [addresses.length > 0 ? { name: host, addresses } : host, outside[0]],
    });
  assert.equal((await set("9.9.9.9", "2620:00FE::9")).status, "Finished");
  const shown = [{ name: host, addresses: ["9.9.9.9", "2620:fe::9"] }, { name: outside[0] }];
  assert.deepEqual(await serversOf(stage), shown);
  assert.equal((await set()).status, "Finished");
  assert.deepEqual(await serversOf(stage), shown);
  assert.equal((await set("1.1.1.1")).status, "Finished");
  assert.deepEqual(store.hosts.find(host)?.addresses, [{ version: "v4", address: "1.1.1.1" }]);
  assert.deepEqual(await serversOf(stage), [{ name: host, addresses: ["1.1.1.1"] }, { name: outside[0] }]);
  // An order of another kind looks at the name only.
  await change(stage, "PUT", `/domains/${name}/transfer-lock`, { transfer_locked: true });
  assert.deepEqual(await serversOf(stage), [{ name: host, addresses: ["1.1.1.1"] }, { name: outside[0] }]);
});

test("each host is a step of its own, and only the name's own update is verified (rows C9, C3)", async (t) => {
  const stage = await startStage(t, [name]);
  const servers = [{ name: `ns1.${name}`, addresses: ["9.9.9.9"] }, outside[0]];
  assert.equal((await change(stage, "PUT", target, { name_servers: servers })).status, "Finished");
  const history = "SELECT event FROM order_history ORDER BY id";
  const events = await runSql<{ event: string }>(stage.gateway.databaseUrl, history);
  const expected = ["requested", "started", "prepared", "prepared", "answered", "done"];
  assert.deepEqual(
    events.map(({ event }) => event),
    expected,
  );
});

test("a new host below a name of the reseller is refused without addresses, and nothing is ordered", async (t) => {
  const stage = await startStage(t, [name, "customer.example"]);
  const { gateway, reseller } = stage;
  for (const path of [target, "/domains/customer.example/nameservers"]) {
    const reply = await gateway.send(reseller, "PUT", path, { body: { name_servers: [outside[0], `ns1.${name}`] } });
    const { validation_errors: [error] = [] } = reply.body as { validation_errors?: { field: string }[] };
    assert.deepEqual([reply.status, error?.field], [400, "name_servers/1/addresses"], reply.text);
  }
  assert.deepEqual(await runSql(gateway.databaseUrl, "SELECT FROM orders WHERE kind = 'nameservers'"), []);
});

test("a host that was given addresses before needs none, although no name uses it any more", async (t) => {
  const stage = await startStage(t, [name, "customer.example"]);
  const host = `ns1.${name}`;
  for (const servers of [[{ name: host, addresses: ["9.9.9.9"] }], outside, [host]]) {
    assert.equal((await change(stage, "PUT", target, { name_servers: servers })).status, "Finished");
  }
  const elsewhere = "/domains/customer.example/nameservers";
  assert.equal((await change(stage, "PUT", elsewhere, { name_servers: [host] })).status, "Finished");
});

test("a host that somebody has deleted at the registry needs addresses again", async (t) => {
  const stage = await startStage(t, [name]);
  const host = `ns1.${name}`;
  for (const servers of [[{ name: host, addresses: ["9.9.9.9"] }], outside]) {
    assert.equal((await change(stage, "PUT", target, { name_servers: servers })).status, "Finished");
  }
  stage.gateway.registry.store.hosts.delete(host);
  const refused = await change(stage, "PUT", target, { name_servers: [host] });
  assert.equal(refused.status, "FailedValidation");
  assert.match(String(refused.error_text), /ns1\.brand\.example does not exist yet: give its addresses/);
});

test("a host that an order is about to make needs no addresses at another name", async (t) => {
  const stage = await startStage(t, [name, "customer.example"]);
  await stage.gateway.stopWorker();
  const host = `ns1.${name}`;
  const send = (of: string, ...servers: (string | object)[]) =>
    stage.gateway.send(stage.reseller, "PUT", `/domains/${of}/nameservers`, { body: { name_servers: servers } });
  assert.equal((await send(name, { name: host, addresses: ["9.9.9.9"] })).status, 202);
  assert.equal((await send("customer.example", host)).status, 202);
  assert.equal((await send(name, host)).status, 400, "the order replaces the one that has the addresses");
});

test("a host below a name of the same reseller can be made for another name", async (t) => {
  const stage = await startStage(t, [name, "customer.example"]);
  const servers = [{ name: `ns1.${name}`, addresses: ["9.9.9.9"] }];
  const done = await change(stage, "PUT", "/domains/customer.example/nameservers", { name_servers: servers });
  assert.equal(done.status, "Finished");
  assert.deepEqual(await serversOf(stage, "customer.example"), [{ name: `ns1.${name}` }]);
  assert.equal((await change(stage, "PUT", target, { name_servers: [`ns1.${name}`] })).status, "Finished");
  assert.deepEqual(await serversOf(stage), servers);
  const moved = [{ name: `ns1.${name}`, addresses: ["1.1.1.1", "2620:fe::9"] }];
  await change(stage, "PUT", "/domains/customer.example/nameservers", { name_servers: moved });
  assert.deepEqual(await serversOf(stage), moved, "the name above the host shows its new addresses");
});

test("a host below another's name must exist, and its addresses are not the caller's to set", async (t) => {
  const stage = await startStage(t, [name]);
  const { gateway } = stage;
  const rival = { gateway, reseller: await gateway.addReseller() };
  await own(rival, "rival.example");
  const host = "ns1.rival.example";
  const missing = await change(stage, "PUT", target, { name_servers: [host] });
  assert.equal(missing.status, "FailedValidation");
  assert.match(String(missing.error_text), /only who holds rival\.example can create it/);
  const made = await change(rival, "PUT", "/domains/rival.example/nameservers", {
    name_servers: [{ name: host, addresses: ["9.9.9.9"] }],
  });
  assert.equal(made.status, "Finished");
  const send = (of: string) =>
    gateway.send(stage.reseller, "PUT", target, { body: { name_servers: [{ name: of, addresses: ["1.1.1.1"] }] } });
  const [others, nobodys] = [await send(host), await send("ns1.nobody.example")];
  assert.equal(others.status, 400);
  assert.equal(others.text, nobodys.text, "the answer does not say whether somebody holds the name");
  assert.equal((await change(stage, "PUT", target, { name_servers: [host] })).status, "Finished");
  assert.deepEqual(await serversOf(stage), [{ name: host }]);
});

test("a name above a host that has left since the order is not the caller's any more", async (t) => {
  const stage = await startStage(t, [name, "customer.example"]);
  const { gateway } = stage;
  const rival = await gateway.addReseller();
  await gateway.stopWorker();
  const servers = [{ name: `ns1.${name}`, addresses: ["9.9.9.9"] }];
  const location = await order(stage, "PUT", "/domains/customer.example/nameservers", { name_servers: servers });
  await runSql(gateway.databaseUrl, "UPDATE domains SET reseller_id = $1 WHERE domain_name = $2", [rival.id, name]);
  await gateway.startWorker();
  assert.equal((await gateway.settled(stage.reseller, location)).status, "FailedValidation");
  assert.equal(gateway.registry.store.hosts.values().length, 0);
});

test("without the commands for hosts, a name can use the hosts that the registry has", async (t) => {
  const withoutServices = ["urn:ietf:params:xml:ns:host-1.0"] as const;
  const stage = await startStage(t, [name], { registry: { withoutServices: withoutServices.slice() } });
  const { store } = stage.gateway.registry;
  const done = await change(stage, "PUT", target, { name_servers: outside });
  assert.equal(done.status, "Errors");
  assert.match(String(done.error_text), /^domain:update: 2303 /);
  const crDate = "2026-01-01T00:00:00.000Z";
  for (const host of outside) {
    store.hosts.put({ name: host, roid: host, statuses: [], addresses: [], clID: "rival", crID: "rival", crDate });
  }
  assert.equal((await change(stage, "PUT", target, { name_servers: outside })).status, "Finished");
  const glue = { name_servers: [{ name: `ns1.${name}`, addresses: ["9.9.9.9"] }] };
  const { status, text } = await stage.gateway.send(stage.reseller, "PUT", target, { body: glue });
  assert.equal(status, 400);
  assert.match(text, /takes no addresses of hosts/);
});

test("a newer order replaces one that was not sent yet", async (t) => {
  const stage = await startStage(t, [name]);
  await stage.gateway.stopWorker();
  const first = await order(stage, "PUT", target, { name_servers: [outside[0]] });
  const second = await order(stage, "PUT", target, { name_servers: [outside[1]] });
  await stage.gateway.startWorker();
  assert.equal((await stage.gateway.settled(stage.reseller, second)).status, "Finished");
  assert.equal((await stage.gateway.settled(stage.reseller, first)).status, "Cancelled");
  assert.deepEqual(await serversOf(stage), [{ name: outside[1] }]);
});

test("what is wrong with a name server is answered with 400 and its field, and nothing is ordered", async (t) => {
  const stage = await startStage(t, [name]);
  const wrong: [servers: unknown, field: string][] = [
    [undefined, "name_servers"],
    [null, "name_servers"],
    ["ns1.dns.net", "name_servers"],
    [Array.from({ length: 14 }, (_, index) => `ns${index}.dns.net`), "name_servers"],
    [[1], "name_servers/0"],
    [["dns"], "name_servers/0"],
    [["-a.dns.net"], "name_servers/0"],
    [["ns1.dns.net", "NS1.dns.net."], "name_servers/1"],
    [[{ addresses: ["9.9.9.9"] }], "name_servers/0/name"],
    [[{ name: "a_b.dns.net" }], "name_servers/0/name"],
    [[{ name: `ns1.${name}`, addresses: "9.9.9.9" }], "name_servers/0/addresses"],
    [[{ name: "ns1.dns.net", addresses: ["9.9.9.9"] }], "name_servers/0/addresses"],
    [[{ name: `ns1.${name}`, addresses: ["9.9.9.256"] }], "name_servers/0/addresses/0"],
    [[{ name: `ns1.${name}`, addresses: ["9.9.9.9", "fe80::1%eth0"] }], "name_servers/0/addresses/1"],
    [[{ name: `ns1.${name}`, addresses: ["::ffff:9.9.9.9"] }], "name_servers/0/addresses/0"],
    [[{ name: `ns1.${name}`, addresses: ["2620:fe::9", "2620:fe:0::9"] }], "name_servers/0/addresses/1"],
    ...["10.0.0.1", "127.0.0.1", "192.0.2.1", "224.0.0.1", "fe80::1", "2001:db8::1"].map(
      (address): [unknown, string] => [
        [{ name: `ns1.${name}`, addresses: ["9.9.9.9", address] }],
        "name_servers/0/addresses/1",
      ],
    ),
  ];
  for (const [name_servers, field] of wrong) {
    const reply = await stage.gateway.send(stage.reseller, "PUT", target, { body: { name_servers } });
    const { validation_errors: [error] = [] } = reply.body as { validation_errors?: { field: string }[] };
    assert.deepEqual([reply.status, error?.field], [400, field], `${JSON.stringify(name_servers)}: ${reply.text}`);
  }
  assert.deepEqual(await serversOf(stage), []);
});

test("a registry's setting lets hosts have any address", async (t) => {
  const stage = await startStage(t, [name], { registry: { glueAddresses: "any" } });
  const servers = [{ name: `ns1.${name}`, addresses: ["10.0.0.1"] }];
  assert.equal((await change(stage, "PUT", target, { name_servers: servers })).status, "Finished");
  assert.deepEqual(await serversOf(stage), servers);
});

test("where name servers are attributes, addresses go with the name", async (t) => {
  const stage = await startStage(t, [], {
    moreRegistries: [
      {
        id: "attributes",
        suffixes: ["attr"],
        sandbox: { hostModel: "attributes", dataModel: "thin" },
        profile: { hostModel: "attributes", dataModel: "thin" },
      },
    ],
  });
  await own(stage, "brand.attr");
  const host = "ns1.brand.attr";
  const path = "/domains/brand.attr/nameservers";
  const set = (...name_servers: unknown[]) => change(stage, "PUT", path, { name_servers });
  const bare = await stage.gateway.send(stage.reseller, "PUT", path, { body: { name_servers: [host] } });
  assert.equal(bare.status, 400);
  assert.match(bare.text, /name_servers\/0\/addresses: This host is below a name of yours, and has no addresses yet/);
  assert.equal((await set({ name: host, addresses: ["9.9.9.9"] }, outside[0])).status, "Finished");
  assert.equal((await set(host, outside[1])).status, "Finished");
  const shown = await serversOf(stage, "brand.attr");
  assert.deepEqual(shown, [{ name: host, addresses: ["9.9.9.9"] }, { name: outside[1] }]);
  assert.equal((await set({ name: host, addresses: ["1.1.1.1", "2620:fe::9"] }, outside[1])).status, "Finished");
  const { store } = stage.gateway.moreRegistries.get("attributes")!;
  const servers = store.domains.find("brand.attr")?.delegation?.servers ?? [];
  const changed = servers.find((server) => server.name === host)?.addresses.map(({ address }) => address);
  assert.deepEqual(changed, ["1.1.1.1", "2620:fe::9"]);
  assert.equal(store.hosts.values().length, 0);
  assert.equal((await set(outside[0])).status, "Finished");
  const gone = await set(host);
  assert.equal(gone.status, "FailedValidation", "its addresses went with the name's use of it");
  assert.match(String(gone.error_text), /has no addresses yet/);
});
