/** Every limit of the embedded node. The defaults suit one small machine; tests make some of them smaller. */
export interface EmbeddedNodeLimits {
  /** FTP sessions in all, before and after login. */
  sessionsMax: number;
  /** FTP sessions of one client address, before and after login. */
  addressSessionsMax: number;
  loginMs: number;
  idleMs: number;
  guessesMax: number;
  /** The n-th wrong guess of a session is answered after n times this. */
  guessDelayMs: number;
  /** Wrong guesses of one address within `addressWindowMs` before it is banned for `addressBanMs`. */
  addressGuessesMax: number;
  addressWindowMs: number;
  addressBanMs: number;
  /** Addresses whose guesses are remembered; the oldest are forgotten first. */
  addressesMax: number;
  /** Passwords hashed at the same time: each takes a core for about 50 ms. */
  hashesMax: number;
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
  /** Requests that a client may send ahead of the answers on one connection. */
  webRequestsWaitingMax: number;
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
  loginMs: 15_000,
  idleMs: 300_000,
  guessesMax: 3,
  guessDelayMs: 1_000,
  addressGuessesMax: 20,
  addressWindowMs: 600_000,
  addressBanMs: 300_000,
  addressesMax: 10_000,
  hashesMax: 2,
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
  webRequestsWaitingMax: 100,
  webHeadersMs: 10_000,
  webRequestMs: 30_000,
  webStallMs: 60_000,
  trafficFlushMs: 5_000,
  usageWaitMsMax: 60_000,
  trashDaysMax: 30,
};
