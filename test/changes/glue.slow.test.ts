/** The addresses of hosts below a name: an order that is refused does not change them unseen, and changes made elsewhere are found. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runSql } from "../harness/sql.ts";
import { operate, operated } from "../orders/operate.ts";
import { change, domain, received, type Stage, startStage } from "./stage.ts";

const name = "brand.example";
const target = `/domains/${name}/nameservers`;
const host = `ns1.${name}`;
const before = "9.9.9.9";
const after = "1.1.1.1";
const dated = { timeout: 60_000 };

const glueAt = ({ gateway }: Stage, of = host) =>
  gateway.registry.store.hosts.find(of)?.addresses.map(({ address }) => address);

const serversOf = async (stage: Stage, of = name) => (await domain(stage, of)).name_servers;

const set = (stage: Stage, ...servers: (string | object)[]) => change(stage, "PUT", target, { name_servers: servers });

async function startWithGlue(t: Parameters<typeof startStage>[0], names = [name]): Promise<Stage> {
  const stage = await startStage(t, names);
  assert.equal((await set(stage, { name: host, addresses: [before] })).status, "Finished");
  return stage;
}

/** Somebody else changes the addresses of a host. */
function changeGlue({ gateway }: Stage, ...addresses: string[]): void {
  const { store } = gateway.registry;
  store.hosts.put({
    ...store.hosts.find(host)!,
    addresses: addresses.map((address) => ({ version: "v4", address })),
  });
}

const told = ({ gateway }: Stage) =>
  runSql<{ text: string }>(
    gateway.databaseUrl,
    "SELECT data ->> 'text' AS text FROM events WHERE subject = $1 AND type = 'domain.changed'",
    [name],
  );

const openAlarms = ({ gateway }: Stage) =>
  runSql(gateway.databaseUrl, "SELECT kind, subject FROM alarms WHERE resolved_at IS NULL");

test("an order with a host that does not exist changes no host at all", dated, async (t) => {
  const stage = await startWithGlue(t);
  const refused = await set(stage, { name: host, addresses: [after] }, "ns1.nobody.example");
  assert.equal(refused.status, "FailedValidation");
  assert.match(String(refused.error_text), /the host ns1\.nobody\.example does not exist/);
  assert.deepEqual(glueAt(stage), [before]);
  assert.deepEqual(received(stage, host, "host:update"), []);
  assert.deepEqual(await serversOf(stage), [{ name: host, addresses: [before] }]);
});

test(
  "an order that the registry refuses after a host has changed shows the addresses that the host has",
  dated,
  async (t) => {
    const stage = await startWithGlue(t, [name, "other.example"]);
    const { registry } = stage.gateway;
    for (const command of ["host:create", "domain:update"] as const) {
      changeGlue(stage, before);
      await operated(stage.gateway, "domains", "sync", name);
      registry.setFaults({ commands: [{ command, as: "refuse", code: 2308 }] });
      const servers = [{ name: host, addresses: [after] }, `ns1.${command.replace(":", "-")}.invalid-tld.net`];
      // The host is below the name itself, or below another name of the same reseller.
      for (const path of [target, "/domains/other.example/nameservers"]) {
        const refused = await change(stage, "PUT", path, { name_servers: servers });
        assert.equal(refused.status, "FailedValidation", command);
        assert.deepEqual(glueAt(stage), [after], command);
        assert.deepEqual(await serversOf(stage), [{ name: host, addresses: [after] }], command);
      }
      registry.setFaults({ commands: [] });
    }
  },
);

test("addresses that are changed elsewhere are found by a comparison, taken over and reported", dated, async (t) => {
  const stage = await startWithGlue(t);
  const { gateway } = stage;
  assert.equal((await operated(gateway, "domains", "sync", name)).status, "unchanged");
  changeGlue(stage, after);
  const compared = await operate(gateway, "reconcile", "domains", "--all", "--json");
  assert.equal(compared.code, 1, compared.stdout);
  assert.deepEqual(JSON.parse(compared.stdout), [
    {
      domain_name: name,
      difference: "name_servers",
      here: `${host} ${before}`,
      registry: `${host} ${after}`,
      repaired: false,
    },
  ]);
  assert.deepEqual(await serversOf(stage), [{ name: host, addresses: [before] }], "a comparison changes nothing");
  assert.equal((await operated(gateway, "domains", "sync", name)).status, "taken over");
  assert.deepEqual(await serversOf(stage), [{ name: host, addresses: [after] }]);
  assert.deepEqual(await told(stage), [{ text: `name_servers: "${host} ${before}" became "${host} ${after}"` }]);
  assert.deepEqual(await openAlarms(stage), [{ kind: "name-changed", subject: name }]);
  assert.equal((await operate(gateway, "reconcile", "domains", "--all", "--json")).code, 0);
  assert.deepEqual(received(stage, name, "domain:update").length, 1, "nothing is set back");
});

test("addresses that were never seen are taken over without a report", dated, async (t) => {
  const stage = await startWithGlue(t);
  const { gateway } = stage;
  await runSql(
    gateway.databaseUrl,
    "UPDATE domains SET delegation = jsonb_build_array(jsonb_build_object('name', $1::text))",
    [host],
  );
  assert.equal((await operated(gateway, "domains", "sync", name)).status, "unchanged");
  assert.deepEqual(await serversOf(stage), [{ name: host, addresses: [before] }]);
  assert.deepEqual(await told(stage), []);
});

test("a name that is adopted comes with the addresses of its hosts", dated, async (t) => {
  const stage = await startWithGlue(t);
  const { gateway, reseller } = stage;
  await runSql(gateway.databaseUrl, "DELETE FROM domains WHERE domain_name = $1", [name]);
  await operated(gateway, "domains", "adopt", name, "--account", reseller.name, "--yes");
  assert.deepEqual(await serversOf(stage), [{ name: host, addresses: [before] }]);
});
