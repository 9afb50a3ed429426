/** What workers do every minute: each part by itself, in short statements, and with an alarm when it fails again and again. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { partRowsMax } from "#db/parts.ts";
import { startTestGateway, type TestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { until } from "../orders/judge.ts";

const minuteHours = 1 / 60;

/** A worker that starts when the test says so, and old answers for resends: `rows` of each kind. */
async function openStage(t: TestContext, rows: number) {
  const clock = createSteeredClock();
  const gateway = await startTestGateway(t, { worker: false, clock });
  const { databaseUrl: url } = gateway;
  await runSql(
    url,
    `INSERT INTO committed_requests (key_id, nonce, signed_at, request_digest, status, headers, created_at)
     SELECT 'old', n::text, n, '', 200, '{}', now() FROM generate_series(1, ${rows}) AS n`,
  );
  await runSql(
    url,
    `INSERT INTO idempotent_requests (reseller_id, method, path, idempotency_key, body_mac, status, headers, created_at)
     SELECT 1, 'POST', '/', n::text, '', 200, '{}', now() - interval '8 days' FROM generate_series(1, ${rows}) AS n`,
  );
  return { clock, gateway, url };
}

const isEmpty = async (url: string, table: string) => (await runSql(url, `SELECT FROM ${table} LIMIT 1`)).length === 0;
const openAlarms = ({ databaseUrl }: TestGateway) =>
  runSql<{ subject: string; note: string }>(
    databaseUrl,
    "SELECT subject, note FROM alarms WHERE kind = 'chore' AND resolved_at IS NULL",
  );

test("a part of housekeeping that fails holds up no other, and is an alarm until it works again", async (t) => {
  const { clock, gateway, url } = await openStage(t, 10);
  await runSql(
    url,
    `CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'a damaged page'; END $$;
     CREATE TRIGGER broken BEFORE DELETE ON committed_requests FOR EACH STATEMENT EXECUTE FUNCTION broken()`,
  );
  await gateway.startWorker();
  await until("the others have run", () => isEmpty(url, "idempotent_requests"));
  await until("it has failed again and again", async () => {
    clock.skip(minuteHours);
    return (await openAlarms(gateway)).length > 0;
  });
  const [alarm] = await openAlarms(gateway);
  assert.equal(alarm!.subject, "committed-requests");
  assert.match(alarm!.note, /failed \d+ times in a row.*a damaged page/);
  await runSql(url, "DROP TRIGGER broken ON committed_requests");
  await until("it works again", async () => {
    clock.skip(minuteHours);
    return (await openAlarms(gateway)).length === 0;
  });
  assert.ok(await isEmpty(url, "committed_requests"));
});

test("housekeeping deletes thousands of rows in statements of at most 5,000", async (t) => {
  const rows = 2 * partRowsMax + 1;
  const { gateway, url } = await openStage(t, rows);
  await runSql(
    url,
    `CREATE TABLE deletes (rows bigint);
     CREATE FUNCTION counted() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN INSERT INTO deletes SELECT count(*) FROM gone; RETURN NULL; END $$;
     CREATE TRIGGER counted AFTER DELETE ON committed_requests REFERENCING OLD TABLE AS gone
       FOR EACH STATEMENT EXECUTE FUNCTION counted();
     CREATE TRIGGER counted AFTER DELETE ON idempotent_requests REFERENCING OLD TABLE AS gone
       FOR EACH STATEMENT EXECUTE FUNCTION counted()`,
  );
  await gateway.startWorker();
  for (const table of ["committed_requests", "idempotent_requests"]) {
    await until(`${table} is empty`, () => isEmpty(url, table));
  }
  const deletes = await runSql<{ rows: number }>(url, "SELECT rows::int4 FROM deletes WHERE rows > 0 ORDER BY rows");
  assert.deepEqual(
    deletes.map((one) => one.rows),
    [1, 1, partRowsMax, partRowsMax, partRowsMax, partRowsMax],
  );
});
