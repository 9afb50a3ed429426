import type { Database } from "#db/database.ts";
import type { Listener } from "#db/listener.ts";
import type { Clock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import type { PasswordQueue } from "#lib/password-queue.ts";
import type { Random } from "#lib/random.ts";
import type { Sealer } from "#lib/sealed-secret.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** What a use case gets. Each process builds it once, at its start. */
export interface Context {
  database: Database;
  listener: Listener;
  clock: Clock;
  random: Random;
  log: Log;
  /** Seals secrets under the master key. */
  sealer: Sealer;
  /** The configured registries; the first one that serves a suffix is the one that is asked. */
  registries: readonly RegistryProfile[];
  passwordQueue: PasswordQueue;
  /** Read when first asked for. */
  commonPasswords(): Promise<ReadonlySet<string>>;
  /** Host names of the service itself, which nobody can have as an identifier. */
  reservedHosts: readonly string[];
  /** How long a registration waits for the registry's word on availability. */
  checkBudgetMs: number;
  /** How old that word may be to serve the order's own first step too; 0 asks again in any case. */
  checkFreshMs: number;
  /** Who is asked for TXT records; none: the system's name servers. */
  dnsServers: readonly string[];
  /** Sites answer at `<identifier>.<siteDomain>`. */
  siteDomain: string;
  /** They answer at `<identifier>` too until somebody proves that name: only in a sandbox, where it can be nobody's. */
  bareIdentifiers: boolean;
}
