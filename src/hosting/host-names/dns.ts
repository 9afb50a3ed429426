/** Asks the DNS for TXT records. */
import { Resolver } from "node:dns/promises";

const firstTryMs = 2_000;
const tryMsMax = 4_000;
const triesMax = 2;

/** Texts of the records, none if there are none; or why nobody knows. */
export type TxtAnswer = { texts: string[] } | { problem: string };

export interface TxtLookup {
  /** Never throws. Takes at most a few seconds for each name server that does not answer. */
  find(name: string): Promise<TxtAnswer>;
  /** Ends what is under way, and what comes after, as if nobody had answered. */
  close(): void;
}

/** @param servers addresses with or without a port (`192.0.2.1`, `[2001:db8::1]:53`); none: those of the system */
export function createTxtLookup(servers: readonly string[]): TxtLookup {
  const resolver = new Resolver({ timeout: firstTryMs, maxTimeout: tryMsMax, tries: triesMax });
  if (servers.length > 0) resolver.setServers(servers);
  let isClosed = false;
  return {
    async find(name) {
      if (isClosed) return { problem: "ECANCELLED" };
      try {
        // A record's text may be cut into strings of up to 255 bytes, which are one text (RFC 7208 §3.3 says so for SPF).
        return { texts: (await resolver.resolveTxt(name)).map((strings) => strings.join("")) };
      } catch (error) {
        const { code = "unknown" } = error as NodeJS.ErrnoException;
        return code === "ENOTFOUND" || code === "ENODATA" ? { texts: [] } : { problem: code };
      }
    },
    close() {
      isClosed = true;
      resolver.cancel();
    },
  };
}
