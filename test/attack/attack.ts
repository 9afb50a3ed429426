/** What `npm run test:attack` runs: load that tries to keep others from being served, beside a victim that must be. */
import type { ReadyDocument } from "../harness/running-system.ts";

/** Who must still be served: each asks from an address of its own, one request after another. */
export type VictimKind = "signed-read" | "signed-write" | "site-read" | "ftp-login" | "webhook-delivery";

/** An account of the attackers. */
export interface AttackerKey {
  api_key: string;
  api_secret: string;
}

export interface Attack {
  /** As in `npm run test:attack -- pipelining`, and the file's name. */
  name: string;
  /** One sentence: who sends what, and how much of it. */
  about: string;
  victim: VictimKind;
  /** How many accounts the attackers have. Default: none. */
  accountsCount?: number;
  /**
   * Attacks until `signal` fires. Runs in a process of its own. The system under attack listens where `ready` says;
   * being refused or cut off is no error.
   */
  run(ready: ReadyDocument, signal: AbortSignal, accounts: readonly AttackerKey[]): Promise<void>;
}
