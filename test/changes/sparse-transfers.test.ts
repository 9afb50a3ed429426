/** Transfers at a registry that shows neither their dates nor who has to answer (RFC 5731 §3.1.3 requires both). */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { transferFrame } from "../../sandbox/registry/test/frames.ts";
import { RawClient } from "../../sandbox/registry/test/raw-client.ts";
import { until } from "../orders/judge.ts";
import { change, domain, startStage } from "./stage.ts";

const name = "asked-for.example";
const target = `/domains/${name}/transfer-out`;

async function startAsked(t: TestContext) {
  const stage = await startStage(t, [name], {
    sandbox: { transferShows: "status" },
    registry: { pollIntervalMs: 20, renewalIntervalMs: 50 },
  });
  const gainer = await RawClient.login(stage.gateway.registry, "rival", "rival-pw-1");
  t.after(() => gainer.close());
  const ask = async () => {
    const { authInfo } = stage.gateway.registry.store.domains.find(name)!;
    assert.equal((await gainer.ask(transferFrame("request", name, authInfo))).code, 1001);
  };
  const shown = async () => (await domain(stage, name)).transfer as Record<string, unknown> | undefined;
  await ask();
  await until("the request is shown", async () => (await shown()) !== undefined);
  return { stage, gainer, ask, shown };
}

test("a request is shown with the time of its message, and without the time of a decision that nobody names", async (t) => {
  const { stage, gainer, shown } = await startAsked(t);
  const { requested_at: requestedAt, ...rest } = (await shown())!;
  assert.deepEqual(rest, { status: "pending", gaining_registrar: "rival" });
  const { reDate = "" } = stage.gateway.registry.store.domains.find(name)?.transfer ?? {};
  assert.ok(String(requestedAt) >= reDate, `${requestedAt} is when the registry told us`);
  const { text } = await stage.gateway.send(stage.reseller, "GET", "/events");
  assert.match(text, /"domain\.transfer_requested"/);
  assert.equal((await gainer.ask(transferFrame("cancel", name))).code, 1000);
  await until("its end is shown", async () => (await shown()) === undefined);
});

test("a name stays here when its holder rejects the request, and leaves when its holder approves it", async (t) => {
  const { stage, ask, shown } = await startAsked(t);
  const { gateway, reseller } = stage;
  assert.equal((await change(stage, "POST", target, { answer: "reject", reason: "unpaid" })).status, "Finished");
  assert.equal(await shown(), undefined);
  await ask();
  await until("the next request is shown", async () => (await shown()) !== undefined);
  assert.equal((await change(stage, "POST", target, { answer: "approve" })).status, "Finished");
  const [left] = (await gateway.send(reseller, "GET", "/domains/departures")).body as Record<string, unknown>[];
  assert.deepEqual([left?.domain_name, left?.reason, left?.gaining_registrar], [name, "transferred", "rival"]);
});
