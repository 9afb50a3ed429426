/** Terms that a release before the schedule placed orders has begun, or ended. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { migrate } from "#db/migrate.ts";
import { olderDatabase } from "../harness/older-database.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import {
  commands,
  executed,
  own,
  portfolioEntry,
  renewalOf,
  setWillRenew,
  startStage,
  untilRenewalIs,
  yearsLater,
} from "./stage.ts";

interface Older {
  /** How the release has left the renewal. */
  state: { status: string; phase: string | null; verify_cause: string | null };
  command?: "domain:renew" | "domain:delete";
  resultCode?: number;
  /** Whether the registry has executed the command. */
  isDone: boolean;
  /** How many commands are sent now. */
  sent: number;
}

const verify = (verify_cause: string) => ({ status: "Processing", phase: "verify", verify_cause });
const renews: Record<string, Older> = {
  "answered.example": {
    state: verify("answered"),
    command: "domain:renew",
    resultCode: 1000,
    isDone: true,
    sent: 0,
  },
  "lost-after.example": { state: verify("lost"), command: "domain:renew", isDone: true, sent: 0 },
  "lost-before.example": { state: verify("lost"), command: "domain:renew", isDone: false, sent: 1 },
  "killed.example": {
    state: { status: "Processing", phase: "renew", verify_cause: null },
    command: "domain:renew",
    isDone: true,
    sent: 0,
  },
  "pending.example": {
    state: { status: "Processing", phase: "pending", verify_cause: null },
    command: "domain:renew",
    resultCode: 1001,
    isDone: true,
    sent: 0,
  },
  "refused.example": {
    state: { status: "Processing", phase: "look", verify_cause: null },
    command: "domain:renew",
    resultCode: 2104,
    isDone: false,
    sent: 1,
  },
  "looked.example": { state: { status: "Processing", phase: "look", verify_cause: null }, isDone: false, sent: 1 },
};

describe("what an earlier release has begun is finished as an order, and no command is executed twice", async () => {
  const stage = await startStage({ after });
  const { gateway, reseller } = stage;
  const { domains } = gateway.registry.store;
  const [deleted, undeleted] = ["deleted.example", "undeleted.example"];
  await own(stage, ...Object.keys(renews), deleted, undeleted);
  for (const name of [deleted, undeleted]) assert.equal(await setWillRenew(stage, name, false), 204);
  const ends = new Map<string, string>();
  for (const name of Object.keys(renews)) {
    ends.set(name, (await portfolioEntry(gateway, reseller, name)).expiration_date);
  }
  await stage.travelTo(Object.keys(renews)[0]!, 31);
  for (const name of [...ends.keys(), deleted, undeleted]) await untilRenewalIs(gateway, name, "Scheduled");
  await gateway.stopWorker();

  const leaveBehind = async (name: string, { state, command, resultCode }: Omit<Older, "isDone" | "sent">) => {
    const { status, phase, verify_cause } = state;
    const now = stage.clock.now();
    await runSql(
      gateway.databaseUrl,
      `WITH begun AS (
         UPDATE renewals SET status = $2, phase = $3, verify_cause = $4, base_ex_date = term_ends_at, next_step_at = $5
         WHERE domain_name = $1 RETURNING id, renewal_code)
       INSERT INTO attempts (cl_trid, renewal_id, number, command, committed_at, answered_at, result_code)
       SELECT renewal_code || '-1', id, 1, $6, $5, CASE WHEN $7::int IS NOT NULL THEN $5::timestamptz END, $7
       FROM begun WHERE $6::text IS NOT NULL`,
      [name, status, phase, verify_cause, now, command ?? null, resultCode ?? null],
    );
  };
  for (const [name, older] of Object.entries(renews)) {
    await leaveBehind(name, older);
    if (older.isDone) domains.put({ ...domains.find(name)!, exDate: yearsLater(ends.get(name)!, 1) });
  }
  const lapsing = { status: "Lapsing", phase: "verify", verify_cause: "lost" };
  for (const name of [deleted, undeleted]) await leaveBehind(name, { state: lapsing, command: "domain:delete" });
  domains.delete(deleted);
  await gateway.startWorker();

  for (const [name, { sent, command, resultCode }] of Object.entries(renews)) {
    test(name, async () => {
      await untilRenewalIs(gateway, name, "Renewed");
      assert.equal(commands(gateway, name, "domain:renew").length, sent);
      const { order_code: code } = (await renewalOf(gateway, name))!;
      const number = command !== undefined && resultCode === undefined ? 2 : 1;
      if (sent > 0) assert.equal(commands(gateway, name, "domain:renew")[0]?.clTRID, `${code}-${number}`);
      assert.equal((await portfolioEntry(gateway, reseller, name)).expiration_date, yearsLater(ends.get(name)!, 1));
      const { body } = await gateway.send(reseller, "GET", `/orders/${code}`);
      const { kind, status } = body as { kind: string; status: string };
      assert.deepEqual([kind, status], ["renew", "Finished"]);
    });
  }

  test("a delete whose answer was lost", async () => {
    await untilRenewalIs(gateway, deleted, "Ended");
    assert.deepEqual(commands(gateway, deleted, "domain:delete"), []);
    await untilRenewalIs(gateway, undeleted, "Ended");
    assert.equal(executed(gateway, undeleted, "domain:delete"), 1);
  });

  test("no attempt is left open", async () => {
    const open = "SELECT cl_trid FROM attempts WHERE answered_at IS NULL";
    await until("all are closed", async () => (await runSql(gateway.databaseUrl, open)).length === 0);
  });
});

