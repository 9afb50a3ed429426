import type { Items } from "./items.ts";
import { type Api, pathOf, Resource } from "./resource.ts";
import type {
  Answer,
  CallOptions,
  DeliveryFilter,
  Webhook,
  WebhookDelivery,
  WebhookFields,
  WebhookWithSecret,
  WriteOptions,
} from "./types.ts";

/** Addresses to which the service sends events. The calls need a key with the scope `webhooks:manage`. */
export class Webhooks extends Resource {
  readonly deliveries: Deliveries;

  constructor(api: Api) {
    super(api);
    this.deliveries = new Deliveries(api);
  }

  list({ signal }: CallOptions = {}): Items<Webhook> {
    return this.items({ path: "/webhooks", isWhole: true, signal });
  }

  get(id: string, options?: CallOptions): Promise<Answer<Webhook>> {
    return this.read(pathOf("webhooks", id), options);
  }

  /** The answer has the secret, this once; the answer to a repeat has none. */
  create(url: string, fields?: WebhookFields, options?: WriteOptions): Promise<Answer<WebhookWithSecret>> {
    return this.object({ method: "POST", path: "/webhooks", body: { url, ...fields }, ...options });
  }

  /** Changes the fields that are given. */
  update(
    id: string,
    fields: WebhookFields & { url?: string; enabled?: boolean },
    options?: WriteOptions,
  ): Promise<Answer<Webhook>> {
    return this.object({ method: "PUT", path: pathOf("webhooks", id), body: fields, ...options });
  }

  /** With its deliveries. */
  delete(id: string, options?: WriteOptions): Promise<Answer<undefined>> {
    return this.write("DELETE", pathOf("webhooks", id), options);
  }

  /** For a day, deliveries are signed with the old secret, too. */
  rotateSecret(id: string, options?: WriteOptions): Promise<Answer<WebhookWithSecret>> {
    return this.object({ method: "POST", path: pathOf("webhooks", id, "secret"), ...options });
  }

  /** Sends an event of the type `webhook.test`; its delivery shows the answer. */
  test(id: string, options?: WriteOptions): Promise<Answer<undefined>> {
    return this.write("POST", pathOf("webhooks", id, "test"), options);
  }
}

/** What was sent to a webhook, and what became of it. */
class Deliveries extends Resource {
  /** The newest first. */
  list(webhookId: string, { status, signal }: DeliveryFilter & CallOptions = {}): Items<WebhookDelivery> {
    return this.items({ path: pathOf("webhooks", webhookId, "deliveries"), filter: { status }, signal });
  }

  /** Sends an event again, with the same id. */
  resend(webhookId: string, eventId: string, options?: WriteOptions): Promise<Answer<undefined>> {
    return this.write("POST", pathOf("webhooks", webhookId, "deliveries", eventId, "resend"), options);
  }
}
