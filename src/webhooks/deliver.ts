/**
 * One step of a webhook: new events become deliveries, and those that are due are sent. The webhook's place in the log advances in the
 * statement that writes its deliveries, so none is lost and none is made twice. A process that is killed after a request and before
 * its note sends the request again, with the same id.
 */
import { raiseAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { eventId, isHeldBack, isVisible, withLog } from "#events/log.ts";
import { unixSeconds } from "#lib/clock.ts";
import type { Secret } from "#lib/secret.ts";
import { dropBeyondBounds, keptAnswer, keptError, waitingMax } from "#webhooks/kept.ts";
import { givenUpAfterMs, pauseAfterMs, retryAfterMs, retryJitter } from "#webhooks/pauses.ts";
import { testType, typesSent } from "#webhooks/reading.ts";
import { webhookSecretRow } from "#webhooks/rows.ts";
import { type Attempt, sendWebhook } from "#webhooks/send.ts";
import { webhookHeaders } from "#webhooks/signature.ts";

/** As many failures in a row are an outage: afterwards, what waits is sent at once. Fewer may be the trouble with one event. */
const outageFailuresMin = 3;
const heldBackMs = 250;

const eventsAtOnceMax = 500;
const deliveriesAtOnceMax = 20;
const requestsAtOnceMax = 4;

/** How long a webhook waits at most. */
export const longestWebhookWait = "interval '13 hours'";

const findWebhook = statement(
  "webhook-for-step",
  `SELECT webhook_code, url, types, scopes, secret_sealed, previous_until, failing_since, failure_count, paused_until, version,
     CASE WHEN previous_until > $now THEN previous_secret_sealed END AS previous_secret_sealed
   FROM webhooks WHERE id = $id AND is_enabled AND next_step_at <= $now`,
  {
    webhook_code: "text",
    url: "text",
    types: "text[]?",
    scopes: "text[]",
    secret_sealed: "bytea",
    previous_until: "timestamptz?",
    failing_since: "timestamptz?",
    failure_count: "int4",
    paused_until: "timestamptz?",
    version: "int8",
    previous_secret_sealed: "bytea?",
  },
);
type Webhook = NonNullable<(typeof findWebhook)["row"]>;

const makeDeliveries = statement(
  "webhook-deliveries-make",
  `WITH ${withLog},
   own AS MATERIALIZED (
     SELECT id, reseller_id, era, transaction, number, begun FROM webhooks WHERE id = $id FOR UPDATE),
   waiting AS MATERIALIZED (
     SELECT count(*) AS deliveries FROM (
       SELECT FROM webhook_deliveries WHERE webhook_id = $id AND status = 'Pending' LIMIT ${waitingMax}) AS delivery),
   page AS MATERIALIZED (
     SELECT event.id, event.era, event.transaction, event.number, event.at, event.type, event.data,
       event.era = own.era AND coalesce(pg_visible_in_snapshot(event.transaction, own.begun), false) AS is_before
     FROM own CROSS JOIN log CROSS JOIN LATERAL (
       SELECT ${eventId("event")} AS id, event.era, event.transaction, event.number, event.at, event.type, event.data FROM events AS event
       WHERE event.reseller_id = own.reseller_id AND (event.era, event.transaction, event.number) > (own.era, own.transaction, own.number)
         AND ${isVisible("event")}
         AND (SELECT deliveries FROM waiting) < ${waitingMax}
       ORDER BY event.era, event.transaction, event.number LIMIT ${eventsAtOnceMax}) AS event),
   made AS (
     INSERT INTO webhook_deliveries (webhook_id, event_id, type, body, created_at, next_at, ends_at)
     SELECT $id, id, type, jsonb_build_object('id', id, 'type', type, 'created_at', iso_time(at), 'data', data), $now, $now, $ends_at
     FROM page WHERE type = ANY ($types::text[]) AND NOT is_before ORDER BY era, transaction, number
     ON CONFLICT DO NOTHING RETURNING id),
   last AS (SELECT era, transaction, number FROM page ORDER BY era DESC, transaction DESC, number DESC LIMIT 1),
   moved AS (
     UPDATE webhooks SET era = last.era, transaction = last.transaction, number = last.number,
       begun = CASE WHEN webhooks.era = last.era THEN webhooks.begun END, unchecked = unchecked + (SELECT count(*) FROM made)
     FROM last WHERE webhooks.id = $id RETURNING unchecked)
   SELECT (SELECT unchecked FROM moved) AS unchecked, (SELECT count(*) FROM page) = ${eventsAtOnceMax} AS has_more,
     EXISTS (SELECT FROM own JOIN events AS held USING (reseller_id) CROSS JOIN log WHERE ${isHeldBack("held")}) AS is_held_back` as string,
  { unchecked: "int4?", has_more: "bool", is_held_back: "bool" },
);

// The rarest attempted first: a delivery that always fails does not keep others from showing that the receiver is well again.
const dueDeliveries = statement(
  "webhook-deliveries-due",
  `SELECT id, event_id, body, attempts, ends_at FROM webhook_deliveries
   WHERE webhook_id = $id AND status = 'Pending' AND next_at <= $now
   ORDER BY type <> '${testType}', attempts, id LIMIT $limit`,
  { id: "int8", event_id: "text", body: "jsonb", attempts: "int4", ends_at: "timestamptz" },
);
type Delivery = NonNullable<(typeof dueDeliveries)["row"]>;

const noteAttempt = statement(
  "webhook-delivery-attempt",
  `UPDATE webhook_deliveries SET attempts = attempts + 1, status = $status, next_at = $next_at, attempted_at = $now,
     duration_ms = $duration_ms, answer_status = $answer_status, answer_text = $answer_text, error_text = $error_text
   WHERE id = $id`,
  {},
);

const bringForward = statement(
  "webhook-deliveries-forward",
  "UPDATE webhook_deliveries SET next_at = $now WHERE webhook_id = $id AND status = 'Pending' AND next_at > $now",
  {},
);

// A webhook that has new events stays due, after its pause. One that its reseller has changed meanwhile begins without failures, and is
// due already, as is one whose reseller asks for a test.
const endStep = statement(
  "webhook-step-end",
  `UPDATE webhooks SET failing_since = $failing_since, failure_count = $failure_count, paused_until = $paused_until,
     is_enabled = is_enabled AND $disabled_reason::text IS NULL, disabled_reason = $disabled_reason,
     next_step_at = CASE WHEN $disabled_reason::text IS NOT NULL OR NOT is_enabled THEN NULL
       WHEN version <> $version THEN
         greatest(next_step_at, CASE WHEN paused_until IS NOT DISTINCT FROM $paused_before THEN $paused_until::timestamptz END)
       WHEN $is_at_once THEN $now
       WHEN $held_back_until::timestamptz IS NOT NULL THEN $held_back_until
       ELSE greatest($paused_until, (SELECT min(next_at) FROM webhook_deliveries WHERE webhook_id = $id AND status = 'Pending')) END
   WHERE id = $id AND url = $url AND failing_since IS NOT DISTINCT FROM $failing_before RETURNING id`,
  { id: "int8" },
);

/** The engine's step. */
export async function advanceWebhook(context: Context, id: number): Promise<void> {
  const { database, clock } = context;
  const [webhook] = await database.query(findWebhook, { id, now: clock.now() });
  if (!webhook) return;
  const made = await fanOut(context, id, webhook);
  const limit = webhook.failing_since ? 1 : deliveriesAtOnceMax;
  const due = await database.query(dueDeliveries, { id, now: clock.now(), limit });
  const health = await sendAll(context, webhook, due);
  await end(context, id, { ...webhook, version: made.version }, health, {
    isAtOnce: (made.hasMore && !health.hasFailed) || (health.isWell && due.length === limit),
    isHeldBack: made.isHeldBack,
  });
  await dropBeyondBounds(database, { id, unchecked: made.unchecked, hasFailed: health.hasFailed });
}

async function fanOut({ database, clock }: Context, id: number, webhook: Webhook) {
  const now = clock.now();
  const ends_at = new Date(now.getTime() + givenUpAfterMs);
  const [made] = await database.query(makeDeliveries, { id, types: typesSent(webhook), now, ends_at });
  const { unchecked, has_more, is_held_back } = made!;
  // Not the row's version now: an event that the statement could not see yet may have counted it up.
  const version = unchecked === null ? webhook.version : webhook.version + 1;
  return { version, unchecked: unchecked ?? 0, hasMore: has_more, isHeldBack: is_held_back };
}

interface Health {
  /** Whether the last attempt was delivered, or there was none and there is no failure. */
  isWell: boolean;
  /** Whether an attempt of this step failed. */
  hasFailed: boolean;
  /** Steps in a row in which one failed. */
  failures: number;
  /** What the receiver asked for. */
  retryAfterMs: number;
}

/** Ends early when one fails: the next step tries one alone. */
async function sendAll(context: Context, webhook: Webhook, due: readonly Delivery[]): Promise<Health> {
  const waiting = due.slice();
  const attempts: Attempt[] = [];
  const hasFailed = () => attempts.some(({ isDelivered }) => !isDelivered);
  const sendSome = async () => {
    for (let next = waiting.shift(); next && !hasFailed(); next = waiting.shift()) {
      attempts.push(await deliver(context, webhook, next));
    }
  };
  await Promise.all(Array.from({ length: requestsAtOnceMax }, sendSome));
  const before = attempts.some(({ isDelivered }) => isDelivered) ? 0 : webhook.failure_count;
  const failures = hasFailed() ? before + 1 : before;
  const retryAfterMs = Math.max(0, ...attempts.map((attempt) => attempt.retryAfterMs ?? 0));
  return { isWell: failures === 0, hasFailed: hasFailed(), failures, retryAfterMs };
}

async function deliver(context: Context, webhook: Webhook, delivery: Delivery): Promise<Attempt> {
  const { clock, database } = context;
  const body = JSON.stringify(delivery.body);
  const content = { id: delivery.event_id, timestamp: unixSeconds(clock), body };
  const headers = webhookHeaders(content, secretsOf(context, webhook));
  const attempt = await sendWebhook(context, { url: webhook.url, headers, body });
  await database.query(noteAttempt, { id: delivery.id, ...noteOf(context, delivery, attempt) });
  return attempt;
}

function secretsOf({ sealer }: Context, { webhook_code, secret_sealed, previous_secret_sealed }: Webhook): Secret[] {
  const row = webhookSecretRow(webhook_code);
  return [secret_sealed, previous_secret_sealed].flatMap((sealed) => (sealed ? [sealer.open(row, sealed)] : []));
}

function noteOf({ clock, random }: Context, { attempts, ends_at }: Delivery, attempt: Attempt) {
  const now = clock.now();
  const delayMs = retryAfterMs(attempts);
  const later = Math.max(delayMs, attempt.retryAfterMs ?? 0) + random.below(Math.floor(delayMs * retryJitter));
  const isOver = now >= ends_at;
  return {
    now,
    status: attempt.isDelivered ? "Delivered" : isOver ? "Failed" : "Pending",
    next_at: new Date(now.getTime() + later),
    duration_ms: attempt.durationMs,
    answer_status: attempt.answerStatus ?? null,
    // The answer to a success has no use, and could fill the disk.
    answer_text: attempt.isDelivered || attempt.answerText === undefined ? null : keptAnswer(attempt.answerText),
    error_text: attempt.errorText === undefined ? null : keptError(attempt.errorText),
  };
}

async function end(
  context: Context,
  id: number,
  webhook: Webhook,
  { isWell, hasFailed, failures, retryAfterMs: askedMs }: Health,
  { isAtOnce, isHeldBack: hasHeldBack }: { isAtOnce: boolean; isHeldBack: boolean },
): Promise<void> {
  const now = context.clock.now();
  const failingSince = isWell ? null : (webhook.failing_since ?? now);
  const outageMs = failingSince === null ? 0 : now.getTime() - failingSince.getTime();
  const isGivenUp = outageMs >= givenUpAfterMs;
  // A step that has tried nothing leaves the pause as it is.
  const pause = hasFailed ? new Date(now.getTime() + Math.max(pauseAfterMs(outageMs), askedMs)) : webhook.paused_until;
  const pausedUntil = isWell ? null : pause;
  const isBack = isWell && webhook.failure_count >= outageFailuresMin;
  const reason = isGivenUp ? "Every delivery has failed for 3 days." : null;
  await context.database.transaction(async (tx) => {
    if (isBack) await tx.query(bringForward, { id, now });
    const [ended] = await tx.query(endStep, {
      id,
      now,
      version: webhook.version,
      url: webhook.url,
      failing_before: webhook.failing_since,
      failing_since: failingSince,
      failure_count: failures,
      disabled_reason: reason,
      is_at_once: isAtOnce || isBack,
      paused_before: webhook.paused_until,
      paused_until: pausedUntil,
      held_back_until: hasHeldBack && isWell ? new Date(now.getTime() + heldBackMs) : null,
    });
    if (!ended || reason === null) return;
    const note = `every delivery to ${new URL(webhook.url).host} has failed since ${failingSince?.toISOString()}, so it is disabled: tell its reseller`;
    await raiseAlarm(context, { kind: "webhook", subject: webhook.webhook_code, note }, tx);
  });
}