test("terms that ended with a command before the upgrade stay orders, and terms that ended without one are none", async (t) => {
  const { url } = await olderDatabase(t, "0047");
  await runSql(
    url,
    `WITH owner AS (
       INSERT INTO resellers (name, kind, rate_limit, hosting_accounts_max, hosting_bytes_max, created_at)
       VALUES ('one', 'reseller', 1, 99, 99, now()) RETURNING id),
     ended AS (
       INSERT INTO renewals (renewal_code, reseller_id, domain_name, registry_id, period_years, term_ends_at, due_at, status,
         next_step_at, list_key, reason, created_at, updated_at, ended_at)
       SELECT code, owner.id, lower(code), 'sandbox', 1, now(), now(), status, now(), code, reason, now(), now(), now()
       FROM owner, (VALUES ('REN-RENEWED', 'Renewed', NULL), ('REN-BY-ORDER', 'Renewed', 'by order REN-X'), ('REN-DELETED', 'Ended', 'off'),
         ('REN-MOVED', 'Ended', 'moved'), ('REN-SENT', 'Ended', 'moved')) AS given (code, status, reason)
       RETURNING id, renewal_code)
     INSERT INTO attempts (cl_trid, renewal_id, number, command, committed_at, answered_at)
     SELECT renewal_code || '-1', id, 1, command, now(), now() FROM ended
       JOIN (VALUES ('REN-DELETED', 'domain:delete'), ('REN-SENT', 'domain:renew')) AS sent (code, command) ON code = renewal_code`,
  );
  await migrate(url);
  const orders = await runSql(url, "SELECT change_code, kind, status, reason FROM changes ORDER BY change_code");
  assert.deepEqual(orders, [
    { change_code: "REN-DELETED", kind: "delete", status: "Finished", reason: "off" },
    { change_code: "REN-RENEWED", kind: "renew", status: "Finished", reason: null },
    { change_code: "REN-SENT", kind: "renew", status: "Errors", reason: "the name has left the portfolio: moved" },
  ]);
  const counts = "SELECT kind, status, row_count::int FROM order_counts ORDER BY kind, status DESC";
  assert.deepEqual(await runSql(url, counts), [
    { kind: "delete", status: "Finished", row_count: 1 },
    { kind: "renew", status: "Finished", row_count: 1 },
    { kind: "renew", status: "Errors", row_count: 1 },
  ]);
});
