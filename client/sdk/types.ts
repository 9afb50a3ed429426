import type { Contact, Contacts } from "./contacts.ts";

/** A host that a name delegates to. */
export interface NameServer {
  name: string;
  /** IPv4 and IPv6; only for hosts below a name of the same registry. */
  addresses?: string[] | undefined;
}

/** A domain name of the portfolio. Timestamps are ISO 8601 UTC with milliseconds. */
export interface Domain {
  /** Lower-case A-label form. */
  domain_name: string;
  expiration_date: string;
  will_renew: boolean;
  registration_date?: string;
  status?: string;
  name_servers?: NameServer[];
  /** The codes of its orders that have not ended, the oldest first. */
  changes_pending?: string[];
  /** While another registrar asks for the name. */
  transfer?: DomainTransfer;
}

/** The request of another registrar for a name of the portfolio. */
export interface DomainTransfer {
  status: string;
  requested_at: string;
  gaining_registrar: string;
  /** When the registry decides by itself. */
  answer_by: string;
}

/** A name that has left the portfolio. */
export interface Departure {
  domain_name: string;
  left_at: string;
  reason: "transferred" | "deleted" | "expired";
  /** The id of the registrar that has the name, if the registry has said it. */
  gaining_registrar?: string;
  /** Until when the registry can restore the name. */
  restorable_until?: string;
}

/** Whether a name can be registered; `unknown`: its registry did not say. */
export interface Availability {
  domain_name: string;
  availability: "available" | "taken" | "blocked" | "unknown";
  /** The price of a name that has a price of its own, for the whole period. */
  premium?: { amount: string; currency: string };
  /** For people. */
  reason?: string;
}

export type OrderStatus =
  | "NotProvisioned"
  | "Processing"
  | "Pending"
  | "Errors"
  | "Finished"
  | "FailedValidation"
  | "Cancelled";

/** The state of an order. */
export interface Order {
  order_code: string;
  status: OrderStatus;
  /** Of an order about a registered name: what it changes. */
  kind?: string;
  domain_name?: string;
  error_text?: string;
  /** What you can do now. */
  next?: string;
}

/** `Renewed` and `Ended` are final; `Attention`: an operator must act; `Lapsing`: the name will expire. */
export type RenewalStatus = "Scheduled" | "Processing" | "Attention" | "Lapsing" | "Renewed" | "Ended";

/** The renewal of a domain name at the end of a term. */
export interface Renewal {
  domain_name: string;
  /** The end of the term. */
  expiration_date: string;
  will_renew: boolean;
  status: RenewalStatus;
  /** When the name is renewed, if it is. */
  due_at: string;
  /** The end of the next term, once it is `Renewed`. */
  renewed_until?: string;
}

export type HostingStatus = "Provisioning" | "Ready" | "Failed" | "Suspended";

/** A hosting account; a list may contain fewer fields than the single account. */
export interface HostingAccount {
  identifier: string;
  servicepack_id?: string;
  /** The version of the pack that the account has. */
  servicepack_version?: number;
  status?: HostingStatus;
  created_at?: string;
  /** A requested change is not in effect yet. */
  changes_pending?: boolean;
  /** Present when the account will be deleted. */
  removal_requested_at?: string;
  ftp?: {
    host: string;
    port: number;
    username: string;
    /** False when nobody can log in; missing otherwise. */
    enabled?: boolean;
  };
  web?: { url: string };
  disk_quota_bytes?: number;
  disk_used_bytes?: number;
  files_max?: number;
  files_used?: number;
  /** The traffic of its site in a calendar month; 0: unlimited. */
  traffic_bytes_month?: number;
  /** The bytes that its site has sent this month; missing until they are counted. */
  traffic_used_bytes?: number;
  host_names_max?: number;
  error_text?: string;
}

/** An event in the life of a hosting account. */
export interface HostingEvent {
  at: string;
  /** Stable; `text` is for people. */
  event: string;
  status: HostingStatus;
  text: string;
  /** For repeated attempts: their number, and the time of the last one. */
  count?: number;
  last_at?: string;
}

/** The history of a hosting account, oldest first, and its next step. */
export interface HostingHistory {
  identifier: string;
  status: HostingStatus;
  changes_pending: boolean;
  next: string;
  history: HostingEvent[];
}

/** A kind of hosting account; `id` is a string of digits. */
export interface ServicePack {
  id: string;
  name: string;
  kind: string;
  version?: number;
  disk_quota_bytes?: number;
  files_max?: number;
  ftp_sessions_max?: number;
  /** The traffic of a site in a calendar month; 0: unlimited. */
  traffic_bytes_month?: number;
  host_names_max?: number;
  /** With `ftp`, FTP login is possible. */
  features?: string[];
}

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
  /** The service holds answers until something changes (`Prefer: wait=N`), so another look may follow at once. */
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

/** Options of every method. */
export interface CallOptions {
  /** Cancels the call; the method then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface HeldOptions extends CallOptions {
  /** Up to 30: how many seconds the service may hold the answer until the status changes. */
  waitSeconds?: number | undefined;
}

export interface PageOptions extends CallOptions {
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

export interface DomainListOptions extends PageOptions, DomainFilter {}

export interface RenewalOptions extends PageOptions {
  status?: RenewalStatus | undefined;
}

export interface CreateOptions extends CallOptions {
  /** Up to 255 characters; random by default. A repeat with the same key and body is the same order. */
  idempotencyKey?: string | undefined;
}

export interface RegistrationOptions extends CreateOptions {
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

/** What a registration would do. */
export interface RegistrationPlan {
  domain_name: string;
  /** Your own order for the name that is still open: no other one would be placed. The other fields are missing then. */
  order_code?: string;
  years?: number;
  will_renew?: boolean;
  /** Those of the registration itself. */
  name_servers?: NameServer[];
  /** All of them, if an order after the registration has to set them. */
  name_servers_later?: NameServer[];
  registrant?: Contact;
  contacts?: Contacts;
  /** Of a name with a price of its own. */
  price?: { amount: string; currency: string };
}

export interface WaitOptions<T> extends CallOptions {
  /** Default 10 minutes. */
  timeoutMs?: number | undefined;
  /** Seconds between looks where no answer says so: pass on the value of the 202. */
  checkAfterSeconds?: number | undefined;
  /** Called with the first status and each change. */
  onStatus?: ((answer: Answer<T>) => void) | undefined;
}
