/** Rows of webhooks, as resellers see them. */
import Type, { type Static } from "typebox";
import { type RowOf, type SqlValues, statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";
import { instant, textLike } from "#use-case/docs.ts";
import type { Caller, UseCaseRequest } from "#use-case/use-case.ts";
import { typesSent, typesShown } from "#webhooks/reading.ts";

/** Binds a sealed secret to its row: it cannot be opened in another one. */
export const webhookSecretRow = (code: string) => `webhooks.secret/${code}`;

export const shownColumns = {
  id: "int8",
  webhook_code: "text",
  url: "text",
  description: "text",
  types: "text[]?",
  scopes: "text[]",
  is_verified: "bool",
  is_enabled: "bool",
  disabled_reason: "text?",
  failing_since: "timestamptz?",
  created_at: "timestamptz",
} as const;
type ShownRow = RowOf<typeof shownColumns>;

/** SQL: the columns of a row of `webhooks`. */
export const shownSql = `id, webhook_code, url, description, types, scopes, verified_at IS NOT NULL AS is_verified, is_enabled,
  disabled_reason, failing_since, created_at`;

/** Only the next events in the log are read to count those that wait: a disabled webhook may be months behind. */
const countedEventsMax = 10_000;

const countPending = statement(
  "webhooks-pending",
  `SELECT webhook.id, (
       SELECT count(*) FROM webhook_deliveries WHERE webhook_id = webhook.id AND status = 'Pending' AND type = ANY ($shown::text[])) + (
       SELECT count(*) FROM (
         SELECT event.type, event.era = webhook.era AND coalesce(pg_visible_in_snapshot(event.transaction, webhook.begun), false) AS is_before
         FROM events AS event
         WHERE event.reseller_id = webhook.reseller_id
           AND (event.era, event.transaction, event.number) > (webhook.era, webhook.transaction, webhook.number)
         ORDER BY event.era, event.transaction, event.number LIMIT ${countedEventsMax}) AS next
       WHERE type = ANY (asked.types::text[]) AND NOT is_before) AS pending
   FROM unnest($ids::int8[], $types::text[]) AS asked (id, types) JOIN webhooks AS webhook ON webhook.id = asked.id` as string,
  { id: "int8", pending: "int8" },
);
type Counting = { query(text: typeof countPending, values: SqlValues): Promise<{ id: number; pending: number }[]> };

export const webhookShape = Type.Object(
  {
    id: textLike("wh_5c1f0a9be2d34b7e8a61"),
    url: Type.String({ examples: ["https://shop.example.com/deedhouse"] }),
    description: textLike("the shop"),
    types: Type.Optional(
      Type.Array(textLike("domain.*"), { description: "Types and families; absent: all that it may get." }),
    ),
    verified: Type.Boolean({
      description: "Whether the URL has answered a test. Until then it gets no other events.",
      examples: [true],
    }),
    enabled: Type.Boolean({ examples: [true] }),
    disabled_reason: Type.Optional(textLike("Every delivery has failed for 3 days.")),
    failing_since: Type.Optional(Type.String({ ...instant, description: "Since when every delivery has failed." })),
    pending: Type.Integer({
      description: `Events that wait, of the types that this key may read. Of those without a delivery, the next ${countedEventsMax} are counted.`,
      examples: [0],
    }),
    created_at: instant,
  },
  { title: "Webhook" },
);

type ShownWebhook = Static<typeof webhookShape>;

/** Webhooks as this caller sees them: with what waits, as far as it may read that. */
export async function presentWebhooks(
  to: Counting,
  caller: Caller,
  rows: readonly ShownRow[],
): Promise<ShownWebhook[]> {
  const shown = typesShown(caller);
  const readable = (row: ShownRow) => typesSent(row).filter((type) => shown.includes(type));
  const types = rows.map((row) => `{${readable(row).join(",")}}`);
  const counted = await to.query(countPending, { ids: rows.map(({ id }) => id), types, shown });
  const pendingOf = new Map(counted.map(({ id, pending }) => [id, pending]));
  return rows.map((row) => presentWebhook(row, pendingOf.get(row.id) ?? 0));
}

function presentWebhook(row: ShownRow, pending: number): ShownWebhook {
  const { webhook_code, url, description, types, is_verified, is_enabled, disabled_reason } = row;
  const { failing_since, created_at } = row;
  return {
    id: webhook_code,
    url,
    description,
    ...(types && { types }),
    verified: is_verified,
    enabled: is_enabled,
    ...(disabled_reason !== null && { disabled_reason }),
    ...(failing_since && { failing_since: failing_since.toISOString() }),
    pending,
    created_at: created_at.toISOString(),
  };
}

const ofCaller = statement(
  "webhook-of-reseller",
  `SELECT ${shownSql} FROM webhooks WHERE reseller_id = $reseller_id AND webhook_code = $code` as string,
  shownColumns,
);
export type OwnWebhook = NonNullable<(typeof ofCaller)["row"]>;

/** The webhook of the path. @throws ApiError `webhook_not_found` */
export async function getOwnWebhook(
  to: { query: (text: typeof ofCaller, values: { reseller_id: number; code: string }) => Promise<OwnWebhook[]> },
  { caller, params }: UseCaseRequest,
): Promise<OwnWebhook> {
  const [webhook] = await to.query(ofCaller, { reseller_id: caller.resellerId, code: params.webhook_id ?? "" });
  if (!webhook) throw new ApiError("webhook_not_found");
  return webhook;
}
