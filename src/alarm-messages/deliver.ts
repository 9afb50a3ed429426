/**
 * One step of a channel: it sends what has waited longest. A process that is killed after a request and before its note sends the
 * request again, with the same id.
 */
import type { AlarmNews, Notice } from "#alarm-messages/notice.ts";
import type { ChannelName, Send, Sent } from "#alarm-messages/send.ts";
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { type BackoffSettings, backoffMs } from "#lib/backoff.ts";
import { dayMs } from "#lib/clock.ts";
import { measure } from "#lib/measure/measure.ts";
import { keptError } from "#webhooks/kept.ts";

type StepContext = Pick<Context, "database" | "clock" | "log" | "random">;

const hourMs = 60 * 60_000;
/** A person reads no more: the rest of an hour is one summary. */
const requestsPerHourMax = 20;
const summaryMax = 500;
const givenUpAfterMs = dayMs;
const pauses: BackoffSettings = { firstMs: 5_000, maxMs: 10 * 60_000 };
/** Other reasons than a restart of the receiver. */
const failingMsMax = hourMs;
/** A notification may be lost. */
const idleMs = 60_000;

/** How long a channel waits at most: for its next message of the hour. */
export const longestChannelWait = "interval '2 hours'";

const findChannel = statement(
  "alarm-channel-for-step",
  "SELECT failing_since, failure_count, paused_until, version FROM alarm_channels WHERE name = $name AND next_step_at <= $now",
  { failing_since: "timestamptz?", failure_count: "int4", paused_until: "timestamptz?", version: "int8" },
);
type Channel = NonNullable<(typeof findChannel)["row"]>;

// Those that were open before the channel was.
const addMissing = statement(
  "alarm-messages-add",
  `INSERT INTO alarm_messages (channel, alarm_id, what, created_at)
   SELECT $name, id, 'opened', since FROM alarms
   WHERE resolved_at IS NULL AND (kind <> 'alarm-channel' OR subject <> $name)
     AND NOT EXISTS (SELECT FROM alarm_messages WHERE alarm_id = alarms.id AND channel = $name AND what = 'opened')
   ORDER BY id ON CONFLICT DO NOTHING`,
  {},
);

// The rarest attempted first: one that the receiver never takes holds up no other. The end of an alarm follows its beginning.
const waitingMessages = statement(
  "alarm-messages-waiting",
  `SELECT message.id, message.what, message.alarm_id, message.created_at, kind, subject, note, since, resolved_at
   FROM alarm_messages AS message LEFT JOIN alarms ON alarms.id = message.alarm_id
   WHERE channel = $name AND status = 'Pending'
   ORDER BY message.what <> 'test', attempts + (message.what = 'resolved' AND EXISTS (
       SELECT FROM alarm_messages AS opening WHERE opening.alarm_id = message.alarm_id AND opening.channel = $name
         AND opening.what = 'opened' AND opening.status = 'Pending'))::int4 * 1000000, message.id
   LIMIT ${summaryMax}`,
  {
    id: "int8",
    what: ["opened", "resolved", "test"],
    alarm_id: "int8?",
    created_at: "timestamptz",
    kind: "text?",
    subject: "text?",
    note: "text?",
    since: "timestamptz?",
    resolved_at: "timestamptz?",
  },
);
type Message = NonNullable<(typeof waitingMessages)["row"]>;

const sentInHour = statement(
  "alarm-messages-sent",
  `SELECT sent_at FROM alarm_messages
   WHERE channel = $name AND summary_of IS NULL AND sent_at > $after ORDER BY sent_at DESC LIMIT ${requestsPerHourMax}`,
  { sent_at: "timestamptz?" },
);

const noteSent = statement(
  "alarm-messages-note-sent",
  `UPDATE alarm_messages SET status = 'Sent', sent_at = $now, attempts = attempts + 1, error_text = $error_text,
     summary_of = nullif($first_id::int8, id)
   WHERE id = ANY ($ids::int8[])`,
  {},
);

// A test is for the person who waits for its outcome.
const noteFailed = statement(
  "alarm-messages-note-failed",
  `UPDATE alarm_messages SET attempts = attempts + 1, error_text = $error_text,
     status = CASE WHEN what = 'test' OR created_at < $given_up_before THEN 'Failed' ELSE 'Pending' END
   WHERE id = ANY ($ids::int8[])`,
  {},
);

// A message that was written meanwhile has counted the version up, and its channel is due.
const endStep = statement(
  "alarm-channel-step-end",
  `UPDATE alarm_channels SET seen_at = $now, failing_since = $failing_since, failure_count = $failure_count,
     paused_until = $paused_until, error_text = $error_text,
     next_step_at = CASE WHEN version <> $version THEN greatest(next_step_at, $paused_until) ELSE $next END
   WHERE name = $name`,
  {},
);

/** The engine's step. @param send by this channel */
export async function advanceChannel(context: StepContext, name: ChannelName, send: Send): Promise<void> {
  const { database, clock } = context;
  const [channel] = await database.query(findChannel, { name, now: clock.now() });
  if (!channel) return;
  await database.query(addMissing, { name });
  const waiting = await database.query(waitingMessages, { name });
  const chosen = await chooseMessages(context, name, waiting);
  if ("until" in chosen) return endIdle(context, name, channel, chosen.until);
  const notice = noticeOf(name, chosen.messages);
  const sent = await send(notice);
  await noteOutcome(context, name, channel, { notice, sent, messages: chosen.messages });
}

