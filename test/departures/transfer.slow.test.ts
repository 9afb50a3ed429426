/** Another registrar asks for a name by its auth code, and takes it or does not. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { transferFrame } from "../../sandbox/registry/test/frames.ts";
import { RawClient } from "../../sandbox/registry/test/raw-client.ts";
import { assertError } from "../harness/assert-reply.ts";
import { runSql } from "../harness/sql.ts";
import { place, registrarId, until } from "../orders/judge.ts";
import { commands, own, renewalOf, type Stage, startStage, untilRenewalIs } from "../renewals/stage.ts";
import {
  departuresOf,
  isInPortfolio,
  loginRival,
  looks,
  moveSilently,
  openAlarms,
  rivalId,
  secondLookDays,
  untilLeft,
} from "./stage.ts";

const approvalDays = 5.01;

interface Asked {
  statuses: string[];
  transfer?: { status: string; requested_at: string; gaining_registrar: string; answer_by: string };
}

const startQuick = (t: TestContext) => startStage(t, { registry: { pollIntervalMs: 20 } });

const read = async ({ gateway, reseller }: Stage, name: string) =>
  (await gateway.send(reseller, "GET", `/domains/${name}`)).body as Asked;

const authInfoOf = ({ gateway }: Stage, name: string) => gateway.registry.store.domains.find(name)?.authInfo ?? "";

/** A name that the rival has asked for, which the portfolio shows. */
async function startAsked(t: TestContext, name: string) {
  const stage = await startQuick(t);
  await own(stage, name);
  const rival = await loginRival(t, stage);
  assert.equal((await rival.ask(transferFrame("request", name, authInfoOf(stage, name)))).code, 1001);
  await until("the request is shown", async () => {
    const { transfer, statuses } = await read(stage, name);
    return transfer !== undefined && statuses.includes("pendingTransfer");
  });
  return { stage, rival };
}

/** A name that the rival got, and when that was asked for. */
async function startLeft(t: TestContext, name: string) {
  const { stage } = await startAsked(t, name);
  const asked = stage.gateway.registry.now();
  await stage.travel(approvalDays);
  await untilLeft(stage, name);
  return { stage, asked };
}

/** Every message for us was read. */
const untilRead = ({ gateway }: Stage) =>
  until("the queue is empty", () =>
    gateway.registry.store.messages.values().every(({ registrar }) => registrar !== registrarId),
  );

/** A message about a transfer from us to the rival. */
async function tell(stage: Stage, name: string, status: string, requestedAt: Date): Promise<void> {
  const at = requestedAt.toISOString();
  const xml = `<domain:trnData xmlns:domain="urn:ietf:params:xml:ns:domain-1.0"><domain:name>${name}</domain:name>
    <domain:trStatus>${status}</domain:trStatus><domain:reID>${rivalId}</domain:reID><domain:reDate>${at}</domain:reDate>
    <domain:acID>${registrarId}</domain:acID><domain:acDate>${at}</domain:acDate></domain:trnData>`;
  await stage.gateway.registry.enqueueMessage({ registrar: registrarId, xml });
  await untilRead(stage);
}

test("a name that another registrar gets by its auth code leaves, is never renewed, and its departure says to whom", async (t) => {
  const name = "moved.example";
  const { stage } = await startAsked(t, name);
  const { gateway, reseller } = stage;
  const { transfer } = gateway.registry.store.domains.find(name)!;
  assert.deepEqual((await read(stage, name)).transfer, {
    status: "pending",
    requested_at: transfer?.reDate,
    gaining_registrar: rivalId,
    answer_by: transfer?.acDate,
  });
  await stage.travel(approvalDays);
  await untilLeft(stage, name);
  const [departure, ...others] = await departuresOf(stage, reseller);
  assert.deepEqual(others, []);
  assert.deepEqual(departure, {
    domain_name: name,
    left_at: departure?.left_at,
    reason: "transferred",
    gaining_registrar: rivalId,
  });
  const history = await runSql(gateway.databaseUrl, "SELECT event FROM domain_history WHERE domain_name = $1", [name]);
  assert.deepEqual(history, [{ event: "ended" }]);
  await stage.travel(365);
  // The sweep of renewals has seen the new date.
  await own(stage, "other.example");
  await stage.travelTo("other.example", 30);
  await untilRenewalIs(gateway, "other.example", "Renewed");
  assert.deepEqual([...commands(gateway, name, "domain:renew"), ...commands(gateway, name, "domain:delete")], []);
  const orders = (await gateway.send(reseller, "GET", `/orders?domain_name=${name}`)).body as { kind: string }[];
  assert.deepEqual(
    orders.map(({ kind }) => kind),
    ["create"],
    "nothing was ordered at the end of its term",
  );
  assert.deepEqual(await openAlarms(stage), []);
});

