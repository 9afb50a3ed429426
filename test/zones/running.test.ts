import assert from "node:assert/strict";
import { Resolver } from "node:dns/promises";
import { test } from "node:test";
import { eventually, startSystem, systemFolder } from "../harness/running-system.ts";

const name = "zoned.example";

test("under deedhouse start, a change is served on loopback, also after role dns was killed", async (t) => {
  const system = await startSystem(await systemFolder(t));
  const { dns, pids } = system.ready();
  const tool = async (...args: string[]) => {
    const { code, stdout, stderr } = await system.tool(args);
    assert.equal(code, 0, `${args.join(" ")}: ${stderr}`);
    return stdout;
  };
  await tool("domains", "register", name, "--wait");
  await tool("dns", "create", name);
  assert.match(await tool("dns", "set", name, "www", "A", "192.0.2.1", "--wait"), /^status +Served$/m);
  const resolver = new Resolver({ timeout: 5_000, tries: 2 });
  resolver.setServers([`${dns.host}:${dns.port}`]);
  assert.deepEqual(await resolver.resolve4(`www.${name}`), ["192.0.2.1"]);
  assert.deepEqual(await resolver.resolveNs(name), ["ns1.dns.test", "ns2.dns.test"]);
  process.kill(pids.dns!, "SIGKILL");
  assert.match(await tool("dns", "set", name, "www", "A", "192.0.2.2", "--wait"), /^status +Served$/m);
  await eventually("role dns has another process", () => system.ready().pids.dns !== pids.dns);
  assert.deepEqual(await resolver.resolve4(`www.${name}`), ["192.0.2.2"]);
  const delegated = await tool("dns", "create", "delegated.example").catch(() => undefined);
  assert.equal(delegated, undefined, "the name is not in the portfolio");
  await system.client.zones.delegate(name);
  await eventually("the registry shows our name servers", async () => {
    return (await system.client.zones.get(name)).data.delegation === "ours";
  });
});
