import type { ConnectionLimitsOptions } from "#lib/net/connection-limits.ts";

/** Every limit of the embedded node. The defaults suit one small machine; tests make some of them smaller. */
export interface EmbeddedNodeLimits {
  /** All FTP sessions, before and after login. */
  sessionsMax: number;
  /** FTP sessions of one client address (for IPv6: one /64, here and below), before and after login. */
  addressSessionsMax: number;
  /** The share of FTP sessions, and of web connections, that is reserved for addresses with few of them. */
  reservedPercent: number;
  /** An address with fewer sessions than this, or fewer web connections, has few. */
  fewConnectionsMax: number;
  /** From the connection to the end of the login. */
  loginMs: number;
  idleMs: number;
  guessesMax: number;
  /** The reply to a session's n-th wrong guess is delayed by n times this. */
  guessDelayMs: number;
  /**
   * An address with this many wrong guesses within `addressWindowMs` is banned for `addressBanMs`. Guesses count as wrong while
   * they are being checked; further ones wait. An account that is known at the address has a budget of its own.
   */
  addressGuessesMax: number;
  addressWindowMs: number;
  addressBanMs: number;
  /** An account is known at an address for this long after a login from there. */
  knownLoginMs: number;
  /** Addresses whose guesses and known logins are remembered; the oldest are dropped first. */
  addressesMax: number;
  /** Concurrent password hashes: each takes a core for about 50 ms. */
  hashesMax: number;
  /** Passwords that wait to be hashed; addresses and accounts take turns. Above this, those with the most are refused. */
  hashesWaitingMax: number;
  lineBytesMax: number;
  /** Commands that a client may send ahead of the replies. */
  linesWaitingMax: number;
  linesWaitingBytesMax: number;
  /** Replies that a client has not read. */
  repliesBytesMax: number;
  /** A path inside the account. Limits the nesting of folders. */
  pathBytesMax: number;
  /** From the reply to PASV or EPSV until the client has connected. */
  dataConnectMs: number;
  /** A stalled data connection is closed after this. */
  dataStallMs: number;
  /** The most that an upload buffers while the disk is busy; then its sender waits. */
  uploadGatheredBytesMax: number;
  oneTimeLoginMs: number;
  webConnectionsMax: number;
  /** Connections to the web port of one client address. */
  webAddressConnectionsMax: number;
  /** From a request's first byte to the end of its headers. */
  webHeadersMs: number;
  /** From a request's first byte to the end of its body. */
  webRequestMs: number;
  /** A stalled web connection is closed after this. */
  webStallMs: number;
  /** Traffic is counted in memory, and saved this often. */
  trafficFlushMs: number;
  /** The longest wait for usage changes. */
  usageWaitMsMax: number;
  trashDaysMax: number;
}

export const defaultLimits: EmbeddedNodeLimits = {
  sessionsMax: 200,
  addressSessionsMax: 50,
  reservedPercent: 20,
  fewConnectionsMax: 8,
  loginMs: 20_000,
  idleMs: 300_000,
  guessesMax: 3,
  guessDelayMs: 1_000,
  addressGuessesMax: 20,
  addressWindowMs: 600_000,
  addressBanMs: 300_000,
  knownLoginMs: 86_400_000,
  addressesMax: 10_000,
  hashesMax: 2,
  hashesWaitingMax: 200,
  lineBytesMax: 4_096,
  linesWaitingMax: 64,
  linesWaitingBytesMax: 16_384,
  repliesBytesMax: 65_536,
  pathBytesMax: 1_024,
  dataConnectMs: 15_000,
  dataStallMs: 60_000,
  uploadGatheredBytesMax: 262_144,
  oneTimeLoginMs: 60_000,
  webConnectionsMax: 1_000,
  webAddressConnectionsMax: 250,
  webHeadersMs: 10_000,
  webRequestMs: 30_000,
  webStallMs: 60_000,
  trafficFlushMs: 5_000,
  usageWaitMsMax: 60_000,
  trashDaysMax: 30,
};

/** How addresses share the connections of a listener. */
export function connectionShares(limits: EmbeddedNodeLimits, listener: "ftp" | "web"): ConnectionLimitsOptions {
  const { reservedPercent, fewConnectionsMax } = limits;
  const [connectionsMax, sourceConnectionsMax, halfOpenMs] =
    listener === "ftp"
      ? [limits.sessionsMax, limits.addressSessionsMax, limits.loginMs]
      : [limits.webConnectionsMax, limits.webAddressConnectionsMax, limits.webRequestMs];
  // No connection stays half-open for long: sessions and requests have timeouts of their own, with a reply.
  const sourceHalfOpenMax = sourceConnectionsMax;
  return { connectionsMax, sourceConnectionsMax, sourceHalfOpenMax, halfOpenMs, reservedPercent, fewConnectionsMax };
}
