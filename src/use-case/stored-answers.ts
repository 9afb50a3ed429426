/**
 * Answers that are kept: of committed writes by their nonce (an identical resend gets the same answer), and of requests
 * with an Idempotency-Key (a repeat with the same body does). Both are written in the write's own transaction.
 */

import type { Context } from "#context.ts";
import type { Database, Transaction } from "#db/database.ts";
import { isUniqueViolation } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import type { Answer } from "#use-case/use-case.ts";

const answerColumns = { status: "int4", headers: "jsonb", body: "text?" } as const;

const committedByNonce = statement(
  "committed-request",
  "SELECT request_digest, status, headers, body FROM committed_requests WHERE key_id = $1 AND nonce = $2",
  { request_digest: "bytea", ...answerColumns },
);

const insertCommitted = statement(
  "committed-request-insert",
  `INSERT INTO committed_requests (key_id, nonce, signed_at, request_digest, status, headers, body, created_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING nonce`,
  { nonce: "text" },
);

const committedSince = statement(
  "committed-requests-since",
  "SELECT key_id, nonce, signed_at FROM committed_requests WHERE signed_at >= $1",
  { key_id: "text", nonce: "text", signed_at: "int8" },
);

const idempotentByKey = statement(
  "idempotent-request",
  `SELECT body_mac, status, headers, body FROM idempotent_requests
   WHERE reseller_id = $1 AND method = $2 AND path = $3 AND idempotency_key = $4 AND created_at > $5`,
  { body_mac: "bytea", ...answerColumns },
);

const insertIdempotent = statement(
  "idempotent-request-insert",
  `INSERT INTO idempotent_requests (reseller_id, method, path, idempotency_key, body_mac, status, headers, body, created_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
   ON CONFLICT (reseller_id, method, path, idempotency_key) DO UPDATE SET body_mac = excluded.body_mac,
     status = excluded.status, headers = excluded.headers, body = excluded.body, created_at = excluded.created_at
   WHERE idempotent_requests.created_at <= $10
   RETURNING idempotency_key`,
  { idempotency_key: "text" },
);

/** How long an Idempotency-Key is remembered. */
const idempotencyMs = 7 * 24 * 60 * 60 * 1000;

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

/** Thrown inside a transaction when another one has already committed this very request: it must be rolled back. */
export class AlreadyCommitted extends Error {}

/** What was committed under a nonce: `undefined` for nothing, the answer, or "other" when it was another request's. */
export async function findCommittedAnswer(
  context: Context,
  { keyId, nonce, digest }: Omit<SignedWrite, "timestamp">,
): Promise<Answer | "other" | undefined> {
  // Not a point read: whoever locks this table would hold up every other read behind this one.
  const [row] = await context.database.query(committedByNonce, [keyId, nonce]);
  if (!row) return undefined;
  return row.request_digest.equals(digest) ? storedAnswer(row) : "other";
}

export interface SignedWrite {
  keyId: string;
  nonce: string;
  timestamp: number;
  digest: Buffer;
}

/** What is kept of a committed write, as the columns of its row. */
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
    ...{ key_id: keyId, nonce, signed_at: timestamp, request_digest: digest },
    ...{ status: answer.status, headers: answer.headers ?? {}, body: bodyText(answer) },
  };
}

/** Whether the row of a write was there before: another transaction has committed this very request. */
export const isAlreadyCommitted = (error: unknown): boolean => isUniqueViolation(error, "committed_requests_pkey");

/** @throws AlreadyCommitted */
export async function storeCommittedAnswer(context: Context, tx: Transaction, write: SignedWrite, answer: Answer) {
  const row = committedRow(write, answer);
  const [stored] = await tx.query(insertCommitted, [
    ...[row.key_id, row.nonce, row.signed_at, row.request_digest, row.status, row.headers, row.body],
    context.clock.now(),
  ]);
  if (!stored) throw new AlreadyCommitted();
}

/** The nonces of writes signed at or after a time (Unix seconds), for an api that starts. */
export function committedNoncesSince(database: Database, sinceSeconds: number) {
  return database.query(committedSince, [sinceSeconds]);
}

export interface IdempotentRequest {
  resellerId: number;
  method: string;
  path: string;
  key: string;
  /** MAC of the body: what the body was cannot be told from the database. */
  bodyMac: Buffer;
}

/** What is stored for an Idempotency-Key: `undefined`, the answer, or "reused" when the body was another one. */
export async function findIdempotentAnswer(
  context: Context,
  request: IdempotentRequest,
): Promise<Answer | "reused" | undefined> {
  const { resellerId, method, path, key, bodyMac } = request;
  const since = new Date(context.clock.now().getTime() - idempotencyMs);
  const [row] = await context.database.query(idempotentByKey, [resellerId, method, path, key, since]);
  if (!row) return undefined;
  return row.body_mac.equals(bodyMac) ? storedAnswer(row) : "reused";
}

/** @throws AlreadyCommitted when another request with this key was answered meanwhile */
export async function storeIdempotentAnswer(
  context: Context,
  database: Pick<Transaction, "query">,
  request: IdempotentRequest,
  answer: Answer,
): Promise<void> {
  const { resellerId, method, path, key, bodyMac } = request;
  const now = context.clock.now();
  const [stored] = await database.query(insertIdempotent, [
    ...[resellerId, method, path, key, bodyMac, answer.status, answer.headers ?? {}, bodyText(answer), now],
    new Date(now.getTime() - idempotencyMs),
  ]);
  if (!stored) throw new AlreadyCommitted();
}
