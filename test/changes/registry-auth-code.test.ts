/** Names whose auth code is the registry's. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { transferFrame } from "../../sandbox/registry/test/frames.ts";
import { RawClient } from "../../sandbox/registry/test/raw-client.ts";
import { assertError } from "../harness/assert-reply.ts";
import { dumpDatabase, runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { until } from "../orders/judge.ts";
import { change, received, type Stage, startStage } from "./stage.ts";

const name = "coded.example";
const target = `/domains/${name}/auth-code`;
const codeAt = ({ gateway }: Stage) => gateway.registry.store.domains.find(name)?.authInfo ?? "";

test("a code that the registry has drawn and shows is the one that its holder gets, and another registrar can use", async (t) => {
  const clock = createSteeredClock();
  const stage = await startStage(t, [name], {
    clock,
    sandbox: { authInfo: "registry-shown" },
    registry: { authInfo: "shown", renewalIntervalMs: 50 },
  });
  const { gateway, reseller } = stage;
  assertError(await gateway.send(reseller, "GET", target), "auth_code_not_found");
  assert.equal((await change(stage, "POST", target)).status, "Finished");
  const { auth_code: code } = (await gateway.send(reseller, "GET", target)).body as { auth_code: string };
  assert.match(code, /^registry-\d+$/);
  assert.equal(code, codeAt(stage));
  assert.ok(!(await dumpDatabase(gateway.databaseUrl)).includes(code));
  const gainer = await RawClient.login(gateway.registry, "rival", "rival-pw-1");
  t.after(() => gainer.close());
  assert.equal((await gainer.ask(transferFrame("request", name, code))).code, 1001);
  clock.skip(337);
  const left = "SELECT FROM auth_codes";
  await until("it is forgotten here", async () => (await runSql(gateway.databaseUrl, left)).length === 0);
  assertError(await gateway.send(reseller, "GET", target), "auth_code_not_found");
  assert.equal(codeAt(stage), code);
  assert.equal(received(stage, name, "domain:update").length, 0);
});

test("a registry that shows no code leaves the order open, and nothing is invented", async (t) => {
  const stage = await startStage(t, [name], { sandbox: { authInfo: "registry" }, registry: { authInfo: "shown" } });
  const { gateway, reseller } = stage;
  const { headers } = await gateway.send(reseller, "POST", target);
  const why = "SELECT note FROM order_history WHERE note LIKE '%shows no auth code%'";
  await until("it says why", async () => (await runSql(gateway.databaseUrl, why)).length > 0);
  const { body } = await gateway.send(reseller, "GET", headers.location ?? "");
  assert.ok(!("ended_at" in (body as object)));
  assertError(await gateway.send(reseller, "GET", target), "auth_code_not_found");
});

const sent = {
  sandbox: { authInfo: "registry", extensions: ["secDNS", "authCode"] },
  registry: {
    authInfo: "holder",
    extensions: { "auth-code": '<c:request xmlns:c="urn:example:authCode-1.0"/>' },
  },
} as const;

test("a code that the registry sends to the holder is asked for there, and is none of ours to read", async (t) => {
  const stage = await startStage(t, [name], sent);
  const { gateway, reseller } = stage;
  const before = codeAt(stage);
  assert.equal((await change(stage, "POST", target)).status, "Finished");
  assert.notEqual(codeAt(stage), before);
  assert.match(
    received(stage, name, "domain:update")[0]?.xml ?? "",
    /<domain:update[^>]*><domain:name>coded\.example<\/domain:name><\/domain:update>/,
  );
  const reply = await gateway.send(reseller, "GET", target);
  assertError(reply, "auth_code_not_found");
  assert.match(reply.text, /sends its codes to the name's holder/);
  assert.deepEqual(await runSql(gateway.databaseUrl, "SELECT FROM auth_codes"), []);
});

test("a request whose answer is lost is sent again, and one that is refused fails", async (t) => {
  const lost = "update-drop-after-coded.example";
  const refused = "update-code-2306-coded.example";
  const stage = await startStage(t, [lost, refused], sent);
  assert.equal((await change(stage, "POST", `/domains/${lost}/auth-code`)).status, "Finished");
  assert.equal(received(stage, lost, "domain:update").length, 2);
  assert.equal((await change(stage, "POST", `/domains/${refused}/auth-code`)).status, "FailedValidation");
});
