/** Messages of registries that a person has to read: no order explains them, or they contradict one. */
import { resolveAlarm } from "#alarms.ts";
import { statement } from "#db/statement.ts";
import type { OrderContext } from "#domains/orders/orders.ts";

const messageColumns = {
  registry: "text",
  message_id: "text",
  received_at: "timestamptz",
  order_code: "text?",
  needs_operator: "bool",
  done_at: "timestamptz?",
  done_note: "text?",
} as const;

const messages = statement(
  "operator-messages",
  `SELECT message.registry_id AS registry, message_id, received_at, order_code, needs_operator, done_at, done_note
   FROM poll_messages AS message LEFT JOIN registration_orders AS o ON o.id = message.order_id
   WHERE ($1 OR needs_operator AND done_at IS NULL) AND ($2::text IS NULL OR message.registry_id = $2)
   ORDER BY received_at DESC LIMIT $3`,
  messageColumns,
);

const messageById = statement(
  "operator-message",
  `SELECT message.registry_id AS registry, message_id, received_at, order_code, needs_operator, done_at, done_note, payload
   FROM poll_messages AS message LEFT JOIN registration_orders AS o ON o.id = message.order_id
   WHERE message.registry_id = $1 AND message_id = $2`,
  { ...messageColumns, payload: "text" },
);

const closeMessage = statement(
  "operator-message-done",
  `UPDATE poll_messages SET done_at = $3, done_note = $4
   WHERE registry_id = $1 AND message_id = $2 AND needs_operator AND done_at IS NULL RETURNING message_id`,
  { message_id: "text" },
);

export interface MessageFilter {
  /** Also those that needed nobody, and those that are done. */
  all: boolean;
  registryId?: string | undefined;
  limit: number;
}

/** The newest first. */
export async function listMessages({ database }: OrderContext, { all, registryId, limit }: MessageFilter) {
  return database.query(messages, [all, registryId ?? null, limit]);
}

export async function findMessage({ database }: OrderContext, registryId: string, messageId: string) {
  const [message] = await database.query(messageById, [registryId, messageId]);
  return message;
}

/** Ends a message's alarm. Returns false when there is no such message that waits for a person. */
export async function finishMessage(
  context: OrderContext,
  registryId: string,
  messageId: string,
  note: string,
): Promise<boolean> {
  return context.database.transaction(async (tx) => {
    const [done] = await tx.query(closeMessage, [registryId, messageId, context.clock.now(), note]);
    if (!done) return false;
    await resolveAlarm(context, { kind: "message", subject: `${registryId}/${messageId}` }, tx);
    return true;
  });
}
