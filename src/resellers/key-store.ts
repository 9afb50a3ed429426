/**
 * API keys, cached. A cached key is trusted only while the LISTEN connection is proven to be alive, because only then
 * is it certain that a revocation would have been heard; otherwise each request asks the database. So a revoked key
 * stops working within a second in every process, whatever happens to the connection.
 */

import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { Secret } from "#lib/secret.ts";
import type { Caller } from "#use-case/use-case.ts";

const keyById = statement(
  "api-key-by-id",
  `SELECT k.secret_sealed, k.scopes, k.allowed_addresses, k.expires_at, r.id AS reseller_id, r.kind, r.rate_limit
   FROM api_keys AS k JOIN resellers AS r ON r.id = k.reseller_id
   WHERE k.id = $1 AND k.revoked_at IS NULL`,
  {
    secret_sealed: "bytea",
    scopes: "text[]",
    allowed_addresses: "text[]",
    expires_at: "timestamptz?",
    reseller_id: "int8",
    kind: "text",
    rate_limit: "int4",
  },
);

/** An answered heartbeat vouches for the cache for this long: with the heartbeat's 400 ms it stays under a second. */
const trustedMs = 900;
const cachedKeysMax = 100_000;

/** What an API secret is sealed for: it opens in no other row. */
export const apiSecretRow = (keyId: string) => `api_keys.secret/${keyId}`;

/** No key has this id: it stands where a key is looked for and not found. */
const nobodysKeyId = "0".repeat(32);

export interface ApiKey {
  caller: Caller;
  secret: Secret;
  rateLimit: number;
  /** Addresses or CIDR ranges; empty allows any. */
  allowedAddresses: readonly string[];
  expiresAt: Date | undefined;
}

export interface KeyStore {
  /** The key if it may be used now and is in the cache. */
  findCached(keyId: string): ApiKey | undefined;
  /**
   * The key if it may be used now: not unknown, revoked or expired. Always asked of the database, and costs the same
   * whether there is such a key or not.
   */
  findFresh(keyId: string): Promise<ApiKey | undefined>;
}

/** Reads keys from the database and keeps them until a notification says that they changed, or might have. */
export function createKeyStore(context: Context): KeyStore {
  const { database, listener, clock, sealer } = context;
  const cache = new Map<string, ApiKey>();
  const nobodysSecret = sealer.seal(apiSecretRow(nobodysKeyId), new Secret(nobodysKeyId.repeat(2)));
  // Counts what was heard, so that an answer that was on its way when a change was announced is not kept.
  let changesHeard = 0;
  listener.on("api_key_changed", (keyId) => {
    changesHeard++;
    cache.delete(keyId);
  });
  listener.onReconnect(() => {
    changesHeard++;
    cache.clear();
  });

  const isListening = (): boolean => {
    const aliveAsOf = listener.aliveAsOf();
    return aliveAsOf !== undefined && clock.monotonicMs() - aliveAsOf < trustedMs;
  };

  const unexpired = (key: ApiKey | undefined): ApiKey | undefined =>
    key?.expiresAt !== undefined && key.expiresAt <= clock.now() ? undefined : key;

  async function findFresh(keyId: string): Promise<ApiKey | undefined> {
    const heardBefore = changesHeard;
    const [row] = await database.point(keyById, [keyId]);
    if (!row) {
      // Or an answer that comes 70 µs sooner (measured) would tell that there is no such key.
      sealer.open(apiSecretRow(nobodysKeyId), nobodysSecret);
      return undefined;
    }
    const key: ApiKey = {
      caller: {
        resellerId: row.reseller_id,
        keyId,
        kind: row.kind === "reseller" ? "reseller" : "plain",
        scopes: row.scopes,
      },
      secret: sealer.open(apiSecretRow(keyId), row.secret_sealed),
      rateLimit: row.rate_limit,
      allowedAddresses: row.allowed_addresses,
      expiresAt: row.expires_at ?? undefined,
    };
    if (heardBefore === changesHeard && isListening()) {
      if (cache.size >= cachedKeysMax) cache.clear();
      cache.set(keyId, key);
    }
    return unexpired(key);
  }

  return {
    findCached: (keyId) => (isListening() ? unexpired(cache.get(keyId)) : undefined),
    findFresh,
  };
}
