/** A registry that never shows an expiry: dates are reckoned from what was paid. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { circuitSettingsDefault } from "#registry/epp/pool/circuit.ts";
import type { Settings } from "../../sandbox/registry/settings.ts";
import { runSql } from "../harness/sql.ts";
import { assertEnds, creates, place, until } from "../orders/judge.ts";
import { assertRefused, operated } from "../orders/operate.ts";
import { countEvents, openAlarms } from "../orders/stage.ts";
import {
  commands,
  executed,
  own,
  portfolioEntry,
  renewalOf,
  type Stage,
  type StageOptions,
  setWillRenew,
  startStage,
  untilRenewalIs,
  yearsLater,
} from "./stage.ts";

const circuit = { ...circuitSettingsDefault, faultsMax: 1_000 };
const undated: Partial<Settings> = { createShowsExDate: false, infoShowsExDate: false };

function startUndated(scope: Parameters<typeof startStage>[0], { registry, sandbox }: StageOptions = {}) {
  return startStage(scope, {
    registry: { expiry: "ours", circuit, ...registry },
    sandbox: { ...undated, ...sandbox },
  });
}

/** The name is in its second term, here and at the registry, by as many executed renews. */
async function assertRenewed({ gateway, reseller }: Stage, name: string, before: string): Promise<void> {
  await untilRenewalIs(gateway, name, "Renewed");
  const wanted = yearsLater(before, 1);
  assert.equal((await portfolioEntry(gateway, reseller, name)).expiration_date, wanted, name);
  assert.equal(gateway.registry.store.domains.find(name)?.exDate, wanted, name);
  assert.equal(executed(gateway, name, "domain:renew"), 1, name);
  const dates = "SELECT registry_ex_date = expiration_date AS are_equal FROM domains WHERE domain_name = $1";
  assert.deepEqual(await runSql(gateway.databaseUrl, dates, [name]), [{ are_equal: true }]);
}

describe("at a registry that shows no dates", async () => {
  const stage = await startUndated({ after });
  const { gateway, reseller } = stage;
  const names = { plain: "plain.example", done: "renew-drop-after-1.example", lost: "renew-drop-before-1.example" };
  const pending = "renew-code-2400-1.example";
  const before = new Map<string, string>();

  test("a name is registered until its crDate plus the period, whether or not the create's answer arrives (rows 3, 14)", async () => {
    for (const name of ["prompt.example", "drop-after-1.example", "once-2400-1.example"]) {
      const order = await place(gateway, reseller, name);
      await assertEnds(gateway, reseller, order, "Finished");
      assert.equal(await countEvents(gateway, order, "answered"), 0, name);
    }
    assert.equal(creates(gateway, "drop-after-1.example").length, 1);
  });

  test("a renew that is answered with success is done, and the next term is renewed too (row 3)", async () => {
    const all = [...Object.values(names), pending];
    await own(stage, ...all);
    for (const name of all) before.set(name, (await portfolioEntry(gateway, reseller, name)).expiration_date);
    await stage.travelTo(names.plain, 29);
    await assertRenewed(stage, names.plain, before.get(names.plain)!);
    assert.equal(commands(gateway, names.plain, "domain:renew").length, 1);
  });

  test("a renew whose answer was lost is never sent again, and calls an operator (row 14)", async () => {
    for (const name of [names.done, names.lost, pending]) {
      await untilAlarm(name);
    }
    await stage.travel(3);
    for (const name of [names.done, names.lost, pending]) {
      await operated(gateway, "renewals", "run", name);
      await untilAlarm(name, 2);
      assert.equal(commands(gateway, name, "domain:renew").length, 1, name);
      assert.equal((await renewalOf(gateway, name))?.status, "Attention");
      assert.equal(await setWillRenew(stage, name, false), 409);
    }
  });

  test("the operator says whether it was executed, and only then the next one is sent (row 16)", async () => {
    const settle = ["renewals", "settle"];
    await assertRefused(gateway, [...settle, names.done, "--note", "x"], 2, /give either --renewed or --not-renewed/);
    await assertRefused(gateway, [...settle, names.plain, "--renewed", "--note", "x"], 3, /only a renew whose result/);
    await assertRefused(gateway, [...settle, "nobodys.example", "--renewed", "--note", "x"], 4, /no portfolio has/);
    await operated(gateway, ...settle, names.done, "--renewed", "--note", "on the invoice");
    await assertRenewed(stage, names.done, before.get(names.done)!);
    await operated(gateway, ...settle, names.lost, "--not-renewed", "--note", "by telephone");
    await assertRenewed(stage, names.lost, before.get(names.lost)!);
    assert.equal(commands(gateway, names.lost, "domain:renew").length, 2);
    const alarms = await openAlarms(gateway);
    assert.deepEqual(
      alarms.map(({ subject }) => subject),
      [pending],
    );
  });

  async function untilAlarm(name: string, countMin = 1): Promise<void> {
    const raised = "SELECT FROM alarms WHERE kind = 'renewal' AND subject = $1 AND count >= $2 AND resolved_at IS NULL";
    await until(`${name} has its alarm`, async () => {
      const rows = await runSql(gateway.databaseUrl, raised, [name, countMin]);
      return rows.length > 0 && (await renewalOf(gateway, name))?.status === "Attention";
    });
  }
});

