/** DNS Belgium's registry, as far as the sandbox plays it (its setting `family`). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertError } from "../harness/assert-reply.ts";
import { creates } from "../orders/judge.ts";
import { change, received, startStage } from "./stage.ts";

const name = "family.example";
const options = {
  sandbox: { family: "dnsbe" },
  registry: { flavour: "dnsbe", registrarContacts: { billing: "c101" }, renewalIntervalMs: 50 },
} as const;

test("a name is registered with the account's billing contact, and leaves the portfolio for good when it is deleted", async (t) => {
  const stage = await startStage(t, [name], options);
  const { gateway, reseller } = stage;
  const { contacts } = gateway.registry.store.domains.find(name)!;
  assert.deepEqual(contacts.map(({ type }) => type).sort(), ["billing", "tech"]);
  assert.match(creates(gateway, name)[0]?.xml ?? "", /<domain:contact type="billing">c101</);
  const code = await gateway.send(reseller, "POST", `/domains/${name}/auth-code`);
  assertError(code, "auth_code_not_issued");
  await gateway.registry.advance(10 * 86_400_000);
  const deleted = await change(stage, "DELETE", `/domains/${name}?confirm=${name}`);
  assert.equal(deleted.status, "Finished");
  assert.equal(received(stage, name, "domain:delete").length, 1);
  assertError(await gateway.send(reseller, "POST", `/domains/${name}/restores`), "domain_not_restorable");
});
