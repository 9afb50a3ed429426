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

/** The ports of each part, counted from the base; all 0 for any free ones. */
export function portsFrom(base: number) {
  const at = (offset: number) => (base === 0 ? 0 : base + offset);
  return {
    api: at(0),
    ftp: at(21),
    postgres: at(32),
    registry: at(70),
    registryControl: at(71),
    web: at(80),
    nodeControl: at(81),
    passive: base === 0 ? undefined : { from: base + 100, to: base + 199 },
  };
}
export type Ports = ReturnType<typeof portsFrom>;
