/** How messages of registries are stored, once each, with the alarms of those that need a person. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { messagePayload, messageText, storedMessageId } from "#domains/messages/kept-texts.ts";
import type { Reading } from "#domains/messages/read-message.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";

/** More kinds at once are one: a registry may invent names of data. */
const kindsAlarmedMax = 20;
const otherKinds = "others";
const noteTextCharsMax = 200;

// Its order may have ended otherwise since the message woke it: then nothing else would mark the message.
const insertMessage = statement(
  "poll-message-insert",
  `INSERT INTO poll_messages
     (registry_id, message_id, received_at, order_id, needs_operator, payload, kind, outcome, domain_name, message_text)
   VALUES ($registry_id, $message_id, $now, $order_id,
     $needs_operator OR EXISTS (SELECT FROM orders WHERE id = $order_id AND status = 'Finished'
       AND found -> 'decision' @> jsonb_build_object('is', 'denied', 'message_id', $message_id::text)), $payload, $kind, $outcome, $domain_name, $message_text)
   ON CONFLICT DO NOTHING RETURNING message_id`,
  { message_id: "text" },
);

const alarmedKinds = statement(
  "message-kinds-alarmed",
  `SELECT subject FROM alarms WHERE kind = 'messages-kept' AND resolved_at IS NULL AND starts_with(subject, $registry_id || '/')`,
  { subject: "text" },
);

const countOpen = statement(
  "messages-open-of-kind",
  `SELECT EXISTS (SELECT FROM poll_messages
     WHERE registry_id = $registry_id AND kind = $kind AND needs_operator AND done_at IS NULL) AS is_any`,
  { is_any: "bool" },
);

export interface NewMessage extends Omit<Reading, "effects"> {
  id: string;
  text: string;
  /** Without credentials. */
  payload: string;
  orderId?: number | undefined;
}

/** @returns false when the message is stored already */
export async function storeMessage(
  { context, profile }: RegistrySessions,
  tx: Transaction,
  message: NewMessage,
): Promise<boolean> {
  const { doubt, isUnexplained = false, outcome, domainName } = message;
  const id = storedMessageId(message.id);
  const kind = isUnexplained ? await kindOf(tx, profile.id, message.kind) : message.kind;
  const text = messageText(message.text);
  const stored = await tx.query(insertMessage, {
    registry_id: profile.id,
    message_id: id,
    now: context.clock.now(),
    order_id: message.orderId ?? null,
    needs_operator: isUnexplained || doubt !== undefined,
    payload: messagePayload(message.payload),
    kind,
    outcome,
    domain_name: domainName ?? null,
    message_text: text,
  });
  if (stored.length === 0) return false;
  context.log.info(
    { registry: profile.id, message: id, kind, outcome, name: domainName, text },
    "a registry's message",
  );
  if (doubt) await raiseAlarm(context, { kind: "message", subject: `${profile.id}/${id}`, note: doubt }, tx);
  else if (isUnexplained) {
    const note = `nothing explains messages of this kind; the last one is ${id}: "${text.slice(0, noteTextCharsMax)}"`;
    await raiseAlarm(context, { kind: "messages-kept", subject: `${profile.id}/${kind}`, note }, tx);
  }
  return true;
}

async function kindOf(tx: Transaction, registryId: string, kind: string): Promise<string> {
  const alarmed = (await tx.query(alarmedKinds, { registry_id: registryId })).map(({ subject }) => subject);
  if (alarmed.length < kindsAlarmedMax || alarmed.includes(`${registryId}/${kind}`)) return kind;
  return otherKinds;
}

/** To be called when a message of this kind is done: with the last one, the alarm is resolved. */
export async function resolveKind(
  context: Pick<Context, "database" | "clock" | "log">,
  tx: Transaction,
  registryId: string,
  kind: string,
): Promise<void> {
  const [open] = await tx.query(countOpen, { registry_id: registryId, kind });
  if (!open?.is_any) await resolveAlarm(context, { kind: "messages-kept", subject: `${registryId}/${kind}` }, tx);
}
