/** A registry of EURid's family, as far as the sandbox plays one (its setting `family`). */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { transferFrame } from "../../sandbox/registry/test/frames.ts";
import { RawClient } from "../../sandbox/registry/test/raw-client.ts";
import { assertError } from "../harness/assert-reply.ts";
import type { GatewayOptions } from "../harness/gateway.ts";
import { dumpDatabase } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { assertEnds, creates, place, until } from "../orders/judge.ts";
import { change, received, type Stage, startStage } from "./stage.ts";

const name = "family.example";
const target = `/domains/${name}/auth-code`;
const family = {
  sandbox: { family: "eurid" },
  registry: { flavour: "eurid", renewalIntervalMs: 50 },
} as const satisfies GatewayOptions;

const startFamily = (t: TestContext, options: GatewayOptions = {}) => startStage(t, [name], { ...family, ...options });
const issuedCode = ({ gateway }: Stage) => gateway.registry.store.domains.find(name)?.authInfo;

test("a name is registered with contacts of the types that its roles need", async (t) => {
  const { gateway, reseller } = await startFamily(t);
  const types = gateway.registry.store.contacts.values().map(({ type }) => type);
  assert.deepEqual([...types].sort(), ["billing", "registrant", "tech"]);
  const order = await place(gateway, reseller, "second.example");
  await assertEnds(gateway, reseller, order, "Finished");
  assert.equal([...gateway.registry.store.contacts.values()].length, 3);
  assert.match(creates(gateway, name)[0]?.xml ?? "", /<domain:authInfo><domain:pw\/><\/domain:authInfo>/);
});

test("the registry issues the code that its holder has ordered, and another registrar can use it", async (t) => {
  const stage = await startFamily(t);
  const { gateway, reseller } = stage;
  assertError(await gateway.send(reseller, "GET", target), "auth_code_not_found");
  const before = issuedCode(stage);
  await change(stage, "POST", target);
  const { body } = await gateway.send(reseller, "GET", target);
  const { auth_code: code } = body as { auth_code: string };
  assert.equal(code, issuedCode(stage));
  assert.notEqual(code, before);
  assert.equal(received(stage, name, "domain:update").length, 0);
  // Sealed, like one of ours.
  assert.ok(!(await dumpDatabase(gateway.databaseUrl)).includes(code));
  const gainer = await RawClient.login(gateway.registry, "rival", "rival-pw-1");
  t.after(() => gainer.close());
  assert.equal((await gainer.ask(transferFrame("request", name, code))).code, 1001);
});

test("a code that has expired here is withdrawn at the registry", async (t) => {
  const clock = createSteeredClock();
  const stage = await startFamily(t, { clock });
  await change(stage, "POST", target);
  const code = issuedCode(stage);
  clock.skip(337);
  await until("the registry has withdrawn the code", () => issuedCode(stage) !== code);
  assertError(await stage.gateway.send(stage.reseller, "GET", target), "auth_code_not_found");
});

test("a deleted name, which the registry shows in quarantine only, leaves the portfolio for good", async (t) => {
  const stage = await startFamily(t);
  const { gateway, reseller } = stage;
  await gateway.registry.advance(10 * 86_400_000);
  const deleted = await change(stage, "DELETE", `/domains/${name}?confirm=${name}`);
  assert.equal(deleted.status, "Finished");
  assert.equal(deleted.next, undefined);
  assertError(await gateway.send(reseller, "GET", `/domains/${name}`), "domain_not_found");
  assert.equal(received(stage, name, "domain:delete").length, 1);
});
