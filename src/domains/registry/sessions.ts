import type { Context } from "#context.ts";
import type { OwnerLease } from "#domains/registry/owner-lease.ts";
import type { EppPool } from "#registry/epp/pool/pool.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** What the owner's steps work with: what they begin and decide counts only under its lease. */
export interface OwnerContext extends Context {
  lease: OwnerLease;
}

/** What the owner of a registry's sessions works with. */
export interface RegistrySessions {
  context: OwnerContext;
  profile: RegistryProfile;
  pool: EppPool;
  /** The contacts of resellers that the registry holds, by reseller, with the version of the profile that they say. */
  contacts: Map<number, { version: string; id: string }>;
  /** Creates that were answered with 1000, since this process owns the registry. */
  createsDone: number;
  /** A clTRID for a command that changes nothing; those of attempts come from their rows. */
  queryClTrid(): string;
}

/** How long a step waits for a session to be free before it comes back later. */
export const sessionWaitMs = 5_000;
