/** Messages of registries as an operator sees them, and how long they are kept. */
import { resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { deleteInParts } from "#db/parts.ts";
import { statement } from "#db/statement.ts";
import { resolveKind } from "#domains/messages/kept-messages.ts";
import type { OrderContext } from "#domains/orders/order.ts";

const messageColumns = {
  registry: "text",
  message_id: "text",
  received_at: "timestamptz",
  kind: "text?",
  outcome: "text?",
  domain_name: "text?",
  order_code: "text?",
  text: "text?",
  needs_operator: "bool",
  done_at: "timestamptz?",
  done_note: "text?",
} as const;

const columns = `message.registry_id AS registry, message_id, received_at, message.kind, outcome,
  coalesce(message.domain_name, o.domain_name) AS domain_name, order_code, message_text AS text, needs_operator, done_at, done_note`;

const listed = (which: string) => `
  SELECT ${columns}
  FROM poll_messages AS message LEFT JOIN orders AS o ON o.id = message.order_id
  WHERE ${which} AND ($registry_id::text IS NULL OR message.registry_id = $registry_id)
    AND ($kind::text IS NULL OR message.kind = $kind) AND (received_at, message.registry_id, message_id) < (
      coalesce((SELECT received_at FROM poll_messages WHERE registry_id = $after_registry AND message_id = $after_id), 'infinity'),
      coalesce($after_registry::text, ''), coalesce($after_id::text, ''))
  ORDER BY received_at DESC, message.registry_id DESC, message_id DESC LIMIT $rows_max`;
const messages = statement("operator-messages", listed("true"), messageColumns);
const openMessages = statement("operator-messages-open", listed("needs_operator AND done_at IS NULL"), messageColumns);

const messageById = statement(
  "operator-message",
  `SELECT ${columns}, payload
   FROM poll_messages AS message LEFT JOIN orders AS o ON o.id = message.order_id
   WHERE message.registry_id = $registry_id AND message_id = $message_id` as string,
  { ...messageColumns, payload: "text" },
);

const closeMessages = statement(
  "operator-messages-done",
  `UPDATE poll_messages SET done_at = $now, done_note = $note
   WHERE registry_id = $registry_id AND ($message_id::text IS NULL OR message_id = $message_id)
     AND ($kind::text IS NULL OR kind = $kind) AND needs_operator AND done_at IS NULL RETURNING message_id, kind`,
  { message_id: "text", kind: "text?" },
);

export interface MessageFilter {
  /** Also messages that need no operator, and those that are done. */
  all: boolean;
  registryId?: string | undefined;
  kind?: string | undefined;
  /** The last message of the previous page. */
  after?: { registry: string; message_id: string } | undefined;
  limit: number;
}

/** The newest first. */
export async function listMessages({ database }: OrderContext, { all, registryId, kind, after, limit }: MessageFilter) {
  return database.query(all ? messages : openMessages, {
    registry_id: registryId ?? null,
    kind: kind ?? null,
    after_registry: after?.registry ?? null,
    after_id: after?.message_id ?? null,
    rows_max: limit,
  });
}

export async function findMessage({ database }: OrderContext, registryId: string, messageId: string) {
  const [message] = await database.query(messageById, { registry_id: registryId, message_id: messageId });
  return message;
}

/** One message, or all of a kind. */
export type DoneMessages = { registryId: string; note: string } & ({ messageId: string } | { kind: string });

/** Marks messages as done, and resolves their alarms. @returns how many needed an operator */
export async function finishMessages(context: OrderContext, done: DoneMessages): Promise<number> {
  const { registryId, note } = done;
  const values = {
    registry_id: registryId,
    message_id: "messageId" in done ? done.messageId : null,
    kind: "kind" in done ? done.kind : null,
    now: context.clock.now(),
    note,
  };
  return context.database.transaction(async (tx) => {
    const closed = await tx.query(closeMessages, values);
    for (const { message_id } of closed) {
      await resolveAlarm(context, { kind: "message", subject: `${registryId}/${message_id}` }, tx);
    }
    const kinds = new Set(closed.flatMap(({ kind }) => (kind === null ? [] : [kind])));
    for (const kind of kinds) await resolveKind(context, tx, registryId, kind);
    return closed.length;
  });
}

const dropOld = deleteInParts(
  "poll-messages-drop",
  "poll_messages",
  "received_at < $received_before AND (done_at IS NOT NULL OR NOT needs_operator)",
  "received_at",
);

const dayMs = 24 * 60 * 60_000;

/** Deletes messages that are older than the setting, but never one that waits for an operator. */
export async function dropOldMessages({ database, clock, messageDays }: Context): Promise<void> {
  await dropOld(database, { received_before: new Date(clock.now().getTime() - messageDays * dayMs) });
}
