/**
 * Stored answers: of committed writes by nonce (an identical resend gets the same answer), and of requests with an
 * Idempotency-Key (a repeat with the same body gets it). The write's transaction stores both.
 */

import type { Context } from "#context.ts";
import type { Database, Transaction } from "#db/database.ts";
import { isUniqueViolation } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { dayMs } from "#lib/clock.ts";
import type { Answer } from "#use-case/use-case.ts";

const answerColumns = { status: "int4", headers: "jsonb", body: "text?" } as const;

const committedByNonce = statement(
  "committed-request",
  "SELECT request_digest, status, headers, body FROM committed_requests WHERE key_id = $key_id AND nonce = $nonce",
  { request_digest: "bytea", ...answerColumns },
);

const insertCommitted = statement(
  "committed-request-insert",
  `INSERT INTO committed_requests (key_id, nonce, signed_at, request_digest, status, headers, body, created_at)
   VALUES ($key_id, $nonce, $signed_at, $request_digest, $status, $headers, $body, $now)`,
  {},
);

const committedSince = statement(
  "committed-requests-since",
  "SELECT key_id, nonce, signed_at FROM committed_requests WHERE signed_at >= $since_seconds",
  { key_id: "text", nonce: "text", signed_at: "int8" },
);

const idempotentByKey = statement(
  "idempotent-request",
  `SELECT body_mac, status, headers, body FROM idempotent_requests
   WHERE reseller_id = $reseller_id AND method = $method AND path = $path AND idempotency_key = $key
     AND created_at > $since`,
  { body_mac: "bytea", ...answerColumns },
);

const insertIdempotent = statement(
  "idempotent-request-insert",
  `INSERT INTO idempotent_requests (reseller_id, method, path, idempotency_key, body_mac, status, headers, body, created_at)
   VALUES ($reseller_id, $method, $path, $key, $body_mac, $status, $headers, $body, $now)
   ON CONFLICT (reseller_id, method, path, idempotency_key) DO UPDATE SET body_mac = excluded.body_mac,
     status = excluded.status, headers = excluded.headers, body = excluded.body, created_at = excluded.created_at
   WHERE idempotent_requests.created_at <= $expired_before
   RETURNING idempotency_key`,
  { idempotency_key: "text" },
);

/** How long an Idempotency-Key is kept. */
const idempotencyMs = 7 * dayMs;

interface StoredRow {
  status: number;
  headers: unknown;
  body: string | null;
}

function storedAnswer(row: StoredRow): Answer {
  const answer: Answer = { status: row.status, headers: row.headers as Record<string, string> };
  if (row.body !== null) answer.body = JSON.parse(row.body);
  return answer;
}

const bodyText = (answer: Answer) => (answer.body === undefined ? null : JSON.stringify(answer.body));

/** Thrown inside a transaction that must roll back, because another one has already committed this very request. */
export class AlreadyCommitted extends Error {}

/** The answer that was committed under a nonce, "other" when another request used the nonce, or `undefined`. */
export async function findCommittedAnswer(
  context: Context,
  { keyId, nonce, digest }: Omit<SignedWrite, "timestamp">,
): Promise<Answer | "other" | undefined> {
  // Not a point read: a lock on this table would delay every point read that is queued behind this one.
  const [row] = await context.database.query(committedByNonce, { key_id: keyId, nonce });
  if (!row) return undefined;
  return row.request_digest.equals(digest) ? storedAnswer(row) : "other";
}

export interface SignedWrite {
  keyId: string;
  nonce: string;
  timestamp: number;
  digest: Buffer;
}

/** The stored row of a committed write. */
export interface CommittedRow {
  key_id: string;
  nonce: string;
  /** Unix seconds. */
  signed_at: number;
  request_digest: Buffer;
  status: number;
  headers: Record<string, string>;
  body: string | null;
}

export function committedRow({ keyId, nonce, timestamp, digest }: SignedWrite, answer: Answer): CommittedRow {
  return {
    key_id: keyId,
    nonce,
    signed_at: timestamp,
    request_digest: digest,
    status: answer.status,
    headers: answer.headers ?? {},
    body: bodyText(answer),
  };
}

/** Whether the write's row existed before: another transaction has committed this very request. */
export const isAlreadyCommitted = (error: unknown): boolean => isUniqueViolation(error, "committed_requests_pkey");

/** Whether another process has answered a request with the write's nonce, and stored nothing for it. */
export const isNonceTaken = (error: unknown): boolean => isUniqueViolation(error, /^used_nonces_/);

/** At its commit the transaction throws an error for which `isAlreadyCommitted` holds, if that is so. */
export function storeCommittedAnswer(context: Context, tx: Transaction, write: SignedWrite, answer: Answer): void {
  tx.atCommit(insertCommitted, { ...committedRow(write, answer), now: context.clock.now() });
}

/** The nonces of writes signed at or after a time (Unix seconds). An api reads them when it starts. */
export function committedNoncesSince(database: Pick<Database | Transaction, "query">, sinceSeconds: number) {
  return database.query(committedSince, { since_seconds: sinceSeconds });
}

export interface IdempotentRequest {
  resellerId: number;
  method: string;
  path: string;
  key: string;
  /** MAC of the body: the database does not reveal the body. */
  bodyMac: Buffer;
}

/** The answer stored for an Idempotency-Key, "reused" when it came with another body, or `undefined`. */
export async function findIdempotentAnswer(
  context: Context,
  request: IdempotentRequest,
): Promise<Answer | "reused" | undefined> {
  const { resellerId, method, path, key, bodyMac } = request;
  const since = new Date(context.clock.now().getTime() - idempotencyMs);
  const [row] = await context.database.query(idempotentByKey, { reseller_id: resellerId, method, path, key, since });
  if (!row) return undefined;
  return row.body_mac.equals(bodyMac) ? storedAnswer(row) : "reused";
}

/** @throws AlreadyCommitted when another request with this key has been answered in the meantime */
export async function storeIdempotentAnswer(
  context: Context,
  database: Pick<Transaction, "query">,
  request: IdempotentRequest,
  answer: Answer,
): Promise<void> {
  const { resellerId, method, path, key, bodyMac } = request;
  const now = context.clock.now();
  const [stored] = await database.query(insertIdempotent, {
    reseller_id: resellerId,
    method,
    path,
    key,
    body_mac: bodyMac,
    status: answer.status,
    headers: answer.headers ?? {},
    body: bodyText(answer),
    now,
    expired_before: new Date(now.getTime() - idempotencyMs),
  });
  if (!stored) throw new AlreadyCommitted();
}