test("the last owner reads when and why a name left, and everybody else reads what they read of nobody's name", async (t) => {
  const name = "moved.example";
  const { stage } = await startAsked(t, name);
  const { gateway, reseller } = stage;
  const other = await gateway.addReseller();
  await stage.travel(approvalDays);
  await untilLeft(stage, name);
  const [departure] = await departuresOf(stage, reseller);
  const { error_text } = assertError(await gateway.send(reseller, "GET", `/domains/${name}`), "domain_not_found");
  assert.match(error_text, new RegExp(`left at ${departure?.left_at}.*transferred.*${rivalId}`));
  const nobodys = await gateway.send(other, "GET", "/domains/nobodys.example");
  assert.equal((await gateway.send(other, "GET", `/domains/${name}`)).text, nobodys.text);
  assert.deepEqual(await departuresOf(stage, other), []);
  // Once another reseller has the name, its last owner is nobody special.
  gateway.registry.store.domains.delete(name);
  const { location } = await place(gateway, other, name);
  assert.equal((await gateway.settled(other, location)).status, "Finished");
  assert.equal((await gateway.send(reseller, "GET", `/domains/${name}`)).text, nobodys.text);
  assert.equal((await departuresOf(stage, reseller)).length, 1);
});

test("a customer's host name that is proven by the portfolio is checked again when the name leaves", async (t) => {
  const name = "site.example";
  const { stage } = await startAsked(t, name);
  const { gateway, reseller } = stage;
  const pack = await gateway.addPack();
  await runSql(
    gateway.databaseUrl,
    `WITH account AS (
       INSERT INTO hosting_accounts (identifier, reseller_id, servicepack_id, password_hash_sealed, disk_quota_bytes,
         files_max, ftp_sessions_max, status, applied_version, created_at, updated_at)
       VALUES ('elsewhere.example', $1, $2, '', 1, 1, 1, 'Ready', 1, now(), now()) RETURNING id)
     INSERT INTO host_names (account_id, host_name, status, proven_by, created_at)
     SELECT id, 'www.' || $3, 'Proven', 'portfolio', now() FROM account`,
    [reseller.id, pack, name],
  );
  const called = async () =>
    (await runSql(gateway.databaseUrl, "SELECT FROM host_names WHERE version > 0")).length === 1;
  assert.equal(await called(), false);
  await stage.travel(approvalDays);
  await untilLeft(stage, name);
  assert.equal(await called(), true);
});

test("a name that left within seven days of its registration can be registered again", async (t) => {
  const name = "again.example";
  const { stage } = await startAsked(t, name);
  const { gateway, reseller } = stage;
  const order = () => gateway.send(reseller, "POST", "/domains/registrations", { body: { domain_name: name } });
  const availability = async () => {
    const { body } = await gateway.send(reseller, "GET", `/domains/availability?names=${name}`);
    return (body as { availability: string }[])[0]?.availability;
  };
  assertError(await order(), "domain_availability_taken");
  assert.equal(await availability(), "taken");
  await stage.travel(approvalDays);
  await untilLeft(stage, name);
  gateway.registry.store.domains.delete(name);
  assert.equal(await availability(), "available");
  await own(stage, name);
});

for (const [how, end] of [
  ["rejected", (stage: Stage, name: string) => askAsUs(stage, transferFrame("reject", name))],
  ["cancelled", (_: Stage, name: string, rival: RawClient) => rival.ask(transferFrame("cancel", name))],
] as const) {
  test(`a transfer that is ${how} leaves the name here, and is not shown any more`, async (t) => {
    const name = "kept.example";
    const { stage, rival } = await startAsked(t, name);
    await end(stage, name, rival);
    // Registries tell the losing registrar of what it did not do itself; the next look finds the rest.
    await stage.travel(approvalDays);
    await until("the transfer is over", async () => (await read(stage, name)).transfer === undefined);
    assert.equal(await isInPortfolio(stage, name), true);
    assert.deepEqual(await departuresOf(stage, stage.reseller), []);
    assert.deepEqual(await openAlarms(stage), []);
  });
}

async function askAsUs({ gateway }: Stage, frame: string) {
  const client = await RawClient.login(gateway.registry, registrarId, "sandbox-pw-1");
  await client.ask(frame);
  client.close();
}

test("a name whose approval was never reported leaves at the look after the registry's deadline", async (t) => {
  const name = "unreported.example";
  const { stage } = await startAsked(t, name);
  const { gateway } = stage;
  await gateway.stopWorker();
  await stage.travel(approvalDays);
  const { messages } = gateway.registry.store;
  for (const { id, registrar } of messages.values()) if (registrar === registrarId) messages.delete(id);
  await gateway.startWorker();
  await untilLeft(stage, name);
  assert.equal((await departuresOf(stage, stage.reseller))[0]?.gaining_registrar, rivalId);
});

