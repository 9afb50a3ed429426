/** An operator who knows that a registry is back has it probed at once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { circuitSettingsDefault } from "#registry/epp/pool/circuit.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { delayOrders } from "./hold.ts";
import { assertEnds, place, until } from "./judge.ts";
import { assertRefused, operated } from "./operate.ts";

const longMs = 3_600_000;

test("an operator probes a registry that was away, sees the result, and its orders continue", async (t) => {
  const circuit = { ...circuitSettingsDefault, probeDelayMsMin: longMs, probeDelayMsMax: longMs };
  const patient = { circuit, backoffFirstMs: longMs, backoffMaxMs: longMs };
  const gateway = await startTestGateway(t, { registry: patient });
  const { databaseUrl, registry } = gateway;
  const reseller = await gateway.addReseller();
  await delayOrders(databaseUrl, 700);
  const order = await place(gateway, reseller, "waits.example");
  registry.pause();
  const open = "SELECT FROM registries WHERE circuit_open_until IS NOT NULL";
  await until("the circuit is open", async () => (await runSql(databaseUrl, open)).length > 0);
  const waiting = "SELECT FROM orders WHERE backoff_count > 0";
  await until("the order waits for an hour", async () => (await runSql(databaseUrl, waiting)).length > 0);

  const probe = ["registry", "probe", "sandbox"];
  await assertRefused(
    gateway,
    ["orders", "retry", order.code],
    3,
    /sandbox is away.*: deedhouse registry probe sandbox/,
  );
  await assertRefused(gateway, probe, 8, /sandbox is still away: no session with the registry: connect: ./);
  registry.resume();
  assert.deepEqual(await operated(gateway, ...probe), { registry: "sandbox", circuit: "closed" });
  await assertEnds(gateway, reseller, order, "Finished");

  assert.deepEqual(await operated(gateway, ...probe), { registry: "sandbox", circuit: "closed" }, "nothing to do");
  await assertRefused(gateway, ["registry", "probe", "nowhere"], 4, /no registry nowhere is known/);
  await gateway.stopWorker();
  await assertRefused(gateway, probe, 8, /no worker is running that could log in at sandbox/);
});
