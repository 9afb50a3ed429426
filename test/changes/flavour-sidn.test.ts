/** SIDN's registry, as far as the sandbox plays it (its setting `family`). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertError } from "../harness/assert-reply.ts";
import { creates } from "../orders/judge.ts";
import { change, received, startStage } from "./stage.ts";

const name = "family.example";
const options = {
  sandbox: { family: "sidn" },
  registry: { flavour: "sidn", renewalIntervalMs: 50 },
} as const;

test("a name is registered without a period, its code is fetched on request, and its restore is refused without a command", async (t) => {
  const stage = await startStage(t, [name], options);
  const { gateway, reseller } = stage;
  assert.doesNotMatch(creates(gateway, name)[0]?.xml ?? "", /domain:period/);
  const code = `/domains/${name}/auth-code`;
  assert.equal((await change(stage, "POST", code)).status, "Finished");
  const shown = (await gateway.send(reseller, "GET", code)).body as { auth_code: string };
  assert.equal(shown.auth_code, gateway.registry.store.domains.find(name)?.authInfo);
  for (const { id } of gateway.registry.store.contacts.values()) assert.match(id, /^[A-Z]{3}[0-9]{6}-[A-Z0-9]{5}$/);
  await gateway.registry.advance(10 * 86_400_000);
  const deleted = await change(stage, "DELETE", `/domains/${name}?confirm=${name}`);
  assert.equal(deleted.status, "Finished");
  const refused = await gateway.send(reseller, "POST", `/domains/${name}/restores`);
  assertError(refused, "domain_not_restorable");
  assert.match(JSON.stringify(refused.body), /The registry of this name restores no deleted names/);
  assert.equal(received(stage, name, "domain:restore").length, 0);
});
