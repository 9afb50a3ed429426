/**
 * The contract that every kind of hosting node fulfils.
 *
 * Every operation is idempotent: run twice, killed in the middle or resumed by another worker, it ends the same. An account's
 * key is its identifier *and* its uid. Uids are never reused, so a late repetition of an operation on a removed account never
 * touches the account that has the identifier now.
 */
import type { Secret } from "#lib/secret.ts";

export interface Endpoint {
  host: string;
  port: number;
}

export interface AccountKey {
  /** Canonical host name (lower-case A-labels, at most 243 characters); also the FTP user name. */
  identifier: string;
  /** Positive integer. Names the account's files; never reused. */
  uid: number;
}

export interface AccountLimits {
  diskBytesMax: number;
  /** Files and folders together, not counting `www` itself. */
  filesMax: number;
  /** Concurrent FTP sessions. */
  sessionsMax: number;
  ftpEnabled: boolean;
}

export interface DesiredAccount extends AccountKey, AccountLimits {
  /** bcrypt, `$2b$`. Undefined: no password opens the account. */
  passwordHash: Secret | undefined;
  suspended: boolean;
  /**
   * Additional names of the site: canonical, each proven to be the customer's. On a node, a name belongs to the account
   * that received it last; other accounts lose it. A new account takes its identifier away from other accounts' names in
   * the same way. Names below the platform's site domain are refused as invalid.
   */
  hostNames: readonly string[];
}

export interface Usage {
  bytes: number;
  files: number;
}

/** Bytes that a site has sent. */
export interface Traffic {
  /** UTC, `2026-11`. */
  month: string;
  /** In that month so far, as this node counted; never decreases within a month. */
  bytes: number;
}

/** A short-lived login of the gateway into an account's home, for one FTP session. */
export interface OneTimeLogin {
  host: string;
  port: number;
  user: string;
  password: Secret;
  /** PEM: the only certificate that is trusted from the FTP server. */
  certificate: string;
}

/** An account as the node has it. A node never returns hashes. */
export interface NodeAccount extends AccountKey, AccountLimits {
  suspended: boolean;
  hostNames: readonly string[];
  usage: Usage;
}

export interface UsageChanges {
  /** The next question's `after`. Opaque: only the node that issued it understands it. */
  version: number;
  /** `traffic` is present if the node counts it. */
  accounts: (AccountKey & Usage & { traffic?: Traffic })[];
  /** The answer comes from memory, so it does not prove that the node is up. */
  isRemembered?: boolean;
}

interface UsageQuestion {
  /** The version of the last answer; 0 returns every account. */
  after: number;
  /** How long to wait for a change. */
  waitMs: number;
  signal?: AbortSignal;
}

/** The parts of this contract that a kind of node supports. */
export interface Capabilities {
  /** Disk limits are rounded up to multiples of this, and disk usage is counted in it. */
  diskUnitBytes: number;
  /** The node limits files and FTP sessions, and counts files as `Usage` says. */
  limitsFilesAndSessions: boolean;
  /** `find` and `list` show whether FTP is enabled. */
  showsFtp: boolean;
  /** The node refuses the uids of removed accounts. */
  remembersUids: boolean;
  /** A suspended site answers 503. Otherwise it answers with some page that is not the site's. */
  answers503: boolean;
  /** Sites have host names. Otherwise host names are ignored, and `find` and `list` show none. */
  hostNames: boolean;
  /** `oneTimeLogin` works, so accounts can be moved to the node and from it. */
  oneTimeLogins: boolean;
  /** The node keeps the version of its state. Otherwise only uids show that the gateway's database was restored. */
  keepsCounter: boolean;
}

/** The default. */
export const allCapabilities: Capabilities = {
  diskUnitBytes: 1,
  limitsFilesAndSessions: true,
  showsFtp: true,
  remembersUids: true,
  answers503: true,
  hostNames: true,
  oneTimeLogins: true,
  keepsCounter: true,
};

/** All operations throw NodeUnavailable or NodeRefused, nothing else. */
export interface HostingNode {
  /** Default: all of them. */
  readonly capabilities?: Capabilities;
  /**
   * Creates the account, or changes it, to exactly this description. Once this returns, the description is in force: a new
   * password has ended all open sessions; a suspended account refuses FTP, has no open sessions, and its site answers 503.
   */
  ensureAccount(account: DesiredAccount): Promise<void>;
  /** Removes login and site, and moves the files to the trash, by uid. An unknown account is not an error. */
  remove(account: AccountKey): Promise<void>;
  find(identifier: string): Promise<NodeAccount | undefined>;
  list(): Promise<NodeAccount[]>;
  /** The highest uid that the node ever received, including removed accounts that it remembers; 0: none. */
  highestUid(): Promise<number>;
  /** Returns the accounts whose usage changed since `after`. Waits up to `waitMs` if there are none. */
  usageChanges(question: UsageQuestion): Promise<UsageChanges>;
  /**
   * Proves that the account works for its owner: logs in over FTP with a one-time login into the account's home, uploads a
   * page, reads it back over HTTP, and deletes it. With FTP disabled: only the HTTP read.
   */
  probe(account: AccountKey): Promise<void>;
  /**
   * Opens the account's home for copying, even while the account is suspended or FTP is disabled.
   * @throws NodeRefused account_unknown, unsupported
   */
  oneTimeLogin(account: AccountKey): Promise<OneTimeLogin>;
}

/** The node did not execute the operation, but may do so later: retry with backoff. */
export class NodeUnavailable extends Error {
  override readonly name = "NodeUnavailable";
}

export const refusalReasons = [
  /** No such account with this uid. */
  "account_unknown",
  /** The identifier belongs to an account with another uid. */
  "identifier_taken",
  /** The uid belongs to another identifier. */
  "uid_taken",
  /** The account with this uid was removed. */
  "uid_retired",
  /** The account is suspended, so it cannot be probed. */
  "suspended",
  /** This kind of node does not support the operation. */
  "unsupported",
  /** The request itself is invalid. */
  "invalid",
] as const;

export type RefusalReason = (typeof refusalReasons)[number];

/** The node will never execute the operation: do not retry. */
export class NodeRefused extends Error {
  override readonly name = "NodeRefused";
  readonly reason: RefusalReason;
  constructor(reason: RefusalReason) {
    super(`the hosting node refused: ${reason}`);
    this.reason = reason;
  }
}
