/** Each reason for which a request is refused before its work begins is counted as what it is. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { unixSeconds } from "#lib/clock.ts";
import { onMeasured } from "#lib/measure/measure.ts";
import { Secret } from "#lib/secret.ts";
import { startTestGateway } from "../harness/gateway.ts";

test("each refused request is counted by its reason", async (t) => {
  const gateway = await startTestGateway(t, { worker: false, server: { sourceFailuresMax: 6 } });
  const reasons: string[] = [];
  t.after(
    onMeasured(({ name, labels }) => {
      if (name === "http_refusals_total") reasons.push(labels.reason!);
    }),
  );
  const reseller = await gateway.addReseller();
  const get = (caller: typeof reseller, options = {}) => gateway.send(caller, "GET", "/domains", options);
  const busy = await gateway.addReseller({ rateLimit: 1 });
  await get(busy);
  const stranger = await gateway.addReseller();
  const nonce = randomBytes(16).toString("hex");
  await get(reseller, { nonce });
  assert.deepEqual(reasons, []);
  const hourAgo = unixSeconds(gateway.context.clock) - 3_600;
  const forged = { ...reseller, key: { ...reseller.key, secret: new Secret("another") } };
  const steps: [reason: string, ask: () => Promise<{ status: number }>][] = [
    ["signature", () => get(reseller, { authorization: null })],
    ["signature", () => get(forged)],
    ["nonce", () => get(reseller, { nonce })],
    ["timestamp", () => get(reseller, { timestamp: hourAgo })],
    ["address", async () => get(await gateway.addKey(reseller, { allowedAddresses: ["192.0.2.1"] }))],
    ["scope", async () => get(await gateway.addKey(reseller, { scopes: ["hosting:read"] }))],
    ["rate_limit", () => get(busy)],
    ["signature", () => get(forged)],
    // A key that was good from here has some failures of its own.
    ["source_budget", () => get(stranger)],
  ];
  for (const [reason, ask] of steps) {
    const before: number = reasons.length;
    const { status } = await ask();
    assert.deepEqual([status >= 400, reasons.slice(before)], [true, [reason]]);
  }
});
