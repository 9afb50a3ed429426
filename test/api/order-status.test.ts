import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError, assertFullForm } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";

const gateway = await startTestGateway({ after }, { worker: false });
const reseller = await gateway.addReseller();
const rival = await gateway.addReseller();
const finalStatuses = ["Errors", "Finished", "FailedValidation", "Cancelled"];
let ordersMade = 0;

async function addOrder(status: string, ageSeconds = 0, tookSeconds = 0, suffix = "example"): Promise<string> {
  ordersMade += 1;
  const code = `REG-${String(ordersMade).padStart(8, "0")}-AB1`;
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO orders (order_code, reseller_id, domain_name, suffix, registry_id, period_years,
       auth_info_sealed, status, phase, created_at, updated_at, ended_at)
     VALUES ($1, $2, $3, $4, 'sandbox', 1, '', $5, $6, now() - make_interval(secs => $7), now(),
             CASE WHEN $8 THEN now() - make_interval(secs => $7) + make_interval(secs => $9) END)`,
    [
      code,
      reseller.id,
      `order${ordersMade}.${suffix}`,
      suffix,
      status,
      status === "Processing" ? "check" : null,
      ageSeconds,
      finalStatuses.includes(status),
      tookSeconds,
    ],
  );
  return code;
}

const read = (code: string, as = reseller, headers = {}) =>
  gateway.send(as, "GET", `/domains/registrations/${code}`, { headers });
const checkAfter = async (code: string) => (await read(code)).headers["check-after"];

test("a status has the order's code and status, and check-after until it is final", async () => {
  for (const status of ["NotProvisioned", "Processing", "Pending", ...finalStatuses]) {
    const code = await addOrder(status);
    const reply = await read(code);
    assert.equal(reply.status, 200, reply.text);
    assertFullForm(reply);
    assert.deepEqual(reply.body, { order_code: code, status });
    if (finalStatuses.includes(status)) assert.equal(reply.headers["check-after"], undefined);
    else assert.match(reply.headers["check-after"] ?? "", /^([1-9]|10)$/);
  }
});

test("a code is read in any case, with o for 0 and i or l for 1", async () => {
  const code = await addOrder("Pending");
  for (const form of [
    code.toLowerCase(),
    code.replaceAll("0", "o"),
    code.replaceAll("1", "i"),
    code.replaceAll("1", "L"),
  ]) {
    assert.equal(((await read(form)).body as { order_code: string }).order_code, code);
  }
});

test("a malformed code is 400; an unknown one and another reseller's get the same 404", async () => {
  const code = await addOrder("Pending");
  for (const malformed of [
    code.slice(0, -1),
    `${code}0`,
    code.replaceAll("-", ""),
    "U".repeat(16),
    "%00",
    `${code}%20`,
  ]) {
    assertError(await read(malformed), "bad_request");
  }
  const anothers = await read(code, rival);
  const unknown = await read("REG-ZZZZZZZZ-ZZZ");
  assertError(anothers, "order_not_found");
  assert.equal(anothers.text, unknown.text);
});

test("check-after is the remaining median time of recent registrations under the suffix, from 1 s to a day", async () => {
  for (let index = 0; index < 19; index++) await addOrder("Finished", 10_000, 300, "measured");
  assert.equal(await checkAfter(await addOrder("Pending", 0, 0, "measured")), "10");
  await addOrder("Finished", 10_000, 300, "measured");
  assert.match((await checkAfter(await addOrder("Pending", 0, 0, "measured"))) ?? "", /^(299|300)$/);
  assert.match((await checkAfter(await addOrder("Pending", 100, 0, "measured"))) ?? "", /^(199|200)$/);
  assert.equal(await checkAfter(await addOrder("Pending", 1_000, 0, "measured")), "1");
  for (let index = 0; index < 20; index++) await addOrder("Finished", 200_000, 190_000, "slow");
  assert.equal(await checkAfter(await addOrder("Pending", 0, 0, "slow")), "86400");
});

test("wait holds the answer until the status changes, and returns the new one", async () => {
  const code = await addOrder("NotProvisioned");
  let isAnswered = false;
  const waiting = read(code, reseller, { prefer: "respond-async, Wait=30" }).finally(() => {
    isAnswered = true;
  });
  // A notification without a change of the status wakes nobody.
  await runSql(gateway.databaseUrl, `SELECT pg_notify('order_changed', '${code}')`);
  await runSql(gateway.databaseUrl, "SELECT pg_sleep(0.1)");
  assert.equal(isAnswered, false);
  await runSql(
    gateway.databaseUrl,
    `WITH changed AS (UPDATE orders SET status = 'Pending' WHERE order_code = '${code}')
     SELECT pg_notify('order_changed', '${code}')`,
  );
  const reply = await waiting;
  assert.deepEqual(reply.body, { order_code: code, status: "Pending" });
  assert.equal(reply.headers["preference-applied"], "wait=30");
  assertFullForm(reply);
});

test("wait ends after its time, and does not wait for a final order", async () => {
  const [pending, final] = [await addOrder("Pending"), await addOrder("Finished")];
  const reply = await read(pending, reseller, { prefer: "wait=1" });
  assert.deepEqual(reply.body, { order_code: pending, status: "Pending" });
  assert.equal(((await read(final, reseller, { prefer: "wait=30" })).body as { status: string }).status, "Finished");
  for (const prefer of ["wait=0", "wait=", "wait=-1", "wait=x", "await=30", "return=minimal"]) {
    const unheld = await read(pending, reseller, { prefer });
    assert.deepEqual([unheld.status, unheld.headers["preference-applied"]], [200, undefined]);
  }
});
