import assert from "node:assert/strict";
import { test } from "node:test";
import { runSql } from "../harness/sql.ts";
import { place } from "../orders/judge.ts";
import { operated } from "../orders/operate.ts";
import { assertRenewedOnce, own, type Stage, startStage } from "../renewals/stage.ts";
import { change, domain } from "./stage.ts";

const name = "first.example";
const dayMs = 24 * 60 * 60_000;
const hourMs = 60 * 60_000;
const untilMidnightMs = ({ clock }: Stage) => dayMs - (clock.now().getTime() % dayMs);

const limit = ({ gateway, reseller }: Stage, max: number) =>
  operated(gateway, "account", "limit", reseller.name, "--orders-per-day", String(max));

/** Early on a day, so that no other begins during the test. */
async function startLimited(scope: Parameters<typeof startStage>[0], max: number): Promise<Stage> {
  const stage = await startStage(scope);
  await stage.travel((untilMidnightMs(stage) + hourMs) / dayMs);
  await limit(stage, max);
  return stage;
}

test("an account places as many paid orders a day as it may, and as many again on the next", async (t) => {
  const stage = await startLimited(t, 2);
  const { gateway, reseller } = stage;
  await own(stage, name);
  const { expiration_date } = await domain(stage, name);
  const renewal = { years: 1, expiration_date };
  assert.equal((await change(stage, "POST", `/domains/${name}/renewals`, renewal)).status, "Finished");
  const register = () =>
    gateway.send(reseller, "POST", "/domains/registrations", { body: { domain_name: "second.example" } });
  const renew = async () =>
    gateway.send(reseller, "POST", `/domains/${name}/renewals`, {
      body: { years: 1, expiration_date: (await domain(stage, name)).expiration_date },
    });
  for (const send of [register, renew]) {
    const longestMs = untilMidnightMs(stage);
    const reply = await send();
    assert.equal(reply.status, 429, reply.text);
    assert.match(reply.text, /order_limit_reached.*paid orders/);
    const waitMs = Number(reply.headers["retry-after"]) * 1000;
    assert.ok(waitMs >= untilMidnightMs(stage) && waitMs < longestMs + 1000, "until the day is over");
  }
  const other = await gateway.addReseller();
  await place(gateway, other, "others.example");
  // Nothing that costs nothing is counted.
  const lock = { transfer_locked: true };
  assert.equal((await change(stage, "PUT", `/domains/${name}/transfer-lock`, lock)).status, "Finished");
  await stage.travel(1);
  assert.equal((await renew()).status, 202);
  const creates = gateway.registry.hold({ command: "domain:create", at: "before-execution" });
  const placed = await register();
  assert.equal(placed.status, 202);
  const repeated = await register();
  assert.equal(repeated.headers.location, placed.headers.location, "a repeat of a live order costs nothing");
  creates.release();
});

test("an order that was refused is not counted, and a limit of none refuses every order", async (t) => {
  const stage = await startLimited(t, 1);
  const { gateway, reseller } = stage;
  const taken = { body: { domain_name: "taken-a.example" } };
  assert.match((await gateway.send(reseller, "POST", "/domains/registrations", taken)).text, /availability_taken/);
  await own(stage, name);
  await limit(stage, 0);
  await stage.travel(1);
  const body = { domain_name: "second.example" };
  assert.equal((await gateway.send(reseller, "POST", "/domains/registrations", { body })).status, 429);
});

test("what the schedule renews is not counted, and needs no limit", async (t) => {
  const stage = await startLimited(t, 1);
  const { gateway, reseller } = stage;
  await own(stage, name);
  await limit(stage, 0);
  const { expiration_date: before } = await domain(stage, name);
  await stage.travelTo(name, 29);
  await assertRenewedOnce(stage, name, String(before));
  const { body } = await gateway.send(reseller, "GET", `/orders?domain_name=${name}&kind=renew`);
  assert.deepEqual(
    (body as { status: string }[]).map(({ status }) => status),
    ["Finished"],
  );
  const placed = "SELECT coalesce(sum(placed), 0)::int AS placed FROM paid_orders WHERE day = $1";
  const today = stage.clock.now().toISOString().slice(0, 10);
  assert.deepEqual(await runSql(gateway.databaseUrl, placed, [today]), [{ placed: 0 }]);
});
