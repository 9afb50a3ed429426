import { statement } from "#db/statement.ts";
import { Secret } from "#lib/secret.ts";
import type { OperatorContext } from "#resellers/create.ts";
import { apiSecretRow } from "#resellers/key-store.ts";
import { type Scope, scopes, scopesDefault } from "#use-case/use-case.ts";

const keyBytes = 16;
const secretBytes = 32;

const insertKey = statement(
  "api-key-insert",
  `INSERT INTO api_keys (id, reseller_id, label, secret_sealed, scopes, allowed_addresses, created_at, expires_at)
   VALUES ($id, $reseller_id, $label, $secret_sealed, $scopes, $allowed_addresses, $now, $expires_at)`,
  {},
);

const revoke = statement(
  "api-key-revoke",
  "UPDATE api_keys SET revoked_at = $now WHERE id = $id AND revoked_at IS NULL RETURNING id",
  { id: "text" },
);

// The listed order of the scopes is kept, so that a list of keys is easy to compare.
const updateScopes = statement(
  "api-key-scopes",
  `UPDATE api_keys SET scopes = ARRAY(
     SELECT scope FROM unnest($scopes::text[]) WITH ORDINALITY AS listed(scope, place)
     WHERE (scope = ANY (api_keys.scopes) OR scope = ANY ($added::text[])) AND scope <> ALL ($removed::text[]) ORDER BY place)
   WHERE id = $id AND revoked_at IS NULL RETURNING scopes`,
  { scopes: "text[]" },
);

const keyByLabel = statement(
  "api-key-by-label",
  `SELECT id, secret_sealed FROM api_keys WHERE reseller_id = $reseller_id AND label = $label AND revoked_at IS NULL
     AND (expires_at IS NULL OR expires_at > $now) ORDER BY created_at DESC LIMIT 1`,
  { id: "text", secret_sealed: "bytea" },
);

export interface NewKey {
  label: string;
  /** By default all that can lose no name. */
  scopes?: readonly Scope[] | "all" | undefined;
  /** Addresses or CIDR ranges that may use the key; any by default. */
  allowedAddresses?: readonly string[] | undefined;
  expiresAt?: Date | undefined;
}

export interface KeyWithSecret {
  id: string;
  /** 64 hex digits; this is the only time they can be shown. */
  secret: Secret;
}

export async function createKey(context: OperatorContext, resellerId: number, key: NewKey): Promise<KeyWithSecret> {
  const id = context.random.bytes(keyBytes).toString("hex");
  const secret = new Secret(context.random.bytes(secretBytes).toString("hex"));
  await context.database.query(insertKey, {
    id,
    reseller_id: resellerId,
    label: key.label,
    secret_sealed: context.sealer.seal(apiSecretRow(id), secret),
    scopes: key.scopes === "all" ? scopes : (key.scopes ?? scopesDefault),
    allowed_addresses: key.allowedAddresses ?? [],
    now: context.clock.now(),
    expires_at: key.expiresAt ?? null,
  });
  return { id, secret };
}

/** Returns false when no working key has this id. */
export async function revokeKey(context: OperatorContext, keyId: string): Promise<boolean> {
  const [revoked] = await context.database.query(revoke, { id: keyId, now: context.clock.now() });
  return revoked !== undefined;
}

export interface ScopeChange {
  add: readonly Scope[];
  remove: readonly Scope[];
}

/**
 * Changes what a key may do; every process notices it at once, as it notices a revocation.
 * @returns the scopes that it has now; undefined when no working key has this id
 */
export async function changeKeyScopes(
  { database }: OperatorContext,
  keyId: string,
  { add, remove }: ScopeChange,
): Promise<string[] | undefined> {
  const [key] = await database.query(updateScopes, { id: keyId, scopes: scopes.slice(), added: add, removed: remove });
  return key?.scopes;
}

/** As a new key with all scopes has them. */
export async function giveAllScopes(context: OperatorContext, keyId: string): Promise<void> {
  await changeKeyScopes(context, keyId, { add: scopes, remove: [] });
}

/** A working key with this label, for the sandbox: its scripts may ask for the key again. */
export async function findKey(
  context: OperatorContext,
  resellerId: number,
  label: string,
): Promise<KeyWithSecret | undefined> {
  const [key] = await context.database.query(keyByLabel, { reseller_id: resellerId, label, now: context.clock.now() });
  return key && { id: key.id, secret: context.sealer.open(apiSecretRow(key.id), key.secret_sealed) };
}
