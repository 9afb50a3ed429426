/** Announced maintenance of a registry, and pauses by an operator. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pauseCreates, resumeCreatesPausedFor, setMaintenance } from "#domains/registry/pause.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { holdAt } from "./hold.ts";
import { assertEnds, creates, place, statusOf, until } from "./judge.ts";
import { assertRefused, operated } from "./operate.ts";
import { countEvents, openAlarms } from "./stage.ts";

const hourMs = 3_600_000;
const nextSteps = "SELECT next_step_at, backoff_count FROM orders WHERE order_code = $1";

test("during a registry's maintenance nothing is ordered, and accepted orders wait without failing", async (t) => {
  const clock = createSteeredClock();
  const gateway = await startTestGateway(t, { clock });
  const { context, databaseUrl, registry } = gateway;
  const reseller = await gateway.addReseller();
  const started = { table: "orders", on: "UPDATE", when: "NEW.phase = 'send'" } as const;
  const hold = await holdAt(t, databaseUrl, started);
  const order = await place(gateway, reseller, "accepted.example");
  await hold.reached();
  const until2 = new Date(clock.now().getTime() + 2 * hourMs);
  assert.equal(await setMaintenance(context, "sandbox", { from: clock.now(), until: until2 }), undefined);
  registry.pause();
  await hold.release();
  await until("it waits for the end", async () => {
    const [row] = await runSql<{ next_step_at: Date | null }>(databaseUrl, nextSteps, [order.code]);
    return row?.next_step_at?.getTime() === until2.getTime();
  });
  const body = { domain_name: "refused.example" };
  const refused = await gateway.send(reseller, "POST", "/domains/registrations", { body });
  assert.equal(refused.status, 503);
  const retryAfterSeconds = Number(refused.headers["retry-after"]);
  assert.ok(retryAfterSeconds > 7_000 && retryAfterSeconds <= 7_200, `retry-after is ${retryAfterSeconds}`);
  const [{ backoff_count } = { backoff_count: undefined }] = await runSql(databaseUrl, nextSteps, [order.code]);
  assert.equal(backoff_count, 0);

  registry.resume();
  await operated(gateway, "registry", "maintenance", "sandbox", "--end");
  await assertEnds(gateway, reseller, order, "Finished");
  assert.equal(creates(gateway, order.name).length, 1);
  await assertRefused(gateway, ["registry", "maintenance", "sandbox", "--end"], 4, /no maintenance of sandbox/);
});

test("a maintenance is over when its time is over", async (t) => {
  const clock = createSteeredClock();
  const gateway = await startTestGateway(t, { clock });
  const reseller = await gateway.addReseller();
  const hours = (count: number) => new Date(clock.now().getTime() + count * hourMs);
  assert.equal(await setMaintenance(gateway.context, "sandbox", { from: hours(1), until: hours(2) }), undefined);
  await assertEnds(gateway, reseller, await place(gateway, reseller, "before.example"), "Finished");
  clock.skip(1.5);
  const send = () => gateway.send(reseller, "POST", "/domains/registrations", { body: { domain_name: "in.example" } });
  assert.equal((await send()).status, 503);
  clock.skip(1);
  await assertEnds(gateway, reseller, await place(gateway, reseller, "in.example"), "Finished");
});

test("says what is wrong with a maintenance or a pause", async (t) => {
  const gateway = await startTestGateway(t);
  const maintenance = (...options: string[]) => ["registry", "maintenance", "sandbox", ...options];
  const [past, soon, later] = ["2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "2999-01-01T02:00:00Z"] as const;
  await Promise.all([
    assertRefused(gateway, maintenance(), 2, /give either --from and --to, or --end/),
    assertRefused(gateway, maintenance("--end", "--to", later), 2, /give either/),
    assertRefused(gateway, maintenance("--to", later), 2, /needs --from and --to/),
    assertRefused(gateway, maintenance("--from", later, "--to", soon), 2, /--to must be later/),
    assertRefused(gateway, maintenance("--from", past, "--to", past.replace("01T", "02T")), 2, /--to is already over/),
    assertRefused(gateway, ["registry", "show", "nowhere"], 4, /no registry nowhere is known/),
    assertRefused(gateway, ["registry", "pause", "nowhere", "--reason", "x"], 4, /no registry nowhere is known/),
    assertRefused(gateway, ["registry", "pause", "sandbox"], 2, /required option '--reason <text>'/),
  ]);
  const planned = await operated(gateway, ...maintenance("--from", soon, "--to", later));
  assert.equal(planned.maintenance, "2999-01-01T00:00:00.000Z to 2999-01-01T02:00:00.000Z");
});

test("an operator's pause holds accepted orders back until it ends, and raises no alarm", async (t) => {
  const gateway = await startTestGateway(t, { registry: { backoffFirstMs: hourMs, backoffMaxMs: hourMs } });
  const reseller = await gateway.addReseller();
  const begun = { table: "attempts", on: "INSERT", when: "NEW.command = 'contact:create'" } as const;
  const hold = await holdAt(t, gateway.databaseUrl, begun);
  const order = await place(gateway, reseller, "paused.example");
  await hold.reached();
  await operated(gateway, "registry", "pause", "sandbox", "--reason", "prices change");
  await hold.release();
  await until(
    "it waits",
    async () => (await countEvents(gateway, order, "look-lost", "creates at sandbox are paused")) > 0,
  );
  assert.deepEqual(creates(gateway, order.name), []);
  const shown = await operated<Record<string, unknown>>(gateway, "registry", "show", "sandbox");
  assert.deepEqual([shown.owner, shown.paused, shown.live_orders], ["alive", "operator: prices change", 1]);
  assert.deepEqual(await openAlarms(gateway), []);
  assert.equal(await statusOf(gateway, reseller, order), "Processing");
  // A pause for lack of credit ends when there is credit.
  await pauseCreates(gateway.context, "sandbox", "credit", "none left");
  assert.equal(await resumeCreatesPausedFor(gateway.context, "sandbox", "credit"), false);
  await operated(gateway, "registry", "resume", "sandbox");
  await assertEnds(gateway, reseller, order, "Finished");
});
