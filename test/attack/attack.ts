/** What `npm run test:attack` runs: load that tries to keep others from being served, beside a victim that must be. */
import type { ReadyDocument } from "../harness/running-system.ts";

/** Who must still be served: each asks from an address of its own, one request after another. */
export type VictimKind = "signed-read" | "signed-write" | "site-read" | "ftp-login";

export interface Attack {
  /** As in `npm run test:attack -- pipelining`, and the file's name. */
  name: string;
  /** One sentence: who sends what, and how much of it. */
  about: string;
  victim: VictimKind;
  /**
   * Attacks until `signal` fires. Runs in a process of its own. The system under attack listens where `ready` says;
   * being refused or cut off is no error.
   * @param dataFolder for the operator's commands
   */
  run(ready: ReadyDocument, signal: AbortSignal, dataFolder: string): Promise<void>;
}
