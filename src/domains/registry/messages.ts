/** Messages of registries that an operator must read: no order explains them, or they contradict one. */
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
   WHERE ($all OR needs_operator AND done_at IS NULL) AND ($registry_id::text IS NULL OR message.registry_id = $registry_id)
   ORDER BY received_at DESC LIMIT $rows_max`,
  messageColumns,
);

const messageById = statement(
  "operator-message",
  `SELECT message.registry_id AS registry, message_id, received_at, order_code, needs_operator, done_at, done_note, payload
   FROM poll_messages AS message LEFT JOIN registration_orders AS o ON o.id = message.order_id
   WHERE message.registry_id = $registry_id AND message_id = $message_id`,
  { ...messageColumns, payload: "text" },
);

const closeMessage = statement(
  "operator-message-done",
  `UPDATE poll_messages SET done_at = $now, done_note = $note
   WHERE registry_id = $registry_id AND message_id = $message_id AND needs_operator AND done_at IS NULL RETURNING message_id`,
  { message_id: "text" },
);

export interface MessageFilter {
  /** Also messages that need no operator, and those that are done. */
  all: boolean;
  registryId?: string | undefined;
  limit: number;
}

/** The newest first. */
export async function listMessages({ database }: OrderContext, { all, registryId, limit }: MessageFilter) {
  return database.query(messages, { all, registry_id: registryId ?? null, rows_max: limit });
}

export async function findMessage({ database }: OrderContext, registryId: string, messageId: string) {
  const [message] = await database.query(messageById, { registry_id: registryId, message_id: messageId });
  return message;
}

/** Marks a message as done, and resolves its alarm. Returns false when no such message needs an operator. */
export async function finishMessage(
  context: OrderContext,
  registryId: string,
  messageId: string,
  note: string,
): Promise<boolean> {
  const values = { registry_id: registryId, message_id: messageId, now: context.clock.now(), note };
  return context.database.transaction(async (tx) => {
    const [done] = await tx.query(closeMessage, values);
    if (!done) return false;
    await resolveAlarm(context, { kind: "message", subject: `${registryId}/${messageId}` }, tx);
    return true;
  });
}
