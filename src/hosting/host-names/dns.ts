/** Looks up the TXT records that prove control over host names. */
import { Resolver } from "node:dns/promises";

/** A TXT record at this label under a name proves control over the name. */
export const proofLabel = "_deedhouse";

/** The text of that TXT record. */
export const proofText = (proof: string) => `deedhouse-site=${proof}`;

const firstAttemptMs = 2_000;
const attemptMsMax = 4_000;
const attemptsMax = 2;

/** The texts of the records, or why the name servers did not answer. */
export type TxtAnswer = { texts: string[] } | { problem: string };

export interface TxtLookup {
  /** Never throws. Takes at most a few seconds for each name server that does not answer. */
  find(name: string): Promise<TxtAnswer>;
  /** Ends lookups in progress, and all later ones, as if no name server answered. */
  close(): void;
}

/** @param servers addresses with or without a port (`192.0.2.1`, `[2001:db8::1]:53`); empty: those of the system */
export function createTxtLookup(servers: readonly string[]): TxtLookup {
  const resolver = new Resolver({ timeout: firstAttemptMs, maxTimeout: attemptMsMax, tries: attemptsMax });
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
