/** What the calls take and give. The API's own data is named after openapi.json; openapi-types.ts is printed from it. */
import type { components } from "./openapi-types.ts";

type Schemas = components["schemas"];

/** The account of the key that signs: the key with its scopes, the limits, and the suffixes on offer. */
export type Account = Schemas["OwnAccount"];

/** A domain name of the portfolio, as lists show it. Timestamps are ISO 8601 UTC with milliseconds. */
export type Domain = Schemas["Domain"];
/** How a name is, in one word. */
export type DomainState = Domain["state"];
/** A domain name with the orders about it that are open. */
export type DomainInFull = Schemas["DomainInFull"];
/** The request of another registrar for a name of the portfolio. */
export type DomainTransfer = Schemas["Transfer"];
/** A host that a name delegates to. */
export type NameServer = Schemas["NameServer"];
/** A name that has left the portfolio. */
export type Departure = Schemas["Departure"];
/** Whether a name can be registered; `unknown`: its registry did not say. */
export type Availability = Schemas["Availability"];
export type Price = Schemas["Price"];

export type Order = Schemas["Order"];
export type OrderStatus = Order["status"];
/** `create` for a registration; otherwise what the order changes. */
export type OrderKind = Order["kind"];
/** The status of a registration, without the rest of the order. */
export type RegistrationStatus = Schemas["RegistrationStatus"];
/** An event in the life of a domain name. */
export type DomainEvent = Schemas["DomainEvent"];
/** What a registration would do; with an `order_code`, your own order for the name is open, and no other one would be placed. */
export type RegistrationPlan = Schemas["DryRun"] | Schemas["DryRunOfOrdered"];

/** A person or company that a name names. A contact that is sent must be complete. */
export type Contact = Schemas["Contact"];
/** Contacts by role, as they are sent. */
export type Contacts = Schemas["SetContactsBody"];
export type ContactRole = keyof Contacts;
/** Null: the name has no such contact, or one that was not made here. */
export type ContactsOfDomain = Schemas["Contacts"];

/** A DS record (RFC 4034 §5.1). */
export type DsRecord = NonNullable<Schemas["SetDnssecBody"]["ds"]>[number];
/** A DNSKEY record (RFC 4034 §2.1). */
export type KeyRecord = NonNullable<Schemas["SetDnssecBody"]["keys"]>[number];
/** An empty array removes all records. */
export type DnssecRecords = { ds: readonly DsRecord[] } | { keys: readonly KeyRecord[] };

/** What another registrar needs to request a name's transfer. */
export type AuthCode = Schemas["AuthCode"];
/** Why a transfer is rejected, in the terms of the ICANN Transfer Policy. */
export type RejectReason = NonNullable<Schemas["AnswerTransferBody"]["reason"]>;

/** The renewal of a domain name at the end of a term. */
export type Renewal = Schemas["Renewal"];
/** `Renewed` and `Ended` are final; `Attention`: an operator must act; `Lapsing`: the name will expire. */
export type RenewalStatus = Renewal["status"];

export type HostingAccount = Schemas["HostingAccount"];
export type HostingStatus = HostingAccount["status"];
/** The history of a hosting account, oldest first, and its next step. */
export type HostingHistory = Schemas["HostingHistory"];
export type HostingEvent = HostingHistory["history"][number];
/** A host name of an account's site, in addition to the platform's own, once control over it is proven. */
export type HostName = Schemas["HostName"];
/** A kind of hosting account; `id` is a string of digits. */
export type ServicePack = Schemas["ServicePack"];

/**
 * What has happened to a name, an order or a hosting account. Its `id` is also a place: `after` it come the events that follow. A
 * program ignores types that it does not know; what is in `data` depends on the type.
 */
export type ServiceEvent = Omit<Schemas["Event"], "data"> & { data: Readonly<Record<string, unknown>> };

/** An address to which the service sends events. */
export type Webhook = Schemas["Webhook"];
/** The secret signs the deliveries; a repeat of the request that made it has none. */
export type WebhookWithSecret = Schemas["WebhookWithSecret"];
/** `types` are types of events or families such as `domain.*`; an empty list: all. */
export type WebhookFields = Pick<Schemas["CreateWebhookBody"], "description" | "types">;
export type WebhookDelivery = Schemas["WebhookDelivery"];

/** The zone of a domain name. */
export type Zone = Schemas["Zone"];
/** The records of one name and type. */
export type RecordSet = Schemas["RecordSet"];
/** `subname` is relative to the domain name, `@` is the name itself; without records, a set is removed. */
export type RecordSetInput = Schemas["RecordSetInput"];
export type ZoneChange = Schemas["ZoneChange"];

/** A request as it was sent. */
export type DescribedRequest = Omit<Schemas["CheckSignatureBody"], "headers"> & {
  headers: Readonly<Record<string, string>> | readonly (readonly [name: string, value: string])[];
};
/** What the service builds from a request; `match` is only in the answer to a signed call. */
export type SignatureCheck = Schemas["SignatureExplanation"];

/** The reseller's request budget, from the answer's headers. */
export interface RateLimit {
  limit: number;
  usage: number;
  remaining: number;
  /** Seconds until the full budget is available again. */
  resetSeconds: number;
}

