/** The timeouts of an EPP session. Each is a setting of the registry's profile. */
export interface EppTimeouts {
  /** TCP and TLS handshake. */
  readonly connectMs: number;
  /** From the handshake to the end of the greeting. */
  readonly greetingMs: number;
  readonly loginMs: number;
  readonly logoutMs: number;
  /** check, info, poll, hello. */
  readonly queryMs: number;
  /** create, renew, update, delete, transfer. */
  readonly transformMs: number;
  /** An idle session sends a hello after this. */
  readonly helloIdleMs: number;
  /** The backoff after a failed login; each further failure doubles it … */
  readonly loginPauseFirstMs: number;
  /** … up to this. */
  readonly loginPauseMsMax: number;
  /** An older session is logged out instead of being reused: registries end sessions after 24 h (RFC 5734 sets no limit). */
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
