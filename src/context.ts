import type { Acknowledged } from "#db/acknowledged.ts";
import type { Database } from "#db/database.ts";
import type { Listener } from "#db/listener.ts";
import type { Clock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import type { NameLookups } from "#lib/net/name-lookups.ts";
import type { PasswordQueue } from "#lib/queues/password-queue.ts";
import type { Random } from "#lib/random.ts";
import type { Sealer } from "#lib/sealed-secret.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** Everything that a use case works with. Each process builds it once, at startup. */
/** Where webhooks may be sent to, beyond public addresses over TLS. */
export interface WebhookSettings {
  /** Private ranges, in CIDR form, that are allowed all the same. */
  ranges: readonly string[];
  allowsPlainHttp: boolean;
  /** Replaces the system's certificate authorities: PEM. */
  ca: string | undefined;
}

/** How this installation serves zones; without `nameServers` it has none. */
export interface ZoneSettings {
  /** The names that domains delegate to. */
  nameServers: readonly string[];
  hostmaster: string;
  /** Where role `dns` answers. */
  host: string;
  port: number;
}

export interface Context {
  database: Database;
  listener: Listener;
  acknowledged: Acknowledged;
  clock: Clock;
  random: Random;
  log: Log;
  /** Seals secrets under the master key. */
  sealer: Sealer;
  /** The configured registries; the first one that serves a suffix is used. */
  registries: readonly RegistryProfile[];
  passwordQueue: PasswordQueue;
  /** Read on first use. */
  commonPasswords(): Promise<ReadonlySet<string>>;
  /** Host names of the service itself, which cannot be used as identifiers. */
  reservedHosts: readonly string[];
  /** How long a registration waits for the registry to answer whether the name is available. */
  checkBudgetMs: number;
  /** How old that answer may be for the order's first step to reuse it; 0 always asks again. */
  checkFreshMs: number;
  /** How long an auth code can be read and used. */
  authCodeHours: number;
  /** When a contact is erased after the last name that used it has left. */
  contactMonths: number;
  /** How long messages of registries are kept. */
  messageDays: number;
  /** Asks name servers about names that resellers and customers have given. */
  names: NameLookups;
  /** Where webhooks may be sent to. */
  webhooks: WebhookSettings;
  zones: ZoneSettings;
  /** Sites answer at `<identifier>.<siteDomain>`. */
  siteDomain: string;
  /**
   * They also answer at `<identifier>` until control over that name is proven: only in a sandbox, where such a name has no
   * holder.
   */
  bareIdentifiers: boolean;
}
