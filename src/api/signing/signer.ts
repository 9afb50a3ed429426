/**
 * Finds out who signed a request. Nothing is awaited between checking the budget of failures and counting a failure, so
 * a burst cannot have more signatures verified than may fail.
 */
import type { Credentials, WireRequest } from "#api/signing/credentials.ts";
import type { SourceGuard } from "#api/source-guard.ts";
import type { ApiKey, KeyStore } from "#resellers/key-store.ts";

/** @returns the key that signed the request @throws Refusal; DatabaseUnavailable */
export async function findSigner(
  keys: KeyStore,
  guard: SourceGuard,
  request: WireRequest,
  credentials: Credentials,
): Promise<ApiKey> {
  const { keyId } = credentials;
  const cached = keys.findCached(keyId);
  const key = cached ?? (await lookUp(keys, guard, request, keyId));
  guard.requireBudget(request, keyId);
  const isRight = key ? credentials.verify(key.secret.reveal()) : credentials.verifyUnknownKey();
  if (key && isRight) return key;
  const refusal = guard.refuse(request, "authorization_hmac_invalid", keyId);
  // An unknown key costs a lookup. A wrong signature must cost one too, or the response time would reveal which keys
  // exist.
  if (cached) await guard.inTurn("lookUp", request, keyId, () => keys.findFresh(keyId));
  throw refusal;
}

async function lookUp(
  keys: KeyStore,
  guard: SourceGuard,
  request: WireRequest,
  keyId: string,
): Promise<ApiKey | undefined> {
  guard.requireBudget(request, keyId);
  return guard.inTurn("lookUp", request, keyId, async () => {
    // Requests with an earlier turn may have used up the budget or cached the key.
    guard.requireBudget(request, keyId);
    return keys.findCached(keyId) ?? (await keys.findFresh(keyId));
  });
}
