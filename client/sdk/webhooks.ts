import { followPages, pageOf, pageQuery } from "./paging.ts";
import { answerOf, arrayBody, objectBody } from "./response.ts";
import type { Send } from "./transport.ts";
import type {
  Answer,
  CallOptions,
  Page,
  PageOptions,
  Webhook,
  WebhookDelivery,
  WebhookFields,
  WebhookWithSecret,
  WriteOptions,
} from "./types.ts";

/** Selects deliveries; by default all. */
export interface DeliveryFilter {
  status?: WebhookDelivery["status"] | undefined;
}

/** The calls for webhooks: addresses to which the service sends events. They need a key with the scope `webhooks:manage`. */
export interface WebhookCalls {
  /** The answer has the secret, this once; the answer to a repeat has none. */
  createWebhook(url: string, fields?: WebhookFields, options?: WriteOptions): Promise<Answer<WebhookWithSecret>>;
  listWebhooks(options?: CallOptions): Promise<Answer<Webhook[]>>;
  getWebhook(id: string, options?: CallOptions): Promise<Answer<Webhook>>;
  /** Changes the fields that are given. */
  updateWebhook(
    id: string,
    fields: WebhookFields & { url?: string; enabled?: boolean },
    options?: WriteOptions,
  ): Promise<Answer<Webhook>>;
  deleteWebhook(id: string, options?: WriteOptions): Promise<Answer<undefined>>;
  /** For a day, deliveries are signed with the old secret, too. */
  rotateWebhookSecret(id: string, options?: WriteOptions): Promise<Answer<WebhookWithSecret>>;
  /** Sends an event of the type `webhook.test`; its delivery shows the answer. */
  testWebhook(id: string, options?: WriteOptions): Promise<Answer<undefined>>;
  /** One page of deliveries, the newest first. */
  listWebhookDeliveries(id: string, options?: PageOptions & DeliveryFilter): Promise<Page<WebhookDelivery>>;
  allWebhookDeliveries(id: string, options?: CallOptions & DeliveryFilter): AsyncGenerator<WebhookDelivery>;
  /** Sends an event again, with the same id. */
  resendWebhookDelivery(id: string, eventId: string, options?: WriteOptions): Promise<Answer<undefined>>;
}

export function webhookCalls(send: Send): WebhookCalls {
  const pathOf = (id: string) => `/webhooks/${encodeURIComponent(id)}`;
  const getDeliveries = async (id: string, query: string, signal: AbortSignal | undefined) =>
    pageOf<WebhookDelivery>(await send({ method: "GET", path: `${pathOf(id)}/deliveries`, query, signal }));
  return {
    async createWebhook(url, fields = {}, options = {}) {
      const reply = await send({ method: "POST", path: "/webhooks", body: { url, ...fields }, ...options });
      return answerOf(reply, objectBody<WebhookWithSecret>(reply));
    },

    async listWebhooks({ signal } = {}) {
      const reply = await send({ method: "GET", path: "/webhooks", signal });
      return answerOf(reply, arrayBody<Webhook>(reply));
    },

    async getWebhook(id, { signal } = {}) {
      const reply = await send({ method: "GET", path: pathOf(id), signal });
      return answerOf(reply, objectBody<Webhook>(reply));
    },

    async updateWebhook(id, fields, options = {}) {
      const reply = await send({ method: "PUT", path: pathOf(id), body: fields, ...options });
      return answerOf(reply, objectBody<Webhook>(reply));
    },

    async deleteWebhook(id, options = {}) {
      return answerOf(await send({ method: "DELETE", path: pathOf(id), ...options }), undefined);
    },

    async rotateWebhookSecret(id, options = {}) {
      const reply = await send({ method: "POST", path: `${pathOf(id)}/secret`, ...options });
      return answerOf(reply, objectBody<WebhookWithSecret>(reply));
    },

    async testWebhook(id, options = {}) {
      return answerOf(await send({ method: "POST", path: `${pathOf(id)}/test`, ...options }), undefined);
    },

    listWebhookDeliveries: (id, { status, ...page } = {}) =>
      getDeliveries(id, pageQuery(page, { status }), page.signal),

    allWebhookDeliveries: (id, { status, signal } = {}) =>
      followPages((query) => getDeliveries(id, query, signal), signal, { status }),

    async resendWebhookDelivery(id, eventId, options = {}) {
      const path = `${pathOf(id)}/deliveries/${encodeURIComponent(eventId)}/resend`;
      return answerOf(await send({ method: "POST", path, ...options }), undefined);
    },
  };
}
