interface CatalogueEntry {
  status: number;
  text: string;
  /** Headers of its answers; with `?` at its end, of some of them. */
  headers?: readonly ("retry-after" | "location" | "location?" | "allow")[];
}

/**
 * The error catalogue: every code that the API can answer, with its HTTP status and a text that says what to do. Codes
 * are stable, texts may change. `docs/errors.md` is printed from it.
 */
export const catalogue = {
  invalid_paging_request: {
    status: 400,
    text: "Give skip as 0 or more and take as 1 or more, in plain decimal digits, each at most once. A cursor comes from a link header, unchanged, and cannot be combined with skip.",
  },
  invalid_request: { status: 400, text: "Name a domain: GET /domains/<domain_name>." },
  domain_not_valid: { status: 400, text: "This is not a valid domain name." },
  domain_not_found: { status: 404, text: "This domain name is not in your portfolio." },
  domain_availability_blocked: { status: 400, text: "This name cannot be registered through the API." },
  domain_availability_lookuperror: {
    status: 400,
    text: "The registry did not say in time whether the name is free. Nothing was ordered; try again in a minute.",
  },
  domain_availability_taken: {
    status: 400,
    text: "This name is not free. Transfers of names that are taken are not supported.",
    headers: ["location?"],
  },
  bad_request: { status: 400, text: "The request is not valid; see validation_errors." },
  service_unavailable: {
    status: 503,
    text: "This is currently unavailable. Nothing was changed; try again after the number of seconds in retry-after.",
    headers: ["retry-after"],
  },
  hostingaccount_invalid_identifier: { status: 403, text: "You do not own a hosting account with this identifier." },
  hosting_already_exist: {
    status: 400,
    text: "A hosting account with this identifier already exists, or the identifier is not available to you: it belongs to somebody else, or is above or under a name of theirs. If your own earlier request made it, read it at its location; else choose another, and add the name as a host name once you can prove it.",
    headers: ["location"],
  },
  host_name_not_available: {
    status: 400,
    text: "This name is not available to you: it, or a name above it, is in another portfolio.",
  },
  host_name_not_found: {
    status: 404,
    text: "The hosting account has no such host name; GET /hostingaccounts/<identifier>/hosts lists its host names.",
  },
  missing_reseller: { status: 403, text: "Hosting accounts can only be created by an account of kind reseller." },
  missing_reseller_profile: {
    status: 403,
    text: "Your reseller profile is not complete. Ask the operator to complete it.",
  },
  invalid_service_pack: {
    status: 400,
    text: "This service pack does not exist or is not on offer to you; GET /servicepacks lists those that are.",
  },
  auth_authorization_header_invalid_format: {
    status: 401,
    text: "Send the header Authorization: hmac {api key}:{signature}:{nonce}:{timestamp}, or sign by RFC 9421. POST /signature-check says what is wrong with a request's headers.",
  },
  authorization_hmac_invalid: {
    status: 401,
    text: "The signature does not match, or the API key is not valid. Sign the method, path with query, timestamp, nonce and body exactly as they are sent. POST /signature-check shows the texts that the service accepts.",
  },
  authorization_timestamp_invalid: {
    status: 401,
    text: "The timestamp is not accepted; sign again with the current time.",
  },
  authorization_nonce_reused: { status: 401, text: "This nonce was used already; sign again with a new one." },
  authorization_ip_not_allowed: { status: 401, text: "This API key may not be used from your address." },
  authorization_scope_missing: { status: 403, text: "This API key does not have the scope that is needed." },
  resource_not_found: { status: 404, text: "There is nothing at this path." },
  order_not_found: { status: 404, text: "You have no order with this code." },
  method_not_allowed: {
    status: 405,
    text: "This path does not accept this method; the allow header lists the methods that it accepts.",
    headers: ["allow"],
  },
  request_timeout: { status: 408, text: "The request did not arrive in time; send it again." },
  domain_expiration_changed: {
    status: 409,
    text: "The name's expiration_date is not the one that you gave, so it may have been renewed already. Nothing was ordered; read the domain, and order again if that is still wanted.",
  },
  dns_not_offered: {
    status: 409,
    text: "This service has no name servers for zones. Give the name other name servers: PUT /domains/<domain_name>/nameservers.",
  },
  domain_has_ds: {
    status: 409,
    text: "The registry shows DS records of this name, and the zone here is unsigned, so resolvers that validate would refuse it. Remove them first (PUT /domains/<domain_name>/dnssec with an empty list), and let their TTL pass.",
  },
  zone_not_found: { status: 404, text: "This name has no zone here; PUT /domains/<domain_name>/dns makes one." },
  zone_exists: {
    status: 409,
    text: "This name has a zone already: change its records instead. Only delegate is accepted for it here.",
  },
  zone_changed: {
    status: 412,
    text: "The zone has changed since you read it, so if-match does not hold. Nothing was changed; read it again.",
  },
  zone_leaving: {
    status: 409,
    text: "The name has left your portfolio. Its zone is served for a while, and can no longer be changed.",
  },
  zone_delegated: {
    status: 409,
    text: "The registry shows our name servers for this name, so without its zone it would not resolve. Give it others first, or repeat this with force=true.",
  },
  zone_change_not_found: {
    status: 404,
    text: "The zone has no such change; GET /domains/<domain_name>/dns/changes lists them.",
  },
  record_not_found: { status: 404, text: "The zone has no such record." },
  record_managed: {
    status: 409,
    text: "This record belongs to the service, and cannot be changed. A record of yours of the same name and type takes its place.",
  },
  webhook_not_found: { status: 404, text: "You have no webhook with this id." },
  webhook_delivery_not_found: {
    status: 404,
    text: "This webhook has no delivery of this event; GET /webhooks/<webhook_id>/deliveries lists those that are kept, and that this key may read.",
  },
  webhook_disabled: {
    status: 409,
    text: "The webhook is disabled, so nothing is sent. Enable it first: PUT /webhooks/<webhook_id> with enabled true.",
  },
  events_expired: {
    status: 410,
    text: "Events after this place were deleted: they are kept for 90 days. Read your lists, and begin again without after.",
  },
  domain_not_restorable: {
    status: 409,
    text: "This name cannot be restored. Only a deleted name can be, until its restorable_until.",
  },
  auth_code_not_found: {
    status: 404,
    text: "There is no auth code to read: none was ordered, its order has not finished, or it has expired. POST to this path orders one.",
  },
  auth_code_not_issued: {
    status: 409,
    text: "The registry of this name issues auth codes itself: ask it to send one to the name's registrant.",
  },
  domain_locked: {
    status: 409,
    text: "The name's transfer lock is on. Switch it off first: PUT /domains/<domain_name>/transfer-lock with transfer_locked false.",
  },
  domain_transfer_prohibited: {
    status: 409,
    text: "The registry does not allow a transfer of this name now.",
  },
  domain_renewal_underway: {
    status: 409,
    text: "The registry is carrying out the previous instruction: this name is being renewed or deleted. Nothing was changed; read the domain again after the number of seconds in retry-after.",
    headers: ["retry-after"],
  },
  hostingaccount_not_changeable: {
    status: 409,
    text: "This account has failed or is being deleted, so it can no longer be changed.",
  },
  hostingaccount_suspended_by_operator: {
    status: 409,
    text: "The operator has suspended this account, and only the operator can resume it: ask them. There is no suspension of yours to lift.",
  },
  idempotency_in_progress: {
    status: 409,
    text: "A request with this Idempotency-Key is still in progress; repeat it in a moment to get its answer.",
    headers: ["retry-after"],
  },
  request_too_large: { status: 413, text: "The body is larger than 64 KiB." },
  idempotency_key_reused: {
    status: 422,
    text: "This Idempotency-Key was used with another body; use a new key for a new request.",
  },
  order_limit_reached: {
    status: 429,
    text: "You have too many orders that are not finished, or your account has placed as many paid orders as it may in one day. Nothing was ordered; try again after the number of seconds in retry-after.",
    headers: ["retry-after"],
  },
  rate_limit_exceeded: {
    status: 429,
    text: "Too many requests, retry later: after the number of seconds in retry-after.",
    headers: ["retry-after"],
  },
  request_header_too_large: { status: 431, text: "The request line and headers are too large." },
  internal_error: {
    status: 500,
    text: "Something went wrong here. If it happens again, tell the operator the x-request-id.",
  },
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof catalogue;
export const errorCodes = Object.keys(catalogue) as ErrorCode[];

/** The headers that answers with this error have. */
export const errorHeaders = (code: ErrorCode) => (catalogue[code] as CatalogueEntry).headers ?? [];

export interface ValidationError {
  error_code: "missing" | "invalid";
  error_text: string;
  field: string;
}

export interface ApiErrorOptions {
  /** Replaces the catalogue's text when this occurrence can say more. */
  text?: string;
  /** The wrong fields and what is wrong with them, on a 400. */
  validationErrors?: ValidationError[];
  /** Response headers, names in lower case. */
  headers?: Record<string, string>;
}

/** An expected failure: a use case or the edge throws it, the edge answers it. It never carries a secret. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly validationErrors: ValidationError[] | undefined;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, options: ApiErrorOptions = {}) {
    super(options.text ?? catalogue[code].text);
    this.code = code;
    this.status = catalogue[code].status;
    this.validationErrors = options.validationErrors;
    this.headers = options.headers ?? {};
  }

  /** The one form of every answer with a status of 400 or above. */
  body(): { error_code: ErrorCode; error_text: string; validation_errors?: ValidationError[] } {
    return {
      error_code: this.code,
      error_text: this.message,
      ...(this.validationErrors && { validation_errors: this.validationErrors }),
    };
  }
}

/** A `bad_request` about one field. The text must not repeat the field's value where that is a secret. */
export function invalidField(field: string, text: string): ApiError {
  return new ApiError("bad_request", {
    text: `${field}: ${text}`,
    validationErrors: [{ error_code: "invalid", error_text: text, field }],
  });
}

/** A `service_unavailable` that says when to retry. */
export function unavailable(retryAfterSeconds: number, text?: string): ApiError {
  return new ApiError("service_unavailable", {
    ...(text !== undefined && { text }),
    headers: { "retry-after": String(Math.max(1, Math.ceil(retryAfterSeconds))) },
  });
}
