import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import type { ErrorCode } from "#errors.ts";
import type { CommittedRow } from "#use-case/stored-answers.ts";

/** The permissions of an API key. */
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
}

/** A request that has passed every check of the edge. */
export interface UseCaseRequest {
  caller: Caller;
  /** The parameters of the path, decoded and in lower case, e.g. `domain_name`. */
  params: Readonly<Record<string, string>>;
  /** Decoded; names and values in lower case. */
  query: URLSearchParams;
  /** The raw bytes of the body; `parseBody` reads them. */
  rawBody: Buffer;
  /** The prefix of the request's path, for `location`. */
  prefix: "" | "/v1";
  /** How many seconds the client is ready to wait (`Prefer: wait=N`); 0 when it does not say. */
  waitSeconds: number;
  /** Fires when the client has disconnected. Created on demand. */
  signal(): AbortSignal;
  /**
   * Stores the answer with the write that it reports, in the write's own transaction. An identical resend of a
   * committed request gets it again, whatever the client saw of the first.
   */
  commit(tx: Transaction, answer: Answer): Promise<void>;
  /**
   * The row that `commit` would write, for a statement that inserts it together with its own rows; `undefined` when
   * `commit` has more to write. A unique violation of committed_requests means the same as there: this request was
   * committed before.
   */
  committedRow(answer: Answer): CommittedRow | undefined;
}

/** One operation of the API: its file holds its errors, its rule and its SQL. */
export interface UseCase {
  /** Every error that it can answer beyond those of the edge; any other error is answered as a 500. */
  errors: readonly ErrorCode[];
  scope: Scope;
  handle(context: Context, request: UseCaseRequest): Promise<Answer>;
}
