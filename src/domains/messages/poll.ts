/**
 * The registry's message queue (RFC 5730 §2.9.2.3). A message is stored and applied in one transaction and acknowledged after the
 * commit; a repeated one is a no-op. A message that nothing explains, or that cannot be read, is kept for an operator and
 * acknowledged, so that it never blocks the queue.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import { statement } from "#db/statement.ts";
import { type NewMessage, storeMessage } from "#domains/messages/kept-messages.ts";
import {
  describeRefusedMessage,
  findUnreadable,
  keptUnreadable,
  storedMessageId,
} from "#domains/messages/kept-texts.ts";
import { readMessage } from "#domains/messages/read-message.ts";
import { wakeOrderOf } from "#domains/messages/wake-order.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { isServerFault, isSuccess } from "#registry/epp/codes.ts";
import { pollAck } from "#registry/epp/commands/session/poll-ack.ts";
import { type PollMessage, pollRequest } from "#registry/epp/commands/session/poll-request.ts";
import { EppUnanswered } from "#registry/epp/errors.ts";
import type { Lease } from "#registry/epp/pool/pool.ts";

/** How many messages one run reads, so that an endless queue cannot hold a session forever. */
const messagesPerRunMax = 200;
/** How many of them may be unreadable: each costs two sessions. */
const unreadablePerRunMax = 5;

/** 1300: no messages (RFC 5730 §2.9.2.3). A registry that does not know the command (2101) has none. */
const emptyCodes = [1300, 2101, 2307];
/** RFC 5730 §2.9.2.3: the queue has no such message any more. */
const goneCode = 2303;

const anyAwaiting = statement(
  "orders-awaiting-message",
  `SELECT EXISTS (SELECT FROM orders WHERE registry_id = $registry_id AND lane = 'registration' AND ended_at IS NULL
     AND (status = 'Pending' OR phase = 'verify')) AS is_awaiting`,
  { is_awaiting: "bool" },
);

/**
 * Whether an order may have a message; then the queue is read more often. This includes an order whose answer was lost: it must
 * learn that its create was pending and denied before it finds nothing at the registry and creates the name again.
 */
export async function isMessageAwaited({ context, profile }: RegistrySessions): Promise<boolean> {
  const [row] = await context.database.query(anyAwaiting, { registry_id: profile.id });
  return row?.is_awaiting ?? false;
}

/**
 * Reads the queue until it is empty. One run at a time; calls during a run share the next one, because a message that was queued
 * before such a call may have come too late for the current run.
 * @returns whether it was read to its end
 * @throws EppUnavailable, EppUnanswered, EppNotSent: nothing is lost, try again
 */
export function drainPollQueue(sessions: RegistrySessions): Promise<boolean> {
  const { messageRuns: runs } = sessions;
  runs.next ??= runs.now.then(() => {
    const run = drain(sessions);
    runs.now = run.catch(() => {});
    runs.next = undefined;
    return run;
  });
  return runs.next;
}

async function drain(sessions: RegistrySessions): Promise<boolean> {
  let suspectId: string | undefined;
  let keptId: string | undefined;
  for (let failures = 0; ; failures++) {
    try {
      return await readQueue(sessions, keptId);
    } catch (error) {
      const unreadable = findUnreadable(error);
      if (!unreadable) await alarmUnreadableQueue(sessions, error);
      if (!unreadable || failures >= 2 * unreadablePerRunMax) throw error;
      keptId = undefined;
      // Only what cannot be read twice, on two sessions, is given up.
      if (suspectId === unreadable.id) {
        await keep(sessions, keptUnreadable(unreadable));
        keptId = unreadable.id;
      }
      suspectId = unreadable.id;
    }
  }
}

/** @param keptId a message that is stored, and that only its acknowledgement removes */
async function readQueue(sessions: RegistrySessions, keptId: string | undefined): Promise<boolean> {
  const { context, profile } = sessions;
  // As long as a create waits: with many creates in the queue, a shorter wait would never get a session.
  using lease = await sessions.pool.acquire("poll", { waitMs: profile.transformTimeoutMs });
  if (keptId !== undefined && !(await acknowledge(sessions, lease, keptId))) return false;
  let lastId = keptId;
  for (let taken = 0; taken < messagesPerRunMax; taken++) {
    const { code, data } = await lease.request(pollRequest(), { clTRID: sessions.queryClTrid() });
    if (code !== 1301 || !data) {
      const isRead = emptyCodes.includes(code);
      if (isRead) await resolveAlarm(context, { kind: "messages-blocked", subject: profile.id });
      return isRead;
    }
    if (data.id === lastId) {
      await alarmBlocked(sessions, `its message ${storedMessageId(data.id)} comes again after its acknowledgement`);
      return false;
    }
    if (!(await applyMessage(sessions, data))) return false;
    if (!(await acknowledge(sessions, lease, data.id))) return false;
    lastId = data.id;
  }
  return false;
}

/** Returns whether the registry removed the message; otherwise the next request would return it again. */
async function acknowledge(sessions: RegistrySessions, lease: Lease, messageId: string): Promise<boolean> {
  const { code } = await lease.request(pollAck(messageId), { clTRID: sessions.queryClTrid() });
  if (isSuccess(code) || code === goneCode) return true;
  const why = `it answers ${code} to the acknowledgement of its message ${storedMessageId(messageId)}`;
  if (!isServerFault(code)) await alarmBlocked(sessions, why);
  return false;
}

async function alarmUnreadableQueue(sessions: RegistrySessions, error: unknown): Promise<void> {
  if (!(error instanceof EppUnanswered) || error.reason !== "malformed") return;
  await alarmBlocked(sessions, "its answer to a poll cannot be read, and shows no id that could be acknowledged");
}

async function alarmBlocked({ context, profile }: RegistrySessions, note: string): Promise<void> {
  await raiseAlarm(context, { kind: "messages-blocked", subject: profile.id, note });
}

/** Returns false when the message must come again, because its order is not written as pending yet. */
async function applyMessage(sessions: RegistrySessions, message: PollMessage): Promise<boolean> {
  try {
    return await apply(sessions, message);
  } catch (error) {
    const why = describeRefusedMessage(error);
    if (why === undefined) throw error;
    const { id, text } = message;
    const payload = payloadOf(message);
    await keep(sessions, {
      id,
      kind: "unreadable",
      outcome: "kept",
      isUnexplained: true,
      text: `${why}: ${text}`,
      payload,
    });
    return true;
  }
}

async function apply(sessions: RegistrySessions, message: PollMessage): Promise<boolean> {
  const { id, text, panData } = message;
  const woken = panData && (await wakeOrderOf(sessions, id, panData));
  if (woken?.is === "too-early") return false;
  const { effects, ...reading } = await readMessage(sessions, message, woken);
  const stored = { ...reading, id, text, payload: payloadOf(message), orderId: woken?.orderId };
  await sessions.context.database.transaction(async (tx) => {
    if (!(await storeMessage(sessions, tx, stored))) return;
    for (const effect of effects) await effect(tx);
  });
  return true;
}

const payloadOf = ({ payload, panData, text }: PollMessage) => payload ?? JSON.stringify(panData ?? text);

async function keep(sessions: RegistrySessions, message: NewMessage): Promise<void> {
  await sessions.context.database.transaction(async (tx) => {
    await storeMessage(sessions, tx, message);
  });
}
