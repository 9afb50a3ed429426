export interface StartOptions {
  /** Everything that must survive a restart. */
  dataDir: string;
  /** The first of the ports; 0 takes any free ports. */
  portBase: number;
  /** Requests per minute of the seeded reseller; undefined keeps its current limit. */
  rateLimit: number | undefined;
  /** The file for all addresses, for scripts. */
  readyFile: string | undefined;
}
