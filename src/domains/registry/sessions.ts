import type { Context } from "#context.ts";
import type { NameQueues } from "#domains/orders/turns.ts";
import type { OwnerLease } from "#domains/registry/owner-lease.ts";
import type { EppPool } from "#registry/epp/pool/pool.ts";
import { TokenBucket } from "#registry/epp/pool/token-bucket.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** The context of the owner's steps: what they begin and decide counts only under its lease. */
export interface OwnerContext extends Context {
  lease: OwnerLease;
}

/** What the owner of a registry's sessions works with. */
export interface RegistrySessions {
  context: OwnerContext;
  profile: RegistryProfile;
  pool: EppPool;
  /** Contacts of resellers' profiles that the registry holds, by reseller and role, with the version of the profile. */
  contacts: Map<string, { version: string; id: string }>;
  /** Ids of contacts that are being deleted: no order uses them, even if it has found them before. */
  leavingContacts: Set<string>;
  /** Names with a step in progress. */
  names: NameQueues;
  /** The share of the registry's rate for looks without haste. */
  lookLane: TokenBucket;
  /** How many creates were answered with 1000 since this process has owned the registry. */
  createsDone: number;
  /** A clTRID for a query; attempts have their clTRIDs from their rows. */
  queryClTrid(): string;
}

/** How long a step waits for a free session before it retries later. */
export const sessionWaitMs = 5_000;
/** The most of `commandsPerSecond` that looks without haste use. */
const lookShare = 0.1;

/** What a process has that has just become the owner. */
export function newSessions(
  context: OwnerContext,
  profile: RegistryProfile,
  pool: EppPool,
  lookClock = context.clock,
): RegistrySessions {
  return {
    context,
    profile,
    pool,
    contacts: new Map(),
    leavingContacts: new Set(),
    names: new Map(),
    lookLane: new TokenBucket(profile.commandsPerSecond * lookShare, lookClock),
    createsDone: 0,
    queryClTrid: () => `Q-${context.random.bytes(9).toString("base64url")}`,
  };
}
