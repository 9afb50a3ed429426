import type { ConnectionLimitsOptions } from "#lib/net/connection-limits.ts";

/** Every limit of the embedded node. The defaults suit one small machine; tests make some of them smaller. */
export interface EmbeddedNodeLimits {
  /** FTP sessions in all, before and after login. */
  sessionsMax: number;
  /** FTP sessions of one client address (of IPv6: one /64, here and below), before and after login. */
  addressSessionsMax: number;
  /** Of all FTP sessions, and of all web connections, those that are kept for addresses with few of them. */
  reservedPercent: number;
  /** An address with fewer sessions than this, or fewer web connections, has few. */
  fewConnectionsMax: number;
  /** From connecting to the end of the login. */
  loginMs: number;
  idleMs: number;
  guessesMax: number;
  /** The n-th wrong guess of a session is answered after n times this. */
  guessDelayMs: number;
  /**
   * Wrong guesses of one address within `addressWindowMs` before it is banned for `addressBanMs`. Guesses that are being
   * checked count as wrong until they are; more wait. An account that is known there has a budget of its own.
   */
  addressGuessesMax: number;
  addressWindowMs: number;
  addressBanMs: number;
  /** An account is known at an address for this long after a login from there. */
  knownLoginMs: number;
  /** Addresses whose guesses, and logins that are known, are remembered; the oldest are forgotten first. */
  addressesMax: number;
  /** Passwords hashed at the same time: each takes a core for about 50 ms. */
  hashesMax: number;
  /** Passwords that wait to be hashed, those of addresses and accounts in turns; with more, who has most is turned away. */
  hashesWaitingMax: number;
  lineBytesMax: number;
  /** Commands that a client may send ahead of the replies. */
  linesWaitingMax: number;
  linesWaitingBytesMax: number;
  /** Replies that a client has not read yet. */
  repliesBytesMax: number;
  /** A path inside the account. Bounds how deep folders nest. */
  pathBytesMax: number;
  /** From the reply to PASV or EPSV until the client has connected. */
  dataConnectMs: number;
  /** A data connection on which nothing moves is cut after this. */
  dataStallMs: number;
  /** What an upload holds in memory while the disk is busy; its sender waits meanwhile. */
  uploadGatheredBytesMax: number;
  oneTimeLoginMs: number;
  webConnectionsMax: number;
  /** Connections to the web port of one client address. */
  webAddressConnectionsMax: number;
  /** From a request's first byte to the end of its headers. */
  webHeadersMs: number;
  /** From a request's first byte to the end of its body. */
  webRequestMs: number;
  /** A web connection on which nothing moves is cut after this. */
  webStallMs: number;
  /** What sites have sent is counted in memory and kept this often. */
  trafficFlushMs: number;
  /** The longest that a question for usage changes is held. */
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

/** How a listener's places are shared among addresses. */
export function connectionShares(limits: EmbeddedNodeLimits, listener: "ftp" | "web"): ConnectionLimitsOptions {
  const { reservedPercent, fewConnectionsMax } = limits;
  const [connectionsMax, sourceConnectionsMax, halfOpenMs] =
    listener === "ftp"
      ? [limits.sessionsMax, limits.addressSessionsMax, limits.loginMs]
      : [limits.webConnectionsMax, limits.webAddressConnectionsMax, limits.webRequestMs];
  // None is half-open for long: sessions and requests have times of their own, after which they are told so.
  const sourceHalfOpenMax = sourceConnectionsMax;
  return { connectionsMax, sourceConnectionsMax, sourceHalfOpenMax, halfOpenMs, reservedPercent, fewConnectionsMax };
}
