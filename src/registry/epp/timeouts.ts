/** How long an EPP session waits for what. Every one is a setting of its registry. */
export interface EppTimeouts {
  /** TCP and TLS handshake. */
  readonly connectMs: number;
  /** From the handshake to the whole greeting. */
  readonly greetingMs: number;
  readonly loginMs: number;
  readonly logoutMs: number;
  /** check, info, poll, hello. */
  readonly queryMs: number;
  /** create, renew, update, delete, transfer. */
  readonly transformMs: number;
  /** An idle session says hello after this. */
  readonly helloIdleMs: number;
  /** After a login that failed, the next one waits so long at first; each further failure doubles it … */
  readonly loginPauseFirstMs: number;
  /** … up to this. */
  readonly loginPauseMsMax: number;
  /** An older session is logged out instead of used again: registries end them after 24 h (RFC 5734 leaves it to them). */
  readonly sessionAgeMsMax: number;
}

export const eppTimeoutsDefault: EppTimeouts = {
  connectMs: 10_000,
  greetingMs: 10_000,
  loginMs: 15_000,
  logoutMs: 5_000,
  queryMs: 10_000,
  transformMs: 30_000,
  helloIdleMs: 240_000,
  loginPauseFirstMs: 250,
  loginPauseMsMax: 60_000,
  sessionAgeMsMax: 23 * 60 * 60 * 1000,
};
