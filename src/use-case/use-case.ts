import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import type { ErrorCode } from "#errors.ts";
import type { CommittedRow } from "#use-case/stored-answers.ts";

/** What an API key can be allowed to do. */
export const scopes = [
  "domains:read",
  "domains:register",
  "domains:renew",
  "hosting:read",
  "hosting:create",
  "hosting:update",
  "hosting:delete",
  "servicepacks:read",
] as const;
export type Scope = (typeof scopes)[number];

/** Who asks, as the signature proved it. */
export interface Caller {
  resellerId: number;
  keyId: string;
  kind: "reseller" | "plain";
  scopes: readonly string[];
}

/** A response before it is written: header names in lower case, `body` is JSON or absent. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** A request that passed every check of the edge. */
export interface UseCaseRequest {
  caller: Caller;
  /** The path's own parts, decoded and in lower case, e.g. `domain_name`. */
  params: Readonly<Record<string, string>>;
  /** Decoded; names and values in lower case. */
  query: URLSearchParams;
  /** The body's bytes as they came; `parseBody` reads them. */
  rawBody: Buffer;
  /** The prefix that the request came with, for `location`. */
  prefix: "" | "/v1";
  /** Seconds that the client is ready to wait (`Prefer: wait=N`), 0 when it did not say. */
  waitSeconds: number;
  /** Fires when the client has gone. Made when asked for. */
  signal(): AbortSignal;
  /**
   * Keeps the answer with the write that it reports, in the write's own transaction: an identical resend of a
   * committed request gets it again, whatever the client saw of the first.
   */
  commit(tx: Transaction, answer: Answer): Promise<void>;
  /**
   * What `commit` would write, for a statement that writes it with its own rows; `undefined` when `commit` has more to
   * write. A unique violation of committed_requests means what it means there: this request was committed already.
   */
  committedRow(answer: Answer): CommittedRow | undefined;
}

/** One operation of the API: its file holds its errors, its rule and its SQL. */
export interface UseCase {
  /** Every error that it can answer beyond those of the edge; another one is answered as a 500. */
  errors: readonly ErrorCode[];
  scope: Scope;
  handle(context: Context, request: UseCaseRequest): Promise<Answer>;
}
