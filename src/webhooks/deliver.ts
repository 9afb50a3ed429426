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
import { measure } from "#lib/measure/measure.ts";
import type { Secret } from "#lib/secret.ts";
import { dropBeyondBounds, keptAnswer, keptError, waitingMax } from "#webhooks/kept.ts";
import { noteAnswers, takePlaces } from "#webhooks/pace.ts";
import { givenUpAfterMs, pauseAfterMs, retryAfterMs, retryJitter } from "#webhooks/pauses.ts";
import { testType, typesSent } from "#webhooks/reading.ts";
import { webhookSecretRow } from "#webhooks/rows.ts";
import { type Attempt, sendWebhook } from "#webhooks/send.ts";
import { webhookHeaders } from "#webhooks/signature.ts";
import { testToSend } from "#webhooks/verify.ts";

/** As many failures in a row are an outage: afterwards, what waits is sent at once. Fewer may be the trouble with one event. */
const outageFailuresMin = 3;
const heldBackMs = 250;

const eventsAtOnceMax = 500;
const deliveriesAtOnceMax = 20;
const requestsAtOnceMax = 4;
/** A step begins no more requests after this time: others need its place. */
const stepMsMax = 5_000;

/** How long a webhook waits at most. */
export const longestWebhookWait = "interval '13 hours'";

