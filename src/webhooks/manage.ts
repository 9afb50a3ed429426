/** The calls that make and change webhooks. */
import Type, { type Static } from "typebox";
import { resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { ApiError, invalidField } from "#errors.ts";
import { eventTypes, selectTypes } from "#events/catalogue.ts";
import { withLog } from "#events/log.ts";
import { lockReseller } from "#locks/reseller-lock.ts";
import { parseBody } from "#use-case/body.ts";
import { textLike } from "#use-case/docs.ts";
import type { UseCase } from "#use-case/use-case.ts";
import { findAddresses, parseWebhookUrl, RefusedAddress } from "#webhooks/addresses.ts";
import { givenUpAfterMs } from "#webhooks/pauses.ts";
import { requireSelection, requireTypes, scopesAfter } from "#webhooks/reading.ts";
import {
  getOwnWebhook,
  presentWebhooks,
  shownColumns,
  shownSql,
  webhookSecretRow,
  webhookShape,
} from "#webhooks/rows.ts";
import { newWebhookSecret } from "#webhooks/signature.ts";

export const webhooksMax = 10;
const descriptionCharsMax = 200;
const typesMax = 50;
/** How long the previous secret continues to sign. */
const previousHours = 24;

const changeable = {
  url: Type.Optional(Type.String({ examples: ["https://shop.example.com/deedhouse"] })),
  description: Type.Optional(Type.String({ maxLength: descriptionCharsMax, examples: ["the shop"] })),
  types: Type.Optional(
    Type.Array(textLike("domain.*", "order.failed"), { maxItems: typesMax, description: "An empty list: all." }),
  ),
};
const createShape = Type.Object({
  ...changeable,
  url: Type.String({ examples: ["https://shop.example.com/deedhouse"] }),
});
const updateShape = Type.Object({ ...changeable, enabled: Type.Optional(Type.Boolean({ examples: [true] })) });

const secretField = {
  secret: Type.Optional(
    Type.String({
      description: "Signs the deliveries. It is shown this once; a repeat of the request has none.",
      examples: ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="],
    }),
  ),
};
const secretShape = Type.Object({ ...webhookShape.properties, ...secretField }, { title: "WebhookWithSecret" });

// Its place lies before all transactions that are underway; `begun` separates their events from those that happened before.
const insert = statement(
  "webhook-insert",
  `WITH ${withLog}
   INSERT INTO webhooks (webhook_code, reseller_id, url, description, types, scopes, secret_sealed, era, transaction, number,
     created_at, next_step_at)
   SELECT $code, $reseller_id, $url, $description, $types::text[], $scopes::text[], $secret_sealed, era,
     horizon, 0, $now, $now
   FROM log RETURNING ${shownSql}` as string,
  shownColumns,
);

const countOwn = statement(
  "webhook-count",
  "SELECT count(*) AS webhooks FROM webhooks WHERE reseller_id = $reseller_id",
  { webhooks: "int8" },
);

/** POST /webhooks */
export const createWebhook: UseCase = {
  errors: ["bad_request"],
  scope: "webhooks:manage",
  docs: {
    operation: "createWebhook",
    summary: "Makes a webhook: events are sent to its URL as they happen.",
    description: `An account has at most ${webhooksMax}. It gets what happens from now on, of the types that this key may read, once its URL has answered an event of the type \`webhook.test\` with 200 to 299. The test is sent at once, and again until it is answered. The key needs the scope of each type that it names.`,
    body: createShape,
    answers: { 201: { description: "The webhook, with its secret.", body: secretShape, headers: ["location"] } },
  },
  async handle(context, request) {
    const { url, description = "", ...given } = parseBody(createShape, request.rawBody);
    const types = parseTypes(given.types);
    requireSelection(request.caller, types);
    const { resellerId, scopes } = request.caller;
    const href = await parseTarget(context, resellerId, url);
    const code = `wh_${context.random.uuid().replaceAll("-", "").slice(0, 20)}`;
    const secret = newWebhookSecret(context.random);
    const values = {
      code,
      reseller_id: resellerId,
      url: href,
      description,
      types,
      scopes: scopes.slice(),
      secret_sealed: context.sealer.seal(webhookSecretRow(code), secret),
      now: context.clock.now(),
    };
    return context.database.transaction(async (tx) => {
      await lockReseller(tx, resellerId);
      const [own] = await tx.query(countOwn, { reseller_id: resellerId });
      if (own!.webhooks >= webhooksMax) {
        throw invalidField(
          "url",
          `Your account has ${webhooksMax} webhooks, which is the most: delete one, or change one.`,
        );
      }
      const [body] = await presentWebhooks(tx, request.caller, await tx.query(insert, values));
      const answer = { status: 201, headers: { location: `${request.prefix}/webhooks/${code}` }, body };
      // A stored answer must not have the secret.
      await request.commit(tx, answer);
      return { ...answer, body: { ...body!, secret: secret.reveal() } satisfies Static<typeof secretShape> };
    });
  },
};

const listOwn = statement(
  "webhook-list",
  `SELECT ${shownSql} FROM webhooks WHERE reseller_id = $reseller_id ORDER BY id` as string,
  shownColumns,
);

/** GET /webhooks: all, the oldest first; they are few. */
export const listWebhooks: UseCase = {
  errors: [],
  scope: "webhooks:manage",
  docs: {
    operation: "listWebhooks",
    summary: "Lists your webhooks, the oldest first.",
    answers: { 200: { description: "All of them.", body: Type.Array(webhookShape) } },
  },
  async handle({ database }, { caller }) {
    const rows = await database.query(listOwn, { reseller_id: caller.resellerId });
    return { status: 200, body: await presentWebhooks(database, caller, rows) };
  },
};

/** GET /webhooks/<webhook_id> */
export const readWebhook: UseCase = {
  errors: ["webhook_not_found"],
  scope: "webhooks:manage",
  docs: {
    operation: "readWebhook",
    summary: "Reads a webhook.",
    answers: { 200: { description: "The webhook.", body: webhookShape } },
  },
  async handle({ database }, request) {
    const [body] = await presentWebhooks(database, request.caller, [await getOwnWebhook(database, request)]);
    return { status: 200, body };
  },
};

// Enabled again, it begins without failures, and what waits has the whole time again.
const update = statement(
  "webhook-update",
  `WITH again AS (
     UPDATE webhook_deliveries SET ends_at = $ends_at, next_at = least(next_at, $now)
     WHERE webhook_id = $id AND status = 'Pending' AND $is_enabled)
   UPDATE webhooks SET url = $url, description = $description, types = $types::text[], scopes = $scopes::text[], is_enabled = $is_enabled,
     verified_at = CASE WHEN url = $url THEN verified_at END, disabled_reason = NULL, failing_since = NULL,
     failure_count = 0, paused_until = NULL, next_step_at = CASE WHEN $is_enabled THEN $now END
   WHERE id = $id RETURNING ${shownSql}` as string,
  shownColumns,
);

// What a request leaves out stays as the request before has left it.
const lock = statement("webhook-lock", "SELECT id FROM webhooks WHERE id = $id FOR UPDATE", { id: "int8" });

const findWaiting = statement(
  "webhook-waiting-types",
  "SELECT DISTINCT type FROM webhook_deliveries WHERE webhook_id = $id AND status = 'Pending'",
  { type: "text" },
);

/** PUT /webhooks/<webhook_id> */
export const updateWebhook: UseCase = {
  errors: ["bad_request", "webhook_not_found"],
  scope: "webhooks:manage",
  docs: {
    operation: "updateWebhook",
    summary: "Changes a webhook; fields that are left out stay.",
    description:
      "`enabled: true` enables a webhook again that was disabled, with the events that are still kept. A new URL must answer a test first; a change of anything sends that at once. To change `url` or `types`, the key needs the scopes of all types that the webhook gets, before and after. After a change by such a key it gets the types that this key may read.",
    body: updateShape,
    answers: { 200: { description: "The webhook.", body: webhookShape } },
  },
  async handle(context, request) {
    const { url, description, types, enabled } = parseBody(updateShape, request.rawBody);
    const { id } = await getOwnWebhook(context.database, request);
    const href = url === undefined ? undefined : await parseTarget(context, request.caller.resellerId, url);
    const wanted = types && parseTypes(types);
    const now = context.clock.now();
    return context.database.transaction(async (tx) => {
      await tx.query(lock, { id });
      const old = await getOwnWebhook(tx, request);
      const next = { url: href ?? old.url, types: wanted === undefined ? old.types : wanted };
      const scopes = scopesAfter(request.caller, old, next).slice();
      if (next.url !== old.url) {
        const waiting = await tx.query(findWaiting, { id });
        requireTypes(
          request.caller,
          waiting.map(({ type }) => type),
        );
      }
      const rows = await tx.query(update, {
        ...next,
        id,
        description: description ?? old.description,
        scopes,
        is_enabled: enabled ?? old.is_enabled,
        now,
        ends_at: new Date(now.getTime() + givenUpAfterMs),
      });
      await resolveAlarm(context, { kind: "webhook", subject: old.webhook_code }, tx);
      const [body] = await presentWebhooks(tx, request.caller, rows);
      const answer = { status: 200, body };
      await request.commit(tx, answer);
      return answer;
    });
  },
};

const remove = statement("webhook-delete", "DELETE FROM webhooks WHERE id = $id RETURNING id", { id: "int8" });

/** DELETE /webhooks/<webhook_id> */
export const deleteWebhook: UseCase = {
  errors: ["webhook_not_found"],
  scope: "webhooks:manage",
  docs: {
    operation: "deleteWebhook",
    summary: "Deletes a webhook, with its deliveries.",
    answers: { 204: { description: "It is deleted." } },
  },
  async handle(context, request) {
    const webhook = await getOwnWebhook(context.database, request);
    const answer = { status: 204 };
    await context.database.transaction(async (tx) => {
      if ((await tx.query(remove, { id: webhook.id })).length === 0) throw new ApiError("webhook_not_found");
      await resolveAlarm(context, { kind: "webhook", subject: webhook.webhook_code }, tx);
      await request.commit(tx, answer);
    });
    return answer;
  },
};

const rotate = statement(
  "webhook-rotate",
  `UPDATE webhooks SET previous_secret_sealed = secret_sealed, previous_until = $previous_until, secret_sealed = $secret_sealed
   WHERE id = $id RETURNING ${shownSql}` as string,
  shownColumns,
);

/** POST /webhooks/<webhook_id>/secret */
export const rotateWebhookSecret: UseCase = {
  errors: ["webhook_not_found"],
  scope: "webhooks:manage",
  docs: {
    operation: "rotateWebhookSecret",
    summary: "Makes a new secret for a webhook.",
    description: `For ${previousHours} hours deliveries have two signatures, of the new secret and of the one before it. The request has no body.`,
    answers: { 200: { description: "The webhook, with its new secret.", body: secretShape } },
  },
  async handle(context, request) {
    const webhook = await getOwnWebhook(context.database, request);
    const secret = newWebhookSecret(context.random);
    return context.database.transaction(async (tx) => {
      const [row] = await tx.query(rotate, {
        id: webhook.id,
        secret_sealed: context.sealer.seal(webhookSecretRow(webhook.webhook_code), secret),
        previous_until: new Date(context.clock.now().getTime() + previousHours * 60 * 60_000),
      });
      if (!row) throw new ApiError("webhook_not_found");
      const [body] = await presentWebhooks(tx, request.caller, [row]);
      await request.commit(tx, { status: 200, body });
      return { status: 200, body: { ...body!, secret: secret.reveal() } };
    });
  },
};

/** @returns the URL as it is called @throws ApiError `bad_request` for one that the service does not send to */
async function parseTarget(context: Context, resellerId: number, text: string): Promise<string> {
  try {
    const url = parseWebhookUrl(context.webhooks, text);
    await findAddresses(context, resellerId, url);
    return url.href;
  } catch (error) {
    if (!(error instanceof RefusedAddress)) throw error;
    throw invalidField("url", error.message);
  }
}

/** @returns null for all @throws ApiError `bad_request` */
function parseTypes(words: readonly string[] | undefined): string[] | null {
  if (!words || words.length === 0) return null;
  const unknown = words.find((word) => !selectTypes(word));
  if (unknown !== undefined) {
    throw invalidField("types", `Name types or families such as domain.*; the types are ${eventTypes.join(", ")}.`);
  }
  return words.slice();
}
