/** Rows of webhooks, as resellers see them. */
import Type, { type Static } from "typebox";
import { type RowOf, statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";
import { instant, textLike } from "#use-case/docs.ts";
import type { UseCaseRequest } from "#use-case/use-case.ts";

/** Binds a sealed secret to its row: it cannot be opened in another one. */
export const webhookSecretRow = (code: string) => `webhooks.secret/${code}`;

export const shownColumns = {
  webhook_code: "text",
  url: "text",
  description: "text",
  types: "text[]?",
  is_verified: "bool",
  is_enabled: "bool",
  disabled_reason: "text?",
  failing_since: "timestamptz?",
  created_at: "timestamptz",
  pending: "int8",
} as const;
type ShownRow = RowOf<typeof shownColumns>;

/** SQL: the columns of a row of `webhooks`. */
export const shownSql = `webhook_code, url, description, types, verified_at IS NOT NULL AS is_verified, is_enabled, disabled_reason,
  failing_since, created_at,
  (SELECT count(*) FROM webhook_deliveries WHERE webhook_id = webhooks.id AND status = 'Pending') AS pending`;

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
    pending: Type.Integer({ description: "Deliveries that are not made yet.", examples: [0] }),
    created_at: instant,
  },
  { title: "Webhook" },
);

export function presentWebhook(row: ShownRow): Static<typeof webhookShape> {
  const { webhook_code, url, description, types, is_verified, is_enabled, disabled_reason } = row;
  const { failing_since, pending, created_at } = row;
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
  `SELECT id, ${shownSql} FROM webhooks WHERE reseller_id = $reseller_id AND webhook_code = $code` as string,
  { id: "int8", ...shownColumns },
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