/** One answer: the body as the service sent it, and the contents of its headers. */
export interface Answer<T> {
  data: T;
  status: number;
  requestId: string | undefined;
  /** Missing only when another service answered. */
  rateLimit: RateLimit | undefined;
  /** Seconds after which to look again; missing when there is nothing to wait for. */
  checkAfterSeconds: number | undefined;
  /** The service holds answers until something changes (`Prefer: wait=N`), so another request may follow at once. */
  isWaitApplied: boolean;
  /** A path, never a URL. */
  location: string | undefined;
}

/** One page of a list. */
export interface Page<T> extends Answer<T[]> {
  /** As applied by the service: a `take` above 100 is returned as 100. */
  skipped: number | undefined;
  take: number | undefined;
  /** The number of items on all pages. */
  total: number | undefined;
  /** The query string of the next page, including `?`; missing on the last page. */
  nextQuery: string | undefined;
}

/** Some events. */
export interface EventPage extends Answer<ServiceEvent[]> {
  /** For `after` of the next call. It leads on even if there were no events. */
  next: string;
}

/** What a call that places an order answers. */
export type PlacedOrder = Answer<{ order_code: string }>;

/** What a call that orders a hosting account answers; the identifier is its canonical name. */
export type PlacedAccount = Answer<{ identifier: string }>;

/** What a call that changes records answers; the id is also the zone's version. */
export type PlacedChange = Answer<{ change_id: string }>;

/** Options of every method. */
export interface CallOptions {
  /** Cancels the call; the method then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface HeldOptions extends CallOptions {
  /** Up to 30: how many seconds the service may hold the answer until the status changes. */
  waitSeconds?: number | undefined;
}

/** Where a page begins, and how many items it has at most. */
export interface PageOptions {
  skip?: number | undefined;
  take?: number | undefined;
}

/** Selects some of the portfolio; all that are given must hold. */
export interface DomainFilter {
  /** The beginning of the name, as an A-label. */
  namePrefix?: string | undefined;
  /** A date, or a time with its zone. */
  expiresBefore?: string | undefined;
  willRenew?: boolean | undefined;
}

/** Selects renewals; by default all. */
export interface RenewalFilter {
  status?: RenewalStatus | undefined;
}

/** Selects deliveries; by default all. */
export interface DeliveryFilter {
  status?: WebhookDelivery["status"] | undefined;
}

export interface EventOptions extends CallOptions {
  /** The id of the last event that you have handled. Default: the oldest event that is kept, 90 days back. */
  after?: string | undefined;
  /** Types, or families such as `domain.*`; by default all that the key may read. */
  types?: readonly string[] | undefined;
}

export interface EventPageOptions extends EventOptions, HeldOptions {
  /** At most 1,000; default 100. */
  take?: number | undefined;
}

/** Selects orders; by default all. */
export interface OrderFilter {
  domainName?: string | undefined;
  kind?: OrderKind | undefined;
  status?: OrderStatus | undefined;
}

/** Options of every call that changes something. */
export interface WriteOptions extends CallOptions {
  /** 1 to 255 printable ASCII characters without spaces; random by default. A repeat with the same key and body is the same change. */
  idempotencyKey?: string | undefined;
}

/** Options of every call that changes records. */
export interface RecordOptions extends WriteOptions {
  /** The id of the change that you have read: if there is a newer one, the call rejects with `zone_changed`. */
  ifChangeId?: string | undefined;
}

export interface NewZone extends WriteOptions {
  /** Its first records. */
  sets?: readonly RecordSetInput[] | undefined;
  /** Orders our name servers for the name, once they serve the zone. */
  delegate?: boolean | undefined;
}

/** Selects sets of records; by default all. */
export interface RecordFilter {
  type?: string | undefined;
  subname?: string | undefined;
}

export interface RegistrationOptions extends WriteOptions {
  /** 1 to 10; by default the usual period of the suffix. */
  years?: number | undefined;
  nameServers?: readonly (string | NameServer)[] | undefined;
  /** Your account's profile takes the place of those left out. */
  contacts?: Contacts | undefined;
  /** Default true. */
  willRenew?: boolean | undefined;
  /** With which the registry allocates the name (RFC 8495). */
  allocationToken?: string | undefined;
}

export interface RenewNow {
  /** 1 to 10. */
  years: number;
  /** The expiration_date that the name has now, as the domain shows it, or its UTC date: a repeat never buys a second term. */
  expirationDate: string;
}

/** The data of a new hosting account. */
export interface NewHostingAccount {
  /** The account's host name. */
  identifier: string;
  /** An `id` from `hosting.packs.list`. */
  servicePackId: string;
  /** For FTP, 8 to 64 characters; the service keeps only a hash. */
  password: string;
}

export interface SuspendOptions extends WriteOptions {
  /** Why, in one line of up to 200 characters: you and the operator read it. */
  reason?: string | undefined;
}

export interface WaitOptions<T> extends CallOptions {
  /** Default 10 minutes. */
  timeoutMs?: number | undefined;
  /** Seconds between requests where no answer says so: pass on the value of the 202. */
  checkAfterSeconds?: number | undefined;
  /** Called with the first status and each change. */
  onStatus?: ((answer: Answer<T>) => void) | undefined;
}
