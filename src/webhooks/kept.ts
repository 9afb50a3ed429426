/** How much a webhook stores: the bounds, and the deletes that keep it within them. docs/webhooks.md has the sum. */
import type { Context } from "#context.ts";
import { deleteInParts } from "#db/parts.ts";
import { statement } from "#db/statement.ts";

export const keptDays = 90;
/** Deliveries that have ended. Those that wait are kept. */
export const keptMax = 10_000;
/** While as many wait, further events stay in the log. */
export const waitingMax = 5_000;
/** Tests, ended or waiting. */
export const keptTestsMax = 100;
/** Answers that were failures: the last of them. */
export const keptAnswersMax = 100;
const keptAnswerBytesMax = 1_024;
const keptErrorBytesMax = 512;

/** New deliveries after which those of the webhook are counted again. */
const uncheckedMax = 100;
const deletedAtOnceMax = 5_000;

/** What is kept of an attempt's texts. They come from the receiver. */
export const keptAnswer = (text: string): string => beginning(text, keptAnswerBytesMax);
export const keptError = (text: string): string => beginning(text, keptErrorBytesMax);

/** As many whole characters as fit. */
function beginning(text: string, bytesMax: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytesMax));
  return text.slice(0, read);
}

const dropAnswers = statement(
  "webhook-answers-drop",
  `UPDATE webhook_deliveries SET answer_text = NULL WHERE id IN (
     SELECT id FROM webhook_deliveries WHERE webhook_id = $id AND answer_text IS NOT NULL
     ORDER BY attempted_at DESC, id DESC OFFSET ${keptAnswersMax} LIMIT ${deletedAtOnceMax})`,
  {},
);

const dropBeyond = statement(
  "webhook-deliveries-drop-beyond",
  `WITH last AS MATERIALIZED (
     SELECT created_at, event_id FROM webhook_deliveries WHERE webhook_id = $id
     ORDER BY created_at DESC, event_id DESC OFFSET ${keptMax} LIMIT 1),
   gone AS (
     DELETE FROM webhook_deliveries WHERE id IN (
       SELECT delivery.id FROM last JOIN webhook_deliveries AS delivery
         ON delivery.webhook_id = $id AND (delivery.created_at, delivery.event_id) <= (last.created_at, last.event_id)
       WHERE delivery.status <> 'Pending' ORDER BY delivery.created_at, delivery.event_id LIMIT ${deletedAtOnceMax})
     RETURNING id)
   UPDATE webhooks SET unchecked = CASE WHEN (SELECT count(*) FROM gone) = ${deletedAtOnceMax} THEN unchecked ELSE 0 END
   WHERE id = $id`,
  {},
);

/** Keeps a webhook within the bounds, after a step that made deliveries or failed. */
export async function dropBeyondBounds(
  database: Context["database"],
  { id, unchecked, hasFailed }: { id: number; unchecked: number; hasFailed: boolean },
): Promise<void> {
  if (hasFailed) await database.query(dropAnswers, { id });
  if (unchecked >= uncheckedMax) await database.query(dropBeyond, { id });
}

const dropOld = deleteInParts("webhook-deliveries-drop", "webhook_deliveries", "created_at < $before", "created_at");

/** Deletes deliveries as old as the events that are deleted. */
export async function dropOldDeliveries({ database, clock }: Pick<Context, "database" | "clock">): Promise<void> {
  await dropOld(database, { before: new Date(clock.now().getTime() - keptDays * 24 * 60 * 60_000) });
}
