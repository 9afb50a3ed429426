import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError } from "../harness/assert-reply.ts";
import { ada } from "../harness/contacts.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { newNonce, type Reply, type SignedRequestOptions } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { giveNames } from "../renewals/stage.ts";

const hourMs = 60 * 60_000;
/** In the first hours of a day, so that no other begins during the tests. */
const clock = createSteeredClock();
// On a busy machine ninety questions at once take longer than one.
const patience = { registry: { queryTimeoutMs: 60_000 }, context: { checkBudgetMs: 60_000 } };
const gateway = await startTestGateway({ after }, { clock, ...patience });
const aheadMs = 25 * hourMs - (clock.now().getTime() % (24 * hourMs));
await gateway.registry.advance(aheadMs);
clock.skip(aheadMs / hourMs);

const askedCount = 90;
const dayMax = 5;

async function limited(max: number): Promise<TestReseller> {
  const reseller = await gateway.addReseller();
  await runSql(gateway.databaseUrl, "UPDATE resellers SET paid_orders_day_max = $2 WHERE id = $1", [reseller.id, max]);
  return reseller;
}

const register = (reseller: TestReseller, domain_name: string, options: SignedRequestOptions = {}, prefix = "/v1") =>
  gateway.send(reseller, "POST", `${prefix}/domains/registrations`, {
    ...options,
    body: { domain_name, ...(options.body as object) },
  });

async function placedToday({ id }: TestReseller): Promise<number> {
  const sql = "SELECT placed FROM paid_orders WHERE reseller_id = $1";
  return (await runSql<{ placed: number }>(gateway.databaseUrl, sql, [id]))[0]?.placed ?? 0;
}

const names = (what: string, count: number) => Array.from({ length: count }, (_, index) => `${what}-${index}.example`);

/** Of these answers, as many as allowed are 202, and the others say that the limit is reached. */
function assertAccepted(replies: readonly Reply[], allowed: number): void {
  const refused = replies.filter(({ status }) => status !== 202);
  for (const reply of refused) assertError(reply, "order_limit_reached");
  assert.equal(replies.length - refused.length, allowed);
}

for (const prefix of ["/v1", "/v2"]) {
  test(`of ${askedCount} registrations at once over ${prefix} only as many are accepted as the day's limit allows`, async () => {
    const reseller = await limited(dayMax);
    const asked = names(`crowd${prefix.slice(1)}`, askedCount);
    const replies = await Promise.all(asked.map((name) => register(reseller, name, {}, prefix)));
    assertAccepted(replies, dayMax);
    assert.equal(await placedToday(reseller), dayMax);
  });
}

test("registrations with contacts, which have transactions of their own, keep to the same limit", async () => {
  const reseller = await limited(dayMax);
  const other = await limited(1_000);
  const replies = await Promise.all(
    names("mixed", 40).map((name, index) => register(reseller, name, index % 2 ? { body: { registrant: ada } } : {})),
  );
  assertAccepted(replies, dayMax);
  assert.equal(await placedToday(reseller), dayMax);
  assertAccepted(await Promise.all(names("others", 20).map((name) => register(other, name))), 20);
});

test("of renewals at once only as many are accepted as the day's limit allows", async () => {
  const reseller = await limited(dayMax);
  const expirationDate = new Date(clock.now().getTime() + 200 * 24 * hourMs);
  const asked = names("renewed", 20);
  await giveNames(gateway, reseller, new Map(asked.map((name) => [name, { expirationDate }])));
  const body = { years: 1, expiration_date: expirationDate.toISOString().slice(0, 10) };
  const renew = (name: string) => gateway.send(reseller, "POST", `/domains/${name}/renewals`, { body });
  assertAccepted(await Promise.all(asked.map(renew)), dayMax);
  assert.equal(await placedToday(reseller), dayMax);
});

test("of restores and registrations at once only as many are accepted as the day's limit allows", async () => {
  const reseller = await limited(dayMax);
  const asked = names("restored", 15);
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO domains_ended (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
       ended_at, restorable_until)
     SELECT name, $1, 'sandbox', $3, $3, $3, $3, $3::timestamptz + interval '30 days' FROM unnest($2::text[]) AS name`,
    [reseller.id, asked, clock.now()],
  );
  const replies = await Promise.all([
    ...asked.map((name) => gateway.send(reseller, "POST", `/domains/${name}/restores`)),
    ...names("beside-restores", 15).map((name) => register(reseller, name)),
  ]);
  assertAccepted(replies, dayMax);
  assert.equal(await placedToday(reseller), dayMax);
});

test("repeats of an order take one place, whatever makes them repeats", async () => {
  const reseller = await limited(3);
  const same = { nonce: newNonce(), timestamp: Math.floor(clock.now().getTime() / 1000) };
  const kinds: Record<string, SignedRequestOptions> = {
    "the name": {},
    "the nonce": same,
    "the idempotency key": { headers: { "idempotency-key": "order-1" } },
  };
  for (const [index, [kind, options]] of Object.entries(kinds).entries()) {
    // The creation takes longer than all the requests, so that none sees the name finished.
    const name = `slow-500-repeated-${index}.example`;
    const replies = await Promise.all(Array.from({ length: 10 }, () => register(reseller, name, options)));
    // A repeat of a nonce that is in progress is refused.
    const accepted = replies.filter(({ status }) => status === 202);
    assert.ok(accepted.length > 0, kind);
    assert.equal(new Set(accepted.map(({ headers }) => headers.location)).size, 1, kind);
    assert.equal(await placedToday(reseller), index + 1, kind);
  }
  assertError(await register(reseller, "one-too-many.example"), "order_limit_reached");
});

test("an order that loses its name to another reseller gives its place back", async () => {
  const [first, second] = [await limited(10), await limited(10)];
  for (const name of names("contended", 10)) {
    await Promise.all([first, second].map((reseller) => register(reseller, name)));
  }
  assert.equal((await placedToday(first)) + (await placedToday(second)), 10);
});

const openOrders = `INSERT INTO orders (order_code, reseller_id, domain_name, registry_id, kind, input, is_urgent, status,
    next_step_at, created_at, updated_at)
  SELECT concat('CHG-', n, ' of ', $1::bigint), $1, concat('open-', n, '-', $1::bigint, '.example'), 'sandbox', $3, '{}', $4,
    'NotProvisioned', $5::timestamptz + interval '1 day', $5, $5 FROM generate_series(1, $2::int) AS n`;

for (const [kind, isUrgent] of [
  ["transfer-lock", false],
  ["delete", true],
] as const) {
  test(`of orders at once (${kind}) only as many are accepted as may be open`, async () => {
    const reseller = await gateway.addReseller();
    const expirationDate = new Date(clock.now().getTime() + 200 * 24 * hourMs);
    const asked = names(`open-${kind}`, 20);
    await giveNames(gateway, reseller, new Map(asked.map((name) => [name, { expirationDate }])));
    await gateway.stopWorker();
    await runSql(gateway.databaseUrl, openOrders, [reseller.id, 9_997, kind, isUrgent, clock.now()]);
    const replies = await Promise.all(
      asked.map((name) =>
        isUrgent
          ? gateway.send(reseller, "DELETE", `/domains/${name}?confirm=${name}`)
          : gateway.send(reseller, "PUT", `/domains/${name}/transfer-lock`, { body: { transfer_locked: true } }),
      ),
    );
    assertAccepted(replies, 3);
  });
}