const findWebhook = statement(
  "webhook-for-step",
  `SELECT webhook_code, reseller_id, url, verified_at IS NOT NULL AS is_verified, types, scopes, secret_sealed, previous_until,
     failing_since, failure_count, paused_until, version,
     CASE WHEN previous_until > $now THEN previous_secret_sealed END AS previous_secret_sealed
   FROM webhooks WHERE id = $id AND is_enabled AND next_step_at <= $now`,
  {
    webhook_code: "text",
    reseller_id: "int8",
    url: "text",
    is_verified: "bool",
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

// Once its URL has answered, and while it has new events, a webhook stays due, after its pause. One that its reseller has changed
// meanwhile begins without failures, and is due already, as is one whose reseller asks for a test. Times that the step has read have
// milliseconds only.
const endStep = statement(
  "webhook-step-end",
  `UPDATE webhooks SET failing_since = $failing_since, failure_count = $failure_count, paused_until = $paused_until,
     is_enabled = is_enabled AND $disabled_reason::text IS NULL, disabled_reason = $disabled_reason,
     verified_at = coalesce(verified_at, $verified_at),
     next_step_at = CASE WHEN $disabled_reason::text IS NOT NULL OR NOT is_enabled THEN NULL
       WHEN version <> $version THEN
         greatest(next_step_at,
           CASE WHEN date_trunc('milliseconds', paused_until) IS NOT DISTINCT FROM $paused_before THEN $not_before::timestamptz END)
       WHEN $is_at_once THEN $now
       WHEN $held_back_until::timestamptz IS NOT NULL THEN $held_back_until
       WHEN NOT $is_verified THEN $not_before
       ELSE greatest($not_before, (SELECT min(next_at) FROM webhook_deliveries WHERE webhook_id = $id AND status = 'Pending')) END
   WHERE id = $id AND url = $url AND date_trunc('milliseconds', failing_since) IS NOT DISTINCT FROM $failing_before RETURNING id`,
  { id: "int8" },
);

/** The engine's step. */
export async function advanceWebhook(context: Context, id: number): Promise<void> {
  const { database, clock } = context;
  const [webhook] = await database.query(findWebhook, { id, now: clock.now() });
  if (!webhook) return;
  const made = webhook.is_verified ? await fanOut(context, id, webhook) : untested(webhook);
  const limit = webhook.failing_since ? 1 : deliveriesAtOnceMax;
  const due = webhook.is_verified
    ? await database.query(dueDeliveries, { id, now: clock.now(), limit })
    : await testToSend(context, id, givenUpAt(context));
  const { granted, nextAt } = await takePlaces(context, webhook, due.length);
  const health = await sendAll(context, webhook, due.slice(0, granted));
  await noteAnswers(context, webhook, health.delivered);
  const isMore = health.sent < granted || granted === limit;
  await end(context, id, { ...webhook, version: made.version }, health, {
    isAtOnce:
      (made.hasMore && !health.hasFailed) ||
      (health.isWell && isMore) ||
      (!webhook.is_verified && health.delivered > 0),
    isHeldBack: made.isHeldBack,
    nextAt,
  });
  await dropBeyondBounds(database, { id, unchecked: made.unchecked, hasFailed: health.hasFailed });
}

const givenUpAt = ({ clock }: Pick<Context, "clock">) => new Date(clock.now().getTime() + givenUpAfterMs);

/** Its events stay in the log. */
const untested = ({ version }: Webhook) => ({ version, unchecked: 0, hasMore: false, isHeldBack: false });

async function fanOut(context: Context, id: number, webhook: Webhook) {
  const now = context.clock.now();
  const values = { id, types: typesSent(webhook), now, ends_at: givenUpAt(context) };
  const [made] = await context.database.query(makeDeliveries, values);
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
  sent: number;
  delivered: number;
}

/** Ends early when one fails, and the next step tries one alone, or after `stepMsMax`. */
async function sendAll(context: Context, webhook: Webhook, due: readonly Delivery[]): Promise<Health> {
  const { clock } = context;
  const waiting = due.slice();
  const lastMs = clock.monotonicMs() + stepMsMax;
  const attempts: Attempt[] = [];
  const hasFailed = () => attempts.some(({ isDelivered }) => !isDelivered);
  const sendSome = async () => {
    while (waiting.length > 0 && !hasFailed() && clock.monotonicMs() <= lastMs) {
      attempts.push(await deliver(context, webhook, waiting.shift()!));
    }
  };
  await Promise.all(Array.from({ length: requestsAtOnceMax }, sendSome));
  const delivered = attempts.filter(({ isDelivered }) => isDelivered).length;
  const before = delivered > 0 ? 0 : webhook.failure_count;
  const failures = hasFailed() ? before + 1 : before;
  const retryAfterMs = Math.max(0, ...attempts.map((attempt) => attempt.retryAfterMs ?? 0));
  return { isWell: failures === 0, hasFailed: hasFailed(), failures, retryAfterMs, sent: attempts.length, delivered };
}

async function deliver(context: Context, webhook: Webhook, delivery: Delivery): Promise<Attempt> {
  const { clock, database } = context;
  const body = JSON.stringify(delivery.body);
  const content = { id: delivery.event_id, timestamp: unixSeconds(clock), body };
  const headers = webhookHeaders(content, secretsOf(context, webhook));
  const attempt = await sendWebhook(context, { resellerId: webhook.reseller_id, url: webhook.url, headers, body });
  measure("webhook_deliveries_total", { outcome: attempt.isDelivered ? "delivered" : "failed" });
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

/** The later one of a pause and the pace. */
const later = (pausedUntil: Date | null, nextAt: Date | undefined): Date | null =>
  pausedUntil && nextAt && nextAt > pausedUntil ? nextAt : (pausedUntil ?? nextAt ?? null);

const neverAnswered = "Its URL has not answered a test for 3 days.";

async function end(
  context: Context,
  id: number,
  webhook: Webhook,
  { isWell, hasFailed, failures, retryAfterMs: askedMs, delivered }: Health,
  { isAtOnce, isHeldBack: hasHeldBack, nextAt }: { isAtOnce: boolean; isHeldBack: boolean; nextAt: Date | undefined },
): Promise<void> {
  const now = context.clock.now();
  const failingSince = isWell ? null : (webhook.failing_since ?? now);
  const outageMs = failingSince === null ? 0 : now.getTime() - failingSince.getTime();
  const isGivenUp = outageMs >= givenUpAfterMs;
  // A step that has tried nothing leaves the pause as it is.
  const pause = hasFailed ? new Date(now.getTime() + Math.max(pauseAfterMs(outageMs), askedMs)) : webhook.paused_until;
  const pausedUntil = isWell ? null : pause;
  const isBack = isWell && webhook.failure_count >= outageFailuresMin;
  const reason = !isGivenUp ? null : webhook.is_verified ? "Every delivery has failed for 3 days." : neverAnswered;
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
      is_verified: webhook.is_verified,
      verified_at: delivered > 0 ? now : null,
      is_at_once: (isAtOnce || isBack) && !nextAt,
      paused_before: webhook.paused_until,
      paused_until: pausedUntil,
      not_before: later(pausedUntil, nextAt),
      held_back_until: hasHeldBack && isWell && !nextAt ? new Date(now.getTime() + heldBackMs) : null,
    });
    // One that never worked is its reseller's to notice.
    if (!ended || reason === null || !webhook.is_verified) return;
    const note = `every delivery to ${new URL(webhook.url).host} has failed since ${failingSince?.toISOString()}, so it is disabled: notify its reseller`;
    await raiseAlarm(context, { kind: "webhook", subject: webhook.webhook_code, note }, tx);
  });
}
