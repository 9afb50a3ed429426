import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { transferFrame } from "../../sandbox/registry/test/frames.ts";
import { RawClient } from "../../sandbox/registry/test/raw-client.ts";
import { assertError } from "../harness/assert-reply.ts";
import type { GatewayOptions } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { change, domain, order, type Stage, startStage } from "./stage.ts";

const name = "asked-for.example";
const target = `/domains/${name}/transfer-out`;
const reject = { answer: "reject", reason: "unpaid" };
const approve = { answer: "approve" };

/** A stage, and the registrar that requests its name. */
async function startAsked(t: TestContext, options: GatewayOptions = {}) {
  const stage = await startStage(t, [name], options);
  const gainer = await RawClient.login(stage.gateway.registry, "rival", "rival-pw-1");
  t.after(() => gainer.close());
  const request = async () => {
    const { authInfo } = held(stage)!;
    assert.equal((await gainer.ask(transferFrame("request", name, authInfo))).code, 1001);
  };
  await request();
  return { stage, gainer, request };
}

/** Orders an answer, and holds its command before the registry executes it; queries of the transfer pass. */
async function holdAnswer(stage: Stage, body: object) {
  const { registry } = stage.gateway;
  const next = { command: "domain:transfer", name, at: "before-execution", times: 1 } as const;
  const query = registry.hold(next);
  const placed = await order(stage, "POST", target, body);
  await query.reached(1);
  const hold = registry.hold(next);
  query.release();
  await hold.reached(1);
  return { placed, hold };
}

/** How many answers were sent. */
async function answersSent({ gateway }: Stage): Promise<number> {
  const sent = "SELECT FROM attempts WHERE command IN ('domain:transfer-approve', 'domain:transfer-reject')";
  return (await runSql(gateway.databaseUrl, sent)).length;
}

const held = ({ gateway }: Stage) => gateway.registry.store.domains.find(name);
const transferStatus = (stage: Stage) => held(stage)?.transfer?.status;

test("a transfer that its holder approves ends at once, and the name belongs to the other registrar", async (t) => {
  const { stage } = await startAsked(t);
  const answered = await change(stage, "POST", target, approve);
  assert.equal(answered.kind, "transfer-answer");
  assert.equal(answered.status, "Finished");
  assert.equal(transferStatus(stage), "clientApproved");
  assert.equal(held(stage)?.clID, "rival");
  const { gateway, reseller } = stage;
  assertError(await gateway.send(reseller, "GET", `/domains/${name}`), "domain_not_found");
  const [departure] = (await gateway.send(reseller, "GET", "/domains/departures")).body as Record<string, unknown>[];
  assert.deepEqual(
    [departure?.domain_name, departure?.reason, departure?.gaining_registrar],
    [name, "transferred", "rival"],
  );
});

test("an approval that arrives between two looks ends the order only when the name has left the portfolio", async (t) => {
  const { stage } = await startAsked(t);
  const { gateway, reseller } = stage;
  const { registry } = gateway;
  const command = "domain:transfer-approve";
  registry.setFaults({ commands: [{ command, name, as: "pending", decision: "never" }] });
  const { placed, hold } = await holdAnswer(stage, approve);
  const query = registry.hold({ command: "domain:transfer-query", name, at: "before-execution", times: 1 });
  hold.release();
  await query.reached(1);
  await registry.decide(name, "lose");
  assert.equal(held(stage)?.clID, "rival");
  query.release();
  assert.equal((await gateway.settled(reseller, placed)).status, "Finished");
  assertError(await gateway.send(reseller, "GET", `/domains/${name}`), "domain_not_found");
});

test("a transfer that its holder rejects ends, and the name stays", async (t) => {
  const { stage } = await startAsked(t);
  await until("the request is shown", async () => (await domain(stage, name)).transfer !== undefined);
  assert.equal((await change(stage, "POST", target, reject)).status, "Finished");
  assert.equal(transferStatus(stage), "clientRejected");
  const { transfer, statuses } = await domain(stage, name);
  assert.deepEqual([transfer, statuses], [undefined, ["inactive"]], "the name shows no request any more");
  assert.equal(held(stage)?.clID, "deedhouse");
  const again = await change(stage, "POST", target, approve);
  assert.equal(again.status, "Errors", "it is over");
  assert.match(String(again.error_text), /clientRejected/);
  assert.equal(await answersSent(stage), 1);
});

test("while nobody requests the name there is nothing to answer, and nothing is sent", async (t) => {
  const stage = await startStage(t, [name]);
  const answered = await change(stage, "POST", target, approve);
  assert.equal(answered.status, "Errors");
  assert.match(String(answered.error_text), /no transfer/);
  assert.equal(await answersSent(stage), 0);
});

test("an answer is sent again only when a query shows that the first one was not carried out", async (t) => {
  for (const execute of [true, false]) {
    const { stage } = await startAsked(t);
    const { gateway, reseller } = stage;
    const { placed, hold } = await holdAnswer(stage, reject);
    await hold.abandoned(1);
    hold.release({ execute });
    assert.equal((await gateway.settled(reseller, placed)).status, "Finished");
    assert.equal(transferStatus(stage), "clientRejected");
    assert.equal(await answersSent(stage), execute ? 1 : 2);
  }
});

test("an answer to one transfer is never given to a later one", async (t) => {
  const { stage, gainer, request } = await startAsked(t);
  const { gateway, reseller } = stage;
  const { placed, hold } = await holdAnswer(stage, approve);
  await hold.abandoned(1);
  hold.release({ execute: false });
  assert.equal((await gainer.ask(transferFrame("cancel", name))).code, 1000);
  await request();
  const answered = await gateway.settled(reseller, placed);
  assert.equal(answered.status, "Errors");
  assert.match(String(answered.error_text), /another one is requested/);
  assert.equal(transferStatus(stage), "pending");
});

test("a request that is withdrawn before our answer arrives leaves nothing to reject", async (t) => {
  const { stage, gainer } = await startAsked(t);
  const { gateway, reseller } = stage;
  const { placed, hold } = await holdAnswer(stage, reject);
  assert.equal((await gainer.ask(transferFrame("cancel", name))).code, 1000);
  hold.release();
  const answered = await gateway.settled(reseller, placed);
  assert.equal(answered.status, "Errors");
  assert.match(String(answered.error_text), /clientCancelled/);
});

test("a reject needs a reason that a losing registrar may have, and an approval has none", async (t) => {
  const stage = await startStage(t, [name]);
  const { gateway, reseller } = stage;
  const wrong = [
    [{}, "answer"],
    [{ answer: "maybe" }, "answer"],
    [{ answer: "reject" }, "reason"],
    [{ answer: "reject", reason: null }, "reason"],
    [{ answer: "reject", reason: "because" }, "reason"],
    [{ answer: "reject", reason: 7 }, "reason"],
    [{ answer: "approve", reason: "unpaid" }, "reason"],
  ] as const;
  for (const [body, field] of wrong) {
    const error = assertError(await gateway.send(reseller, "POST", target, { body }), "bad_request");
    assert.deepEqual(
      new Set(error.validation_errors?.map((each) => each.field)),
      new Set([field]),
      JSON.stringify(body),
    );
  }
  const unscoped = await gateway.addKey(reseller, { scopes: ["domains:read", "domains:update"] });
  assertError(await gateway.send(unscoped, "POST", target, { body: reject }), "authorization_scope_missing");
});
