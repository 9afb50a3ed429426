import { OwnAccount } from "./account.ts";
import { parseBaseUrl } from "./base-url.ts";
import { type Clock, systemClock } from "./clock.ts";
import { Domains } from "./domains.ts";
import { Events } from "./events.ts";
import { Hosting } from "./hosting.ts";
import { Orders } from "./orders.ts";
import { Renewals } from "./renewals.ts";
import type { RetryNotice } from "./retry.ts";
import { Signatures } from "./signature-check.ts";
import { createOpenCsv, createSend, ownUserAgent, type Send, type TransportOptions } from "./transport.ts";
import { Webhooks } from "./webhooks.ts";
import { Zones } from "./zones.ts";

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

/** All calls of the API, by collection. Every method rejects with `ApiError`, `ConnectionError` or its signal's reason. */
export interface Client {
  readonly account: OwnAccount;
  readonly domains: Domains;
  readonly events: Events;
  readonly hosting: Hosting;
  readonly orders: Orders;
  readonly renewals: Renewals;
  readonly signatures: Signatures;
  readonly webhooks: Webhooks;
  readonly zones: Zones;
}

/** Makes a client for one service and key. Throws `TypeError` when an option cannot be right. */
export function createClient(options: ClientOptions): Client {
  const transport = transportOf(options);
  const send = createSend(transport);
  const api = { send, openCsv: createOpenCsv(transport), clock: transport.clock };
  return {
    account: new OwnAccount(api),
    domains: new Domains(api),
    events: new Events(api),
    hosting: new Hosting(api),
    orders: new Orders(api),
    renewals: new Renewals(api),
    signatures: new Signatures(send),
    webhooks: new Webhooks(api),
    zones: new Zones(api),
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
