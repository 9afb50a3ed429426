/** Two orders of one kind about one name: whatever happens to the older one, the newer one's value stays. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { CommandFault } from "../../sandbox/registry/faults.ts";
import { ada } from "../harness/contacts.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { place, until } from "../orders/judge.ts";
import { order, received, type Stage, settledLater, startStage, steeredRegistry } from "./stage.ts";

const name = "twice.example";
const update = "domain:update";
/** Longer than a busy machine needs to place an order. */
const registry = { ...steeredRegistry, backoffFirstMs: 60_000, backoffMaxMs: 60_000 };

const email = (label: string) => ({ ...ada, email: `${label}@quillfeather.example` });
const ds = (digit: string) => ({
  ds: [{ key_tag: 1, algorithm: 13, digest_type: 2, digest: digit.repeat(64) }],
});

interface Pair {
  path: string;
  older: object;
  newer: object;
  /** What the registry shows. */
  shown(stage: Stage): unknown;
  /** What it shows once the newer one counts. */
  wanted: unknown;
}

const domainOf = ({ gateway }: Stage) => gateway.registry.store.domains.find(name);

const pairs: Readonly<Record<string, Pair>> = {
  "transfer-lock": {
    path: "transfer-lock",
    older: { transfer_locked: true },
    newer: { transfer_locked: false },
    shown: (stage) => domainOf(stage)?.statuses,
    wanted: [],
  },
  nameservers: {
    path: "nameservers",
    older: { name_servers: ["ns1.dns-host.net", "ns2.dns-host.net"] },
    newer: { name_servers: ["ns3.dns-host.net"] },
    shown: (stage) => domainOf(stage)?.delegation?.servers.map((server) => server.name),
    wanted: ["ns3.dns-host.net"],
  },
  dnssec: {
    path: "dnssec",
    older: ds("A"),
    newer: ds("B"),
    shown: (stage) => domainOf(stage)?.security?.dsData.map(({ digest }) => digest),
    wanted: ["B".repeat(64)],
  },
  contacts: {
    path: "contacts",
    older: { registrant: email("older") },
    newer: { registrant: email("newer"), tech: email("newer") },
    shown: ({ gateway: { registry: sandbox } }) =>
      sandbox.store.contacts.find(sandbox.store.domains.find(name)?.registrant ?? "")?.email,
    wanted: "newer@quillfeather.example",
  },
};

/** What happens to the older order's first command. */
const faults: Readonly<Record<string, number>> = {
  "was refused for now": 2002,
  "had an answer that does not say whether it was executed": 2400,
  "found no credit": 2104,
};

async function startWithFault(t: TestContext, code: number) {
  const clock = createSteeredClock();
  const stage = await startStage(t, [name], { clock, registry });
  const fault: CommandFault = { command: update, name, as: "refuse", code, times: 1 };
  stage.gateway.registry.setFaults({ commands: [fault] });
  return { stage, clock };
}

const untilAnswered = ({ gateway }: Stage, code: number) =>
  until("the registry has refused it", async () => {
    const sql = "SELECT FROM attempts WHERE result_code = $1";
    return (await runSql(gateway.databaseUrl, sql, [code])).length > 0;
  });

for (const [kind, { path, older, newer, shown, wanted }] of Object.entries(pairs)) {
  for (const [what, code] of Object.entries(faults)) {
    test(`a newer order of the kind ${kind} is not undone by an older one that ${what} (row 2)`, async (t) => {
      const { stage, clock } = await startWithFault(t, code);
      const target = `/domains/${name}/${path}`;
      const first = await order(stage, "PUT", target, older);
      await untilAnswered(stage, code);
      const second = await order(stage, "PUT", target, newer);
      assert.equal((await settledLater(stage, clock, second)).status, "Finished");
      const ended = await settledLater(stage, clock, first);
      assert.equal(ended.status, "Cancelled");
      assert.match(String(ended.error_text), /^superseded by CHG-/);
      assert.deepEqual(shown(stage), wanted);
    });
  }
}

test("a name's auth code is that of the newest order, although an older one was refused for now", async (t) => {
  const { stage, clock } = await startWithFault(t, 2002);
  const { gateway, reseller } = stage;
  const target = `/domains/${name}/auth-code`;
  const first = await order(stage, "POST", target);
  await untilAnswered(stage, 2002);
  const second = await order(stage, "POST", target);
  assert.equal((await gateway.settled(reseller, second)).status, "Finished");
  const code = domainOf(stage)?.authInfo;
  assert.equal((await settledLater(stage, clock, first)).status, "Cancelled");
  assert.equal(domainOf(stage)?.authInfo, code);
  const { body } = await gateway.send(reseller, "GET", target);
  assert.equal((body as { auth_code: string }).auth_code, code);
});

test("contacts that the newer order leaves out are still those of the older one", async (t) => {
  const { stage, clock } = await startWithFault(t, 2002);
  const { store } = stage.gateway.registry;
  const target = `/domains/${name}/contacts`;
  const first = await order(stage, "PUT", target, { registrant: email("older"), tech: email("older") });
  await untilAnswered(stage, 2002);
  const second = await order(stage, "PUT", target, { registrant: email("newer") });
  assert.equal((await stage.gateway.settled(stage.reseller, second)).status, "Finished");
  assert.equal((await settledLater(stage, clock, first)).status, "Finished");
  const { registrant, contacts } = domainOf(stage)!;
  const tech = contacts.find(({ type }) => type === "tech")?.id;
  assert.equal(store.contacts.find(registrant ?? "")?.email, "newer@quillfeather.example");
  assert.equal(store.contacts.find(tech ?? "")?.email, "older@quillfeather.example");
});

test("the lock of a new name does not undo a newer unlock, although its command was refused for now", async (t) => {
  const clock = createSteeredClock();
  const stage = await startStage(t, [], { clock, registry: { ...registry, lockNewNames: true } });
  const { gateway, reseller } = stage;
  gateway.registry.setFaults({ commands: [{ command: update, name, as: "refuse", code: 2002, times: 1 }] });
  const { code, location } = await place(gateway, reseller, name);
  assert.equal((await gateway.settled(reseller, location)).status, "Finished");
  await untilAnswered(stage, 2002);
  const unlock = await order(stage, "PUT", `/domains/${name}/transfer-lock`, { transfer_locked: false });
  assert.equal((await settledLater(stage, clock, unlock)).status, "Finished");
  assert.equal((await settledLater(stage, clock, `/orders/${code.replace("REG", "CHG")}`)).status, "Cancelled");
  assert.deepEqual(domainOf(stage)?.statuses, []);
});

test("a newer order waits for an older one of which a command may still be executed, and counts", async (t) => {
  const clock = createSteeredClock();
  const stage = await startStage(t, [name], { clock, registry });
  const { gateway } = stage;
  const hold = gateway.registry.hold({ command: update, name, at: "before-execution", times: 1 });
  const target = `/domains/${name}/transfer-lock`;
  const first = await order(stage, "PUT", target, { transfer_locked: true });
  await hold.abandoned(1);
  const second = await order(stage, "PUT", target, { transfer_locked: false });
  hold.release({ execute: true });
  assert.equal((await settledLater(stage, clock, first)).status, "Finished");
  assert.equal((await settledLater(stage, clock, second)).status, "Finished");
  assert.deepEqual(domainOf(stage)?.statuses, []);
  assert.equal(received(stage, name, update).length, 2);
});
