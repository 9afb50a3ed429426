/**
 * API keys, cached. A cached key is trusted only while the LISTEN connection is known to be alive, because only then
 * would this process have received a revocation; otherwise each request asks the database. So a revoked key stops
 * working within a second in every process, even when the connection breaks.
 */

import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { Secret } from "#lib/secret.ts";
import { type Caller, withImplied } from "#use-case/use-case.ts";

const keyById = statement(
  "api-key-by-id",
  `SELECT k.secret_sealed, k.scopes, k.allowed_addresses, k.expires_at, r.id AS reseller_id, r.kind, r.rate_limit
   FROM api_keys AS k JOIN resellers AS r ON r.id = k.reseller_id
   WHERE k.id = $id AND k.revoked_at IS NULL`,
  {
    secret_sealed: "bytea",
    scopes: "text[]",
    allowed_addresses: "text[]",
    expires_at: "timestamptz?",
    reseller_id: "int8",
    kind: ["reseller", "plain"],
    rate_limit: "int4",
  },
);

/** How long the cache is trusted after an answered heartbeat: with the heartbeat's 400 ms it stays under a second. */
const trustedMs = 900;
const cachedKeysMax = 100_000;

/** Binds a sealed API secret to its row: it cannot be opened in another one. */
export const apiSecretRow = (keyId: string) => `api_keys.secret/${keyId}`;

/** No key has this id. It stands in for a key that does not exist. */
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
   * The key if it may be used now: not unknown, revoked or expired. Always asks the database, and takes the same time
   * whether the key exists or not.
   */
  findFresh(keyId: string): Promise<ApiKey | undefined>;
}

/** Reads keys from the database and keeps them until a notification says that they changed or may have changed. */
export function createKeyStore(context: Context): KeyStore {
  const { database, listener, clock, sealer } = context;
  const cache = new Map<string, ApiKey>();
  const nobodysSecret = sealer.seal(apiSecretRow(nobodysKeyId), new Secret(nobodysKeyId.repeat(2)));
  // Counts notifications, so that a row that was read while a change was announced is not kept.
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
    const [row] = await database.point(keyById, { id: keyId });
    if (!row) {
      // Otherwise an answer that is 70 µs faster (measured) would reveal that the key does not exist.
      sealer.open(apiSecretRow(nobodysKeyId), nobodysSecret);
      return undefined;
    }
    const key: ApiKey = {
      caller: { resellerId: row.reseller_id, keyId, kind: row.kind, scopes: withImplied(row.scopes) },
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
