/**
 * Tests of URLs. A new or changed URL gets nothing but an event of the type `webhook.test` until it has answered one: otherwise
 * a webhook could send events to a host that has not asked for them. What happens meanwhile stays in the log of events.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { keptTestsMax } from "#webhooks/kept.ts";
import { testType } from "#webhooks/reading.ts";

/** SQL: deletes a webhook's oldest tests, when one is added. */
const oldTests = `DELETE FROM webhook_deliveries WHERE id IN (
       SELECT id FROM webhook_deliveries WHERE webhook_id = $id AND type = '${testType}' AND status <> 'Pending'
       ORDER BY id DESC OFFSET ${keptTestsMax - 1})`;

/** SQL: a new test of a webhook's row `webhooks`; `$event_id`, `$now` and `$ends_at` are parameters. */
const newTest = `INSERT INTO webhook_deliveries (webhook_id, event_id, type, body, created_at, next_at, ends_at)
     SELECT id, $event_id, '${testType}', jsonb_build_object('id', $event_id::text, 'type', '${testType}', 'created_at', iso_time($now),
       'data', jsonb_build_object('webhook_id', webhook_code)), $now, $now, $ends_at FROM webhooks
     WHERE webhooks.id = $id AND NOT EXISTS (
       SELECT FROM webhook_deliveries WHERE webhook_id = $id AND type = '${testType}' AND status = 'Pending')`;

/** Sends a test, unless one is being sent already, which is then sent at once. Returns a row unless the webhook is disabled. */
export const sendTest = statement(
  "webhook-test",
  `WITH old AS (${oldTests}),
   added AS (${newTest}),
   waiting AS (
     UPDATE webhook_deliveries SET next_at = $now WHERE webhook_id = $id AND type = '${testType}' AND status = 'Pending')
   UPDATE webhooks SET next_step_at = $now, paused_until = NULL WHERE id = $id AND is_enabled RETURNING id` as string,
  { id: "int8" },
);

const ensureTest = statement("webhook-test-ensure", `WITH old AS (${oldTests}) ${newTest}` as string, {});

/** The test that a URL must answer. It waits for the webhook, not for a due time. */
const waitingTest = statement(
  "webhook-test-waiting",
  `SELECT id, event_id, body, attempts, ends_at FROM webhook_deliveries
   WHERE webhook_id = $id AND type = '${testType}' AND status = 'Pending' ORDER BY id LIMIT 1`,
  { id: "int8", event_id: "text", body: "jsonb", attempts: "int4", ends_at: "timestamptz" },
);

export const newTestId = ({ random }: Pick<Context, "random">) =>
  `evt_test_${random.uuid().replaceAll("-", "").slice(0, 16)}`;

/** The test of a webhook whose URL has not answered one; it is made if there is none. @param ends_at when it is given up */
export async function testToSend(context: Pick<Context, "database" | "clock" | "random">, id: number, ends_at: Date) {
  const { database, clock } = context;
  await database.query(ensureTest, { id, event_id: newTestId(context), now: clock.now(), ends_at });
  return database.query(waitingTest, { id });
}