test("a renew that the registry leaves pending calls an operator once it is decided (row 15)", async (t) => {
  const registry = { renewalResultCodes: { 2308: "pending" } };
  const stage = await startUndated(t, { registry });
  const name = "renew-code-2308-1.example";
  await own(stage, name);
  await stage.travelTo(name, 29);
  await untilRenewalIs(stage.gateway, name, "Attention");
  assert.match((await renewalOf(stage.gateway, name))?.reason ?? "", /ask it, then settle/);
  assert.equal(commands(stage.gateway, name, "domain:renew").length, 1);
});

test("a name that is switched off is deleted when the registry has renewed it, and one that came late counts as renewed by it", async (t) => {
  const stage = await startUndated(t, { registry: { renewalLeadDays: 0 } });
  const { gateway, reseller } = stage;
  const [off, late] = ["off.example", "late.example"];
  await own(stage, off, late);
  const { expiration_date: before } = await portfolioEntry(gateway, reseller, late);
  assert.equal(await setWillRenew(stage, off, false), 204);
  await gateway.stopWorker();
  await stage.travelTo(late, -2);
  await gateway.startWorker();
  await untilRenewalIs(gateway, off, "Ended");
  assert.equal(executed(gateway, off, "domain:delete"), 1);
  await untilRenewalIs(gateway, late, "Renewed");
  assert.deepEqual(commands(gateway, late, "domain:renew"), []);
  assert.equal((await portfolioEntry(gateway, reseller, late)).expiration_date, yearsLater(before, 1));
});

test("a renewal by hand is done by its answer, and one whose answer was lost calls an operator", async (t) => {
  const stage = await startUndated(t);
  const { gateway, reseller } = stage;
  const [plain, lost] = ["plain.example", "renew-drop-after-1.example"];
  await own(stage, plain, lost);
  const renew = async (name: string) => {
    const { expiration_date } = await portfolioEntry(gateway, reseller, name);
    const body = { years: 2, expiration_date };
    const { headers } = await gateway.send(reseller, "POST", `/domains/${name}/renewals`, { body });
    return { location: headers.location ?? "", wanted: yearsLater(expiration_date, 2) };
  };
  const done = await renew(plain);
  assert.equal((await gateway.settled(reseller, done.location)).status, "Finished");
  const unclear = await renew(lost);
  await until("an operator is called", async () => (await openAlarms(gateway)).some(({ kind }) => kind === "order"));
  assert.equal(commands(gateway, lost, "domain:renew").length, 1);
  const code = unclear.location.split("/").at(-1)!;
  await operated(gateway, "orders", "settle", code, "--as", "done", "--note", "on the invoice");
  for (const [name, { wanted }] of [
    [plain, done],
    [lost, unclear],
  ] as const) {
    assert.equal((await portfolioEntry(gateway, reseller, name)).expiration_date, wanted, name);
    assert.equal(gateway.registry.store.domains.find(name)?.exDate, wanted, name);
    const dates = "SELECT registry_ex_date = expiration_date AS are_equal FROM domains WHERE domain_name = $1";
    assert.deepEqual(await runSql(gateway.databaseUrl, dates, [name]), [{ are_equal: true }]);
  }
});
