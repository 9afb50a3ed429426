import { statement } from "#db/statement.ts";
import { Secret } from "#lib/secret.ts";
import type { OperatorContext } from "#resellers/create.ts";
import { apiSecretRow } from "#resellers/key-store.ts";
import { type Scope, scopes } from "#use-case/use-case.ts";

const keyBytes = 16;
const secretBytes = 32;

const insertKey = statement(
  "api-key-insert",
  `INSERT INTO api_keys (id, reseller_id, label, secret_sealed, scopes, allowed_addresses, created_at, expires_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
  {},
);

const revoke = statement(
  "api-key-revoke",
  "UPDATE api_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL RETURNING id",
  { id: "text" },
);

const keyByLabel = statement(
  "api-key-by-label",
  `SELECT id, secret_sealed FROM api_keys WHERE reseller_id = $1 AND label = $2 AND revoked_at IS NULL
     AND (expires_at IS NULL OR expires_at > $3) ORDER BY created_at DESC LIMIT 1`,
  { id: "text", secret_sealed: "bytea" },
);

export interface NewKey {
  label: string;
  /** What the key may do; all of it when left out. */
  scopes?: readonly Scope[] | undefined;
  /** Addresses or CIDR ranges that it may be used from; any when left out. */
  allowedAddresses?: readonly string[] | undefined;
  expiresAt?: Date | undefined;
}

export interface KeyWithSecret {
  id: string;
  /** 64 hex digits; can be shown only now. */
  secret: Secret;
}

export async function createKey(context: OperatorContext, resellerId: number, key: NewKey): Promise<KeyWithSecret> {
  const wanted = key.scopes ?? scopes;
  const id = context.random.bytes(keyBytes).toString("hex");
  const secret = new Secret(context.random.bytes(secretBytes).toString("hex"));
  await context.database.query(insertKey, [
    ...[id, resellerId, key.label, context.sealer.seal(apiSecretRow(id), secret), wanted],
    ...[key.allowedAddresses ?? [], context.clock.now(), key.expiresAt ?? null],
  ]);
  return { id, secret };
}

/** Returns false when there is no such key that works. */
export async function revokeKey(context: OperatorContext, keyId: string): Promise<boolean> {
  const [revoked] = await context.database.query(revoke, [keyId, context.clock.now()]);
  return revoked !== undefined;
}

/** A working key with this label, for the sandbox, whose scripts may ask for it again. */
export async function findKey(
  context: OperatorContext,
  resellerId: number,
  label: string,
): Promise<KeyWithSecret | undefined> {
  const [key] = await context.database.query(keyByLabel, [resellerId, label, context.clock.now()]);
  return key && { id: key.id, secret: context.sealer.open(apiSecretRow(key.id), key.secret_sealed) };
}
