import { type AccountCalls, accountCalls } from "./account.ts";
import { parseBaseUrl } from "./base-url.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type ContactCalls, contactCalls } from "./contacts.ts";
import { type DelegationCalls, delegationCalls } from "./delegation.ts";
import { type DomainCalls, domainCalls } from "./domains.ts";
import { type EventCalls, eventCalls } from "./events.ts";
import { type ExportCalls, exportCalls } from "./exports.ts";
import { type HostNameCalls, hostNameCalls } from "./host-names.ts";
import { type HostingCalls, hostingCalls } from "./hosting.ts";
import { type OrderCalls, orderCalls } from "./orders.ts";
import { type PaidCalls, paidCalls } from "./paid.ts";
import type { RetryNotice } from "./retry.ts";
import { type SignatureCalls, signatureCalls } from "./signature-check.ts";
import { type TransferCalls, transferCalls } from "./transfers.ts";
import { createOpenCsv, createSend, ownUserAgent, type Send, type TransportOptions } from "./transport.ts";
import { type WebhookCalls, webhookCalls } from "./webhooks.ts";

const timeoutMsDefault = 30_000;
const retriesDefault = 4;

export interface ClientOptions {
  /** The API's URL, with or without a version: `https://api.example.com/v1`. */
  url: string;
  /** 32 lower-case hex digits. */
  apiKey: string;
  /** Used for signing, never sent. */
  apiSecret: string;
  /** Replaces the runtime's own, for example for a proxy. */
  fetch?: typeof globalThis.fetch | undefined;
  /** For one attempt; default 30 000. For a status answer that the service holds, the holding time is added. */
  timeoutMs?: number | undefined;
  /** Attempts after the first; default 4. */
  retriesMax?: number | undefined;
  /** Your program, for the service's logs: `shop/1.0`. */
  userAgent?: string | undefined;
  /** Called before each retry, before its delay. */
  onRetry?: ((notice: RetryNotice) => void) | undefined;
  clock?: Clock | undefined;
}

/** All calls of the API. Every method rejects with `ApiError`, `ConnectionError` or its signal's reason. */
export interface Client
  extends AccountCalls,
    DomainCalls,
    ContactCalls,
    DelegationCalls,
    EventCalls,
    ExportCalls,
    HostingCalls,
    HostNameCalls,
    OrderCalls,
    PaidCalls,
    SignatureCalls,
    TransferCalls,
    WebhookCalls {}

/** Makes a client for one service and key. Throws `TypeError` when an option cannot be right. */
export function createClient(options: ClientOptions): Client {
  const transport = transportOf(options);
  const { clock } = transport;
  const send = createSend(transport);
  return {
    ...accountCalls(send),
    ...domainCalls(send),
    ...contactCalls(send),
    ...delegationCalls(send),
    ...eventCalls(send),
    ...exportCalls(createOpenCsv(transport)),
    ...hostingCalls(send, clock),
    ...hostNameCalls(send),
    ...orderCalls(send, clock),
    ...paidCalls(send),
    ...signatureCalls(send),
    ...transferCalls(send),
    ...webhookCalls(send),
  };
}

/** Sends calls of any path, as a client does, for programs that learn the paths from openapi.json. Throws as `createClient`. */
export function createSender(options: ClientOptions): Send {
  return createSend(transportOf(options));
}

function transportOf(options: ClientOptions): TransportOptions {
  return {
    baseUrl: parseBaseUrl(options.url),
    apiKey: parseApiKey(options.apiKey),
    apiSecret: parseApiSecret(options.apiSecret),
    fetch: options.fetch ?? globalThis.fetch,
    timeoutMs: options.timeoutMs ?? timeoutMsDefault,
    retriesMax: options.retriesMax ?? retriesDefault,
    userAgent: options.userAgent ? `${parseUserAgent(options.userAgent)} ${ownUserAgent}` : ownUserAgent,
    onRetry: options.onRetry,
    clock: options.clock ?? systemClock,
  };
}

function parseApiKey(text: string): string {
  if (!/^[0-9a-f]{32}$/.test(text)) throw new TypeError("an API key is 32 lower-case hex digits");
  return text;
}

function parseApiSecret(text: string): string {
  if (text === "") throw new TypeError("the API secret is empty");
  return text;
}

function parseUserAgent(text: string): string {
  if (!/^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(text)) throw new TypeError("a user agent has printable ASCII characters");
  return text;
}
