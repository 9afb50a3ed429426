/**
 * The contract that every kind of hosting node fulfils.
 *
 * Every operation can be repeated: run twice, killed in the middle or resumed by another worker, it ends the same. An
 * account is named by its identifier *and* its uid. Uids are never used twice, so a late repetition of an operation on
 * an account that is gone can never touch the account that has its identifier now.
 */
import type { Secret } from "#lib/secret.ts";

export interface Endpoint {
  host: string;
  port: number;
}

export interface AccountKey {
  /** Canonical host name (lower-case A-labels, at most 243 characters); also the FTP user name. */
  identifier: string;
  /** Whole number above 0. Names the account's files; never used for a second account. */
  uid: number;
}

export interface AccountLimits {
  diskBytesMax: number;
  /** Files and folders together, `www` itself not counted. */
  filesMax: number;
  /** FTP sessions that may be logged in at the same time. */
  sessionsMax: number;
  ftpEnabled: boolean;
}

export interface DesiredAccount extends AccountKey, AccountLimits {
  /** bcrypt, `$2b$`; with undefined no password opens the account. */
  passwordHash: Secret | undefined;
  suspended: boolean;
  /**
   * Names beside the platform's one at which the site answers: canonical, each proven to be the customer's. On a node a
   * name belongs to the account that was given it last, which takes it away from another; a new account takes its
   * identifier away so too. Another account's identifier, or a name of the platform's own, is refused as invalid.
   */
  hostNames: readonly string[];
}

export interface Usage {
  bytes: number;
  files: number;
}

/** What a site has sent. */
export interface Traffic {
  /** UTC, `2026-11`. */
  month: string;
  /** Of that month so far, as this node counted it; never falls within a month. */
  bytes: number;
}

/** A login of ours into an account's home: for one FTP session, for a short time. */
export interface OneTimeLogin {
  host: string;
  port: number;
  user: string;
  password: Secret;
  /** PEM: what the FTP server must show; nothing else is trusted. */
  certificate: string;
}

/** An account as the node has it. Hashes never come back from a node. */
export interface NodeAccount extends AccountKey, AccountLimits {
  suspended: boolean;
  hostNames: readonly string[];
  usage: Usage;
}

export interface UsageChanges {
  /** Ask for what came after this next time. Opaque: only the node that gave it understands it. */
  version: number;
  /** `traffic` where the node counts it. */
  accounts: (AccountKey & Usage & { traffic?: Traffic })[];
  /** The node was not asked for this answer, so it does not show that the node is there. */
  isRemembered?: boolean;
}

interface UsageQuestion {
  /** The version of the last answer; 0 gives every account. */
  after: number;
  /** How long the node holds the question while nothing changes. */
  waitMs: number;
  signal?: AbortSignal;
}

/** What a kind of node can do of this contract. */
export interface Capabilities {
  /** Disk limits are rounded up to units of so many bytes, and what is used is counted in them. */
  diskUnitBytes: number;
  /** Files and FTP sessions are limited, and files counted as Usage says. */
  limitsFilesAndSessions: boolean;
  /** `find` and `list` know whether FTP is enabled. */
  showsFtp: boolean;
  /** The uid of an account that was removed is refused from then on. */
  remembersUids: boolean;
  /** A suspended site answers 503, and not with some other page that is none of the site's. */
  answers503: boolean;
  /** Sites answer at host names of their own; else they are left out, and `find` and `list` show none. */
  hostNames: boolean;
  /** `oneTimeLogin` is there, so that accounts can be moved to it and from it. */
  oneTimeLogins: boolean;
  /** The highest counter of a command is kept there; else only uids show that the gateway's database was restored. */
  keepsCounter: boolean;
}

/** Of nodes that say nothing else. */
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

/**
 * Counts what a gateway commands of one node. Every command carries a counter that only rises; the node keeps the highest
 * before it does what is commanded. Commands may arrive in another order: a lower counter is no mistake of anybody's.
 */
export interface CommandCounter {
  /** The node has told the highest that it has seen. @throws NodeUnavailable */
  saw(seen: number): Promise<void>;
  /** The next command's, higher than `seen` and than all before it. @throws NodeUnavailable */
  take(seen: number): Promise<number>;
}

/** All operations throw NodeUnavailable or NodeRefused, nothing else. */
export interface HostingNode {
  /** Without: all of them. */
  readonly capabilities?: Capabilities;
  /**
   * Makes the account exactly as described: creates it, or corrects it. Once this returns, the description is in force:
   * another password has cut the open sessions, and a suspended account refuses FTP, has no open session and answers 503.
   */
  ensureAccount(account: DesiredAccount): Promise<void>;
  /** Login and site are gone and the files moved to a trash named by uid once this returns. Unknown account: done. */
  remove(account: AccountKey): Promise<void>;
  find(identifier: string): Promise<NodeAccount | undefined>;
  list(): Promise<NodeAccount[]>;
  /** The highest uid that the node was ever told, of removed accounts too as far as it remembers them; 0: of none. */
  highestUid(): Promise<number>;
  /** The accounts whose usage changed since `after`, at once if there are any, else when there are or after `waitMs`. */
  usageChanges(question: UsageQuestion): Promise<UsageChanges>;
  /**
   * Proves that the account works, as its owner would see it: a real FTP login with a one-time login of that account's
   * home, an upload, the page read back over HTTP, clean-up. With FTP disabled: the HTTP read only.
   */
  probe(account: AccountKey): Promise<void>;
  /**
   * Opens the account's home to us, to copy it: also while the account is suspended or without FTP.
   * @throws NodeRefused account_unknown, unsupported
   */
  oneTimeLogin(account: AccountKey): Promise<OneTimeLogin>;
}

/** The node did not do it and may do it later: repeat with backoff. */
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
  /** This kind of node cannot do that. */
  "unsupported",
  /** The question itself is wrong. */
  "invalid",
] as const;

export type RefusalReason = (typeof refusalReasons)[number];

/** The node will never do it: repeating is useless. */
export class NodeRefused extends Error {
  override readonly name = "NodeRefused";
  readonly reason: RefusalReason;
  constructor(reason: RefusalReason) {
    super(`the hosting node refused: ${reason}`);
    this.reason = reason;
  }
}
