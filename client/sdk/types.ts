/** A domain name of the portfolio. Timestamps are ISO 8601 UTC with milliseconds. */
export interface Domain {
  /** Lower-case A-label form. */
  domain_name: string;
  expiration_date: string;
  will_renew: boolean;
  registration_date?: string;
  status?: string;
  name_servers?: string[];
}

export type OrderStatus =
  | "NotProvisioned"
  | "Processing"
  | "Pending"
  | "Errors"
  | "Finished"
  | "FailedValidation"
  | "Cancelled";

/** Where a registration stands. */
export interface Order {
  order_code: string;
  status: OrderStatus;
  error_text?: string;
}

/** `Renewed` and `Ended` are final; `Attention`: the operator is asked to look; `Lapsing`: it is left to end. */
export type RenewalStatus = "Scheduled" | "Processing" | "Attention" | "Lapsing" | "Renewed" | "Ended";

/** What becomes of a domain name at the end of a term. */
export interface Renewal {
  domain_name: string;
  /** The end of the term. */
  expiration_date: string;
  will_renew: boolean;
  status: RenewalStatus;
  /** When it is renewed, if it is. */
  due_at: string;
  /** The end of the next term, once it is `Renewed`. */
  renewed_until?: string;
}

export type HostingStatus = "Provisioning" | "Ready" | "Failed" | "Suspended";

/** A hosting account; the list may carry fewer fields than the single account. */
export interface HostingAccount {
  identifier: string;
  servicepack_id?: string;
  /** Of the pack, as it was when the account got it. */
  servicepack_version?: number;
  status?: HostingStatus;
  created_at?: string;
  /** Something was asked for that is not in force yet. */
  changes_pending?: boolean;
  /** There when it is to be deleted. */
  removal_requested_at?: string;
  ftp?: { host: string; port: number; username: string };
  web?: { url: string };
  disk_quota_bytes?: number;
  disk_used_bytes?: number;
  files_max?: number;
  files_used?: number;
  /** What its site may send in a calendar month; 0: as much as it likes. */
  traffic_bytes_month?: number;
  /** What its site has sent this month; missing while nobody has counted. */
  traffic_used_bytes?: number;
  host_names_max?: number;
  error_text?: string;
}

/** Something that happened to a hosting account. */
export interface HostingEvent {
  at: string;
  /** Stable; `text` is for people. */
  event: string;
  status: HostingStatus;
  text: string;
  /** Of tries in a row: how many, and the last one. */
  count?: number;
  last_at?: string;
}

/** What happened to a hosting account, the oldest first, and what happens next. */
export interface HostingHistory {
  identifier: string;
  status: HostingStatus;
  changes_pending: boolean;
  next: string;
  history: HostingEvent[];
}

/** A kind of hosting account on offer; `id` is a string of digits. */
export interface ServicePack {
  id: string;
  name: string;
  kind: string;
  version?: number;
  disk_quota_bytes?: number;
  files_max?: number;
  ftp_sessions_max?: number;
  /** What a site may send in a calendar month; 0: as much as it likes. */
  traffic_bytes_month?: number;
  host_names_max?: number;
  /** With `ftp` one can log in. */
  features?: string[];
}

/** The reseller's request budget as the answer's headers told it. */
export interface RateLimit {
  limit: number;
  usage: number;
  remaining: number;
  /** Seconds until the budget is whole again. */
  resetSeconds: number;
}

/** One answer: the body as the service sent it, and what its headers said. */
export interface Answer<T> {
  data: T;
  status: number;
  requestId: string | undefined;
  /** Missing only when something other than the service answered. */
  rateLimit: RateLimit | undefined;
  /** Seconds after which looking again makes sense; missing when there is nothing to wait for. */
  checkAfterSeconds: number | undefined;
  /** A path, never a URL. */
  location: string | undefined;
}

/** One page of a list. */
export interface Page<T> extends Answer<T[]> {
  /** As applied by the service: `take` above 100 comes back as 100. */
  skipped: number | undefined;
  take: number | undefined;
  /** All items there are, on every page. */
  total: number | undefined;
  /** Query string of the next page, `?` included; missing on the last one. */
  nextQuery: string | undefined;
}

/** What every method takes. */
export interface CallOptions {
  /** Ends the call; the method then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface PageOptions extends CallOptions {
  skip?: number | undefined;
  take?: number | undefined;
}

export interface RenewalOptions extends PageOptions {
  status?: RenewalStatus | undefined;
}

export interface CreateOptions extends CallOptions {
  /** Up to 255 characters; random unless given. The same key and body again is the same order. */
  idempotencyKey?: string | undefined;
}

export interface WaitOptions<T> extends CallOptions {
  /** Default 10 minutes. */
  timeoutMs?: number | undefined;
  /** Seconds to let pass before the first look: hand on what the 202 said. */
  checkAfterSeconds?: number | undefined;
  /** Called with the first status and each one that differs from the one before. */
  onStatus?: ((answer: Answer<T>) => void) | undefined;
}