/** @returns what is sent now, or when there is something to send */
async function chooseMessages(
  { database, clock }: StepContext,
  name: ChannelName,
  waiting: readonly Message[],
): Promise<{ messages: readonly Message[] } | { until: Date }> {
  const nowMs = clock.now().getTime();
  const [first] = waiting;
  if (!first) return { until: new Date(nowMs + idleMs) };
  if (first.what === "test") return { messages: [first] };
  const sent = await database.query(sentInHour, { name, after: new Date(nowMs - hourMs) });
  const places = requestsPerHourMax - sent.length;
  if (places === 0) return { until: new Date(sent.at(-1)!.sent_at!.getTime() + hourMs) };
  return { messages: places === 1 ? waiting : [first] };
}

function noticeOf(name: ChannelName, messages: readonly Message[]): Notice {
  const first = messages[0]!;
  const news = messages.flatMap(newsOf);
  if (first.what === "test") return { id: `alarm_test_${first.id}`, at: first.created_at, type: "alarm.test", news };
  if (messages.length === 1) {
    return { id: `alarm_${first.alarm_id}_${first.what}`, at: first.created_at, type: `alarm.${first.what}`, news };
  }
  // One that has more in it is another.
  const ids = messages.map(({ id }) => id);
  const id = `alarms_${name}_${Math.min(...ids)}_${Math.max(...ids)}_${ids.length}`;
  return { id, at: messages.at(-1)!.created_at, type: "alarm.summary", news };
}

function newsOf({ what, alarm_id, kind, subject, note, since, resolved_at }: Message): AlarmNews[] {
  if (what === "test") return [];
  const resolvedAt = what === "resolved" ? resolved_at : null;
  return [{ what, alarmId: alarm_id!, kind: kind!, subject: subject!, note: note!, since: since!, resolvedAt }];
}

async function endIdle({ database, clock }: StepContext, name: ChannelName, channel: Channel, next: Date) {
  await database.query(endStep, { name, now: clock.now(), ...channel, error_text: null, next });
}

interface Outcome {
  notice: Notice;
  sent: Sent;
  messages: readonly Message[];
}

async function noteOutcome(context: StepContext, name: ChannelName, channel: Channel, outcome: Outcome): Promise<void> {
  const { database, clock, random, log } = context;
  const { isSent, errorText, retryAfterMs: askedMs = 0 } = outcome.sent;
  const { id, type } = outcome.notice;
  measure("alarm_messages_total", { channel: name, outcome: isSent ? "sent" : "failed" });
  const now = clock.now();
  const error_text = errorText === undefined ? null : keptError(errorText);
  const ids = outcome.messages.map((message) => message.id);
  const isTest = type === "alarm.test";
  // A test that fails says nothing about what waits, and changes no pause.
  const failures = isSent ? 0 : channel.failure_count + (isTest ? 0 : 1);
  const failingSince = failures === 0 ? null : (channel.failing_since ?? now);
  const pauseMs = isTest ? 0 : Math.max(backoffMs(Math.max(failures, 1), pauses, random), askedMs);
  const pausedUntil = isSent ? null : isTest ? channel.paused_until : new Date(now.getTime() + pauseMs);
  const about = { channel: name, notice: id, reason: error_text ?? undefined, failures };
  log[isSent ? "info" : "warn"](
    about,
    isSent ? "a message about alarms was sent" : "a message about alarms was not sent",
  );
  await database.transaction(async (tx) => {
    const given_up_before = new Date(now.getTime() - givenUpAfterMs);
    if (isSent) await tx.query(noteSent, { ids, now, error_text, first_id: ids[0]! });
    else await tx.query(noteFailed, { ids, error_text, given_up_before });
    const values = { failing_since: failingSince, failure_count: failures, paused_until: pausedUntil };
    const next = pausedUntil && pausedUntil > now ? pausedUntil : now;
    await tx.query(endStep, { name, now, version: channel.version, error_text, ...values, next });
    await reportChannel(context, tx, name, { failingSince, errorText, isSent });
  });
}

/** An alarm on the other channels. */
async function reportChannel(
  context: StepContext,
  tx: Parameters<typeof raiseAlarm>[2],
  name: ChannelName,
  { failingSince, errorText, isSent }: { failingSince: Date | null; errorText: string | undefined; isSent: boolean },
): Promise<void> {
  const alarm = { kind: "alarm-channel", subject: name } as const;
  if (isSent && errorText === undefined) return void (await resolveAlarm(context, alarm, tx));
  const outageMs = failingSince === null ? 0 : context.clock.now().getTime() - failingSince.getTime();
  if (!isSent && outageMs < failingMsMax) return;
  const since = failingSince === null ? "are not taken for all" : `have failed since ${failingSince.toISOString()}`;
  await raiseAlarm(context, { ...alarm, note: `messages about alarms by ${name} ${since}: ${errorText}` }, tx);
}
