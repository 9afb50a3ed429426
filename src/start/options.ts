export interface StartOptions {
  /** Everything that must outlive a restart. */
  dataDir: string;
  /** The first of the ports; 0 takes any free ones. */
  portBase: number;
  /** Requests per minute of the seeded reseller; undefined leaves what it has. */
  rateLimit: number | undefined;
  /** Where to write how everything is reached, for scripts. */
  readyFile: string | undefined;
}
