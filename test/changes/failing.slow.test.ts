/** Orders whose commands fail again and again: each ends, or an operator is called; none ends because nobody knows better. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { secDnsNamespace } from "#registry/epp/namespaces.ts";
import type { CommandFault } from "../../sandbox/registry/faults.ts";
import type { Settings } from "../../sandbox/registry/settings.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock, type SteeredClock } from "../harness/steered-clock.ts";
import { place, until } from "../orders/judge.ts";
import { change, order, received, type Stage, settledLater, startStage } from "./stage.ts";

const name = "refused.example";
const host = `ns1.${name}`;
const lockTarget = `/domains/${name}/transfer-lock`;
const locked = { transfer_locked: true };
const glue = { name_servers: [{ name: host, addresses: ["9.9.9.9"] }] };
const quick = { settleMs: 50, backoffFirstMs: 50, backoffMaxMs: 100, reconcileIntervalMs: 100 };

async function startRefused(t: TestContext, faults: CommandFault[], sandbox: Partial<Settings> = {}) {
  const clock = createSteeredClock();
  const stage = await startStage(t, [name], { clock, registry: quick, sandbox });
  stage.gateway.registry.setFaults({ commands: faults });
  return { stage, clock };
}

const openAlarms = ({ gateway }: Stage) =>
  runSql<{ note: string; count: number }>(
    gateway.databaseUrl,
    "SELECT note, count FROM alarms WHERE kind = 'order' AND resolved_at IS NULL",
  );

/** A day passes without success. @returns the note of the alarm */
async function callsOperator(stage: Stage, clock: SteeredClock, table: "changes" | "orders") {
  const { databaseUrl } = stage.gateway;
  const failed = `SELECT FROM ${table} WHERE ended_at IS NULL AND backoff_count > 2`;
  await until("tries have failed", async () => (await runSql(databaseUrl, failed)).length === 1);
  assert.deepEqual(await openAlarms(stage), [], "nobody is called as long as retries may help");
  clock.skip(25);
  await until("an operator is called", async () => (await openAlarms(stage)).length === 1);
  return (await openAlarms(stage))[0]!.note;
}

for (const code of [2002, 2400, 2500]) {
  test(`a command that is always answered ${code} is retried, and after a day an operator is called (rows C6, C14)`, async (t) => {
    const { stage, clock } = await startRefused(t, [{ command: "domain:update", as: "refuse", code }]);
    const location = await order(stage, "PUT", lockTarget, locked);
    assert.match(
      await callsOperator(stage, clock, "changes"),
      new RegExp(`for a day every try has failed.*${code}.*settle or cancel`),
    );
    await until("the same alarm is raised by the next try", async () => {
      clock.skip(1);
      const [alarm] = await openAlarms(stage);
      assert.ok(alarm, "it stays open while the outcome of a try is not known");
      return alarm.count > 1;
    });
    stage.gateway.registry.setFaults({ commands: [] });
    assert.equal((await settledLater(stage, clock, location)).status, "Finished");
    assert.deepEqual(await openAlarms(stage), [], "the alarm is resolved");
  });
}

test("an operator is called about looks that are never answered", async (t) => {
  const { stage, clock } = await startRefused(t, [{ command: "domain:info", as: "refuse", code: 2400 }]);
  await order(stage, "PUT", lockTarget, locked);
  assert.match(await callsOperator(stage, clock, "changes"), /for a day every try has failed.*2400/);
  assert.equal(received(stage, name, "domain:update").length, 0);
});

test("a host that the registry does not approve ends the order (row C5)", async (t) => {
  const { stage } = await startRefused(t, [{ command: "host:create", as: "pending", decision: "deny" }], {
    pendingDelayMs: 50,
  });
  const ended = await change(stage, "PUT", `/domains/${name}/nameservers`, glue);
  assert.equal(ended.status, "Errors");
  assert.match(String(ended.error_text), new RegExp(`did not approve the host ${host}`));
  assert.equal(received(stage, host, "host:create").length, 1);
});

test("a host that the registry always refuses ends the order after three tries (row C7)", async (t) => {
  const { stage } = await startRefused(t, [{ command: "host:create", as: "refuse", code: 2201 }]);
  const ended = await change(stage, "PUT", `/domains/${name}/nameservers`, glue);
  assert.equal(ended.status, "Errors");
  assert.match(String(ended.error_text), /host:create: 2201/);
  assert.equal(received(stage, host, "host:create").length, 3);
});

test("keys at a registry that does not offer DNSSEC end the order, and nothing is sent (row C5)", async (t) => {
  const { stage } = await startRefused(t, [], { extensions: ["rgp"] });
  const ds = [{ key_tag: 4711, algorithm: 13, digest_type: 2, digest: "AB".repeat(32) }];
  const ended = await change(stage, "PUT", `/domains/${name}/dnssec`, { ds });
  assert.equal(ended.status, "Errors");
  assert.match(String(ended.error_text), new RegExp(`does not offer the extension ${secDnsNamespace}`));
  assert.match((await openAlarms(stage))[0]!.note, /secDNS/, "the registry's profile is wrong");
  assert.equal(received(stage, name, "domain:update").length, 0);
});

test("an operator is called about a registration whose contact the registry never makes", async (t) => {
  const { stage, clock } = await startRefused(t, [{ command: "contact:create", as: "refuse", code: 2400 }]);
  const { gateway } = stage;
  const other: Stage = { gateway, reseller: await gateway.addReseller() };
  const { location } = await place(gateway, other.reseller, "contactless.example");
  assert.match(await callsOperator(stage, clock, "orders"), /for a day every try has failed.*2400/);
  gateway.registry.setFaults({ commands: [] });
  clock.skip(1);
  assert.equal((await gateway.settled(other.reseller, location)).status, "Finished");
  assert.deepEqual(await openAlarms(stage), []);
});
