/** The calls about deliveries of webhooks: the log, a test, and sending again. */
import Type, { type Static } from "typebox";
import type { Context } from "#context.ts";
import { type RowOf, statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";
import { eventShape } from "#events/catalogue.ts";
import { instant, pageOf, pagingQuery, textLike } from "#use-case/docs.ts";
import { readChoice } from "#use-case/filter.ts";
import { newestFirst, placeColumn } from "#use-case/newest-first.ts";
import { answerPage } from "#use-case/paging.ts";
import type { Answer, UseCase, UseCaseRequest } from "#use-case/use-case.ts";
import { keptAnswersMax, keptDays, keptMax } from "#webhooks/kept.ts";
import { givenUpAfterMs } from "#webhooks/pauses.ts";
import { typesShown } from "#webhooks/reading.ts";
import { getOwnWebhook, type OwnWebhook } from "#webhooks/rows.ts";
import { newTestId, sendTest } from "#webhooks/verify.ts";

const statuses = ["Pending", "Delivered", "Failed"] as const;

const columns = {
  event_id: "text",
  type: "text",
  status: statuses,
  attempts: "int4",
  created_at: "timestamptz",
  next_at: "timestamptz",
  attempted_at: "timestamptz?",
  duration_ms: "int4?",
  answer_status: "int4?",
  answer_text: "text?",
  error_text: "text?",
  body: "jsonb",
} as const;
type DeliveryRow = RowOf<typeof columns>;

const deliveryShape = Type.Object(
  {
    event_id: Type.String({ description: "The webhook-id of every attempt.", examples: ["evt_1_8142_77"] }),
    type: textLike("domain.registered"),
    status: Type.Enum(statuses),
    attempts: Type.Integer({ examples: [1] }),
    created_at: instant,
    next_attempt_at: Type.Optional(Type.String({ ...instant, description: "Not before; while it is pending." })),
    attempted_at: Type.Optional(instant),
    duration_ms: Type.Optional(Type.Integer({ examples: [42] })),
    answer_status: Type.Optional(Type.Integer({ examples: [200] })),
    answer_text: Type.Optional(Type.String({ description: "The first KiB of a failure.", examples: ["ok"] })),
    error_text: Type.Optional(textLike("There was no answer within 10 s.")),
    event: eventShape,
  },
  { title: "WebhookDelivery" },
);

function presentDelivery(row: DeliveryRow): Static<typeof deliveryShape> {
  const { event_id, type, status, attempts, created_at, next_at, attempted_at, duration_ms } = row;
  const { answer_status, answer_text, error_text, body } = row;
  return {
    event_id,
    type,
    status,
    attempts,
    created_at: created_at.toISOString(),
    ...(status === "Pending" && { next_attempt_at: next_at.toISOString() }),
    ...(attempted_at && { attempted_at: attempted_at.toISOString() }),
    ...(duration_ms !== null && { duration_ms }),
    ...(answer_status !== null && { answer_status }),
    ...(answer_text !== null && { answer_text }),
    ...(error_text !== null && { error_text }),
    event: body as Static<typeof eventShape>,
  };
}

const own = `webhook_id = (SELECT id FROM webhooks WHERE webhook_code = $code AND reseller_id = $reseller_id)
  AND ($status::text IS NULL OR status = $status) AND type = ANY ($shown::text[])`;
const pages = newestFirst({
  name: "webhook-deliveries",
  total: `SELECT count(*) FROM webhook_deliveries WHERE ${own}`,
  keys: ({ beyond, order, rowsMax }) =>
    `SELECT created_at AS at, event_id AS code FROM webhook_deliveries WHERE ${own} AND ${beyond("created_at", "event_id")}
     ${order("created_at", "event_id")} LIMIT ${rowsMax}`,
  row: `FROM webhook_deliveries WHERE ${own} AND event_id = chosen.code`,
  columns,
});

/** GET /webhooks/<webhook_id>/deliveries */
export const listWebhookDeliveries: UseCase = {
  errors: ["invalid_paging_request", "bad_request", "webhook_not_found"],
  scope: "webhooks:manage",
  docs: {
    operation: "listWebhookDeliveries",
    summary: "Lists the deliveries of a webhook, the newest first.",
    description: `The deliveries of the last ${keptDays} days, of the types that this key may read, and at most the last ${keptMax}. An answer is kept when it is a failure, of the last ${keptAnswersMax}.`,
    query: Type.Object({ status: Type.Optional(Type.Enum(statuses)), ...pagingQuery }),
    answers: { 200: pageOf(deliveryShape) },
  },
  async handle(context, request) {
    const status = readChoice(request.query, "status", statuses);
    const { webhook_code: code } = await getOwnWebhook(context.database, request);
    const path = `/webhooks/${code}/deliveries`;
    const filter = status === undefined ? "" : `status=${status}`;
    const values = { code, status: status ?? null, shown: typesShown(request.caller) };
    const list = { list: path, nameColumn: placeColumn, filter, values };
    return answerPage(context, request, { ...pages, ...list }, path, presentDelivery);
  },
};

const sending: UseCase["docs"]["answers"] = {
  202: { description: "It is being sent; `location` is the list of deliveries.", headers: ["location", "check-after"] },
};

/** POST /webhooks/<webhook_id>/test */
export const testWebhook: UseCase = {
  errors: ["webhook_not_found", "webhook_disabled"],
  scope: "webhooks:manage",
  docs: {
    operation: "testWebhook",
    summary: "Sends an event of the type `webhook.test`.",
    description:
      "It is sent like any other event: its delivery is in the list, with the answer. A test that waits is sent at once instead of another one. The request has no body.",
    answers: sending,
  },
  async handle(context, request) {
    const webhook = await getOwnWebhook(context.database, request);
    const values = { ...timesOf(context), id: webhook.id, event_id: newTestId(context) };
    return due(context, request, webhook, (tx) => tx.query(sendTest, values));
  },
};

const resend = statement(
  "webhook-resend",
  `WITH again AS (
     UPDATE webhook_deliveries SET status = 'Pending', attempts = 0, next_at = $now, ends_at = $ends_at
     WHERE webhook_id = $id AND event_id = $event_id RETURNING id)
   UPDATE webhooks SET next_step_at = $now, paused_until = NULL FROM again WHERE webhooks.id = $id AND is_enabled RETURNING webhooks.id`,
  { id: "int8" },
);
const hasDelivery = statement(
  "webhook-has-delivery",
  "SELECT id FROM webhook_deliveries WHERE webhook_id = $id AND event_id = $event_id AND type = ANY ($shown::text[])",
  { id: "int8" },
);

/** POST /webhooks/<webhook_id>/deliveries/<event_id>/resend */
export const resendWebhookDelivery: UseCase = {
  errors: ["webhook_not_found", "webhook_delivery_not_found", "webhook_disabled"],
  scope: "webhooks:manage",
  docs: {
    operation: "resendWebhookDelivery",
    summary: "Sends an event to a webhook again, with the same id.",
    description: "An event that was delivered or given up can also be sent again. The request has no body.",
    answers: sending,
  },
  async handle(context, request) {
    const webhook = await getOwnWebhook(context.database, request);
    const which = { id: webhook.id, event_id: request.params.event_id ?? "" };
    const found = await context.database.query(hasDelivery, { ...which, shown: typesShown(request.caller) });
    if (found.length === 0) throw new ApiError("webhook_delivery_not_found");
    return due(context, request, webhook, (tx) => tx.query(resend, { ...timesOf(context), ...which }));
  },
};

function timesOf({ clock }: Context) {
  const now = clock.now();
  return { now, ends_at: new Date(now.getTime() + givenUpAfterMs) };
}

const checkAfterSeconds = "1";

/** @param write returns no row for a webhook that is disabled @throws ApiError `webhook_disabled`, and nothing is written */
async function due(
  context: Context,
  request: UseCaseRequest,
  { webhook_code: code }: OwnWebhook,
  write: (tx: Parameters<Parameters<Context["database"]["transaction"]>[0]>[0]) => Promise<unknown[]>,
): Promise<Answer> {
  const location = `${request.prefix}/webhooks/${code}/deliveries`;
  const answer = { status: 202, headers: { location, "check-after": checkAfterSeconds } };
  await context.database.transaction(async (tx) => {
    if ((await write(tx)).length === 0) throw new ApiError("webhook_disabled");
    await request.commit(tx, answer);
  });
  return answer;
}