test("messages about a transfer that come twice, or after the name has left, change nothing", async (t) => {
  const name = "left.example";
  const { stage, asked } = await startLeft(t, name);
  const before = await departuresOf(stage, stage.reseller);
  for (const status of ["serverApproved", "pending", "clientCancelled"]) await tell(stage, name, status, asked);
  assert.deepEqual(await departuresOf(stage, stage.reseller), before);
  assert.equal(await isInPortfolio(stage, name), false);
  assert.deepEqual(await openAlarms(stage), []);
});

test("a message about a transfer of a name that we got back is judged by what the registry shows", async (t) => {
  const name = "back.example";
  const { stage, asked } = await startLeft(t, name);
  stage.gateway.registry.store.domains.delete(name);
  await own(stage, name);
  for (const status of ["serverApproved", "pending", "clientApproved"]) {
    const before = looks(stage, name);
    await tell(stage, name, status, asked);
    assert.ok(looks(stage, name) > before, "it was compared with the registry");
    assert.equal((await read(stage, name)).transfer, undefined, status);
  }
  await stage.travel(secondLookDays);
  assert.equal(await isInPortfolio(stage, name), true);
  assert.deepEqual(await openAlarms(stage), []);
});

test("a message that an earlier transfer was cancelled does not hide a later one", async (t) => {
  const name = "twice.example";
  const { stage } = await startAsked(t, name);
  const { transfer } = await read(stage, name);
  await tell(stage, name, "clientCancelled", new Date(Date.parse(transfer!.requested_at) - 60_000));
  assert.deepEqual((await read(stage, name)).transfer, transfer);
});

test("a message about a transfer of a name that nobody has or had here needs an operator", async (t) => {
  const stage = await startQuick(t);
  await tell(stage, "unknown.example", "serverApproved", stage.gateway.registry.now());
  assert.deepEqual(await openAlarms(stage), [{ kind: "messages-kept", subject: "sandbox/transfer" }]);
});

test("an approved transfer ends a renewal in progress, and cancels only orders that were not sent", async (t) => {
  const name = "busy.example";
  const stage = await startQuick(t);
  const { gateway } = stage;
  await own(stage, name);
  const hold = gateway.registry.hold({ command: "domain:renew", name, at: "before-execution" });
  await stage.travelTo(name, 30);
  await hold.reached(1);
  const unsent = await insertOrder(stage, name);
  moveSilently(stage, name);
  await tell(stage, name, "serverApproved", gateway.registry.now());
  await untilLeft(stage, name);
  hold.release({ execute: false });
  await untilRenewalIs(gateway, name, "Ended");
  assert.match((await renewalOf(gateway, name))?.reason ?? "", /rival/);
  const { order_code: renewCode } = (await renewalOf(gateway, name))!;
  const renew = await gateway.settled(stage.reseller, `/orders/${renewCode}`);
  assert.deepEqual([renew.status, renew.error_text], ["Errors", "the name has left the portfolio"]);
  const open = "SELECT FROM attempts WHERE answered_at IS NULL";
  assert.deepEqual(await runSql(gateway.databaseUrl, open), []);
  assert.deepEqual(await orderRow(stage, unsent), {
    status: "Cancelled",
    reason: "the name has left the portfolio",
  });
  assert.deepEqual(await openAlarms(stage), []);
});

test("an order whose command may be executed does not end with the name: its own proof decides", async (t) => {
  const name = "doubtful.example";
  const { stage } = await startAsked(t, name);
  const id = await insertOrder(stage, name);
  const attempt = `INSERT INTO attempts (cl_trid, order_id, number, command, committed_at)
    VALUES ('REG-WAITS000-000-1', $1, 1, 'domain:create', now())`;
  await runSql(stage.gateway.databaseUrl, attempt, [id]);
  await stage.travel(approvalDays);
  await untilLeft(stage, name);
  assert.deepEqual(await orderRow(stage, id), { status: "NotProvisioned", reason: null });
});

async function orderRow({ gateway }: Stage, id: string) {
  const [order] = await runSql(gateway.databaseUrl, "SELECT status, reason FROM orders WHERE id = $1", [id]);
  return order;
}

/** An order for the name that waits, and was not sent. Returns its id. */
async function insertOrder({ gateway, reseller, clock }: Stage, name: string): Promise<string> {
  const [order] = await runSql<{ id: string }>(
    gateway.databaseUrl,
    `INSERT INTO orders (order_code, reseller_id, domain_name, suffix, registry_id, period_years,
       auth_info_sealed, status, created_at, updated_at, next_step_at)
     VALUES ('REG-WAITS000-000', $1, $2, 'example', 'sandbox', 1, '', 'NotProvisioned', $3, $3, $3::timestamptz + interval '1 year')
     RETURNING id`,
    [reseller.id, name, clock.now()],
  );
  return order!.id;
}
