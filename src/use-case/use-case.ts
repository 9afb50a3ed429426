import type { Readable } from "node:stream";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import type { ErrorCode } from "#errors.ts";
import type { Docs } from "#use-case/docs.ts";
import type { CommittedRow } from "#use-case/stored-answers.ts";

/** The permissions of an API key. */
export const scopes = [
  "domains:read",
  "domains:register",
  "domains:renew",
  "domains:update",
  "domains:delete",
  "domains:transfer",
  "contacts:read",
  "hosting:read",
  "hosting:create",
  "hosting:update",
  "hosting:delete",
  "servicepacks:read",
  "webhooks:manage",
  "dns:read",
  "dns:update",
] as const;
export type Scope = (typeof scopes)[number];

const dnsScopes = ["dns:read", "dns:update"] as const satisfies readonly Scope[];

/** What a key may do: one that may give a name other name servers may also change the records here. */
export const withImplied = (given: readonly string[]): string[] =>
  given.includes("domains:update") ? [...new Set([...given, ...dnsScopes])] : [...given];

/** What can lose a name: a key has them only if they were asked for. */
const scopesOnRequest: readonly Scope[] = ["domains:delete", "domains:transfer"];
/** The scopes of a key that was created without any. */
export const scopesDefault: readonly Scope[] = scopes.filter((scope) => !scopesOnRequest.includes(scope));

/** The caller, as the signature proves it. */
export interface Caller {
  resellerId: number;
  keyId: string;
  kind: "reseller" | "plain";
  scopes: readonly string[];
}

/** A response before it is written: header names in lower case; `body` is JSON or absent. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** Instead of `body`: a text in parts, with its content type in the headers. If it fails, the connection is cut. */
  stream?: Readable;
}

/**
 * A form of the API. The use cases are the same behind every door; a door says where its answers send the client. Its
 * paths are below the request's prefix.
 */
export interface Door {
  /** The header with the seconds after which to look again. */
  lookAgainHeader: "check-after" | "retry-after";
  registrationPath(orderCode: string): string;
  hostingAccountPath(identifier: string): string;
  /** Where to follow the creation of a hosting account. */
  hostingCreationPath(account: { id: number; identifier: string }): string;
}

/** When a request was signed, and the last second in which it is valid, if it says so. In unix seconds. */
export interface SignedTimes {
  timestamp: number;
  expires: number | undefined;
}

export interface TimesJudgement {
  serverTime: Date;
  /** How far a timestamp may be from it. */
  windowSeconds: number;
  /** How far the timestamp is ahead. */
  skewSeconds: number | undefined;
  /** Why the edge refuses these times; undefined when it accepts them. */
  problem: string | undefined;
}

/** The content types that are offered in place of JSON. */
export type ListedType = "text/csv" | "text/event-stream" | "text/dns";

/** A request that has passed every check of the edge. */
export interface UseCaseRequest {
  caller: Caller;
  /** The parameters of the path, decoded and in lower case, e.g. `domain_name`. */
  params: Readonly<Record<string, string>>;
  /** Decoded; names and values in lower case. */
  query: URLSearchParams;
  /** The raw bytes of the body; `parseBody` reads them. */
  rawBody: Buffer;
  /** The fields and parameters that have no meaning here, for a caller who asks what would happen. */
  ignored: readonly string[];
  /** The prefix of the request's path, for `location`. */
  prefix: "" | "/v1" | "/v2";
  door: Door;
  /** How many seconds the client is ready to wait (`Prefer: wait=N`); 0 when it does not say. */
  waitSeconds: number;
  /** Counts this request as more than one. @throws ApiError `rate_limit_exceeded`, and counts nothing, if they exceed the limit */
  takeRequests(count: number): void;
  /** Fires when a wait must end: the client has disconnected, or this process stops. Created on demand. */
  signal(): AbortSignal;
  /** What is stored with an order, so that its steps belong to this request's trace; null: nobody traces it. */
  traceparent(): string | null;
  /** What the edge thinks of the times of another request's signature. */
  judgeTimes(signed: SignedTimes | undefined): TimesJudgement;
  /** The client takes this content type and no JSON. */
  wantsOnly(contentType: ListedType): boolean;
  /** The type of the body, in lower case and without parameters; empty when the client does not say. */
  contentType: string;
  /** The header If-Match: the client writes only over this version. */
  ifMatch: string | undefined;
  /** Where a client of server-sent events goes on, by its header. */
  lastEventId: string | undefined;
  /**
   * Begins one of the reseller's few answers of any length; a list as CSV counts as several requests. The caller ends it.
   * @throws ApiError `rate_limit_exceeded`
   */
  beginLong(kind: "csv" | "events"): () => void;
  /** The caller as its key is now; undefined when the key may not be used any more. */
  callerNow(): Promise<Caller | undefined>;
  /**
   * Stores the answer with the write that it reports, in the same transaction. An identical resend of a committed request gets
   * it again, whatever the client saw of the first.
   */
  commit(tx: Transaction, answer: Answer): Promise<void>;
  /**
   * The row that `commit` would write, for a statement that inserts it together with other rows; `undefined` when `commit` has
   * more to write. A unique violation of committed_requests means the same as there: this request was committed before.
   */
  committedRow(answer: Answer): CommittedRow | undefined;
}

/** One operation of the API: its file holds its errors, its rule and its SQL. */
export interface UseCase {
  /** Every error that it can answer beyond those of the edge; any other error is answered as a 500. */
  errors: readonly ErrorCode[];
  /** Several: any of them opens the use case, which then requires the one that fits (`requireScope`). */
  scope: Scope | readonly Scope[];
  /** What openapi.json says of it. */
  docs: Docs;
  /** A read with a method other than GET: its answers are not stored for repeats. */
  changesNothing?: true;
  handle(context: Context, request: UseCaseRequest): Promise<Answer>;
}
