/**
 * The accounts of the node: records on disk, and a copy in memory for FTP and web requests.
 *
 * Changes of all accounts run one after the other, and each waits for the account's own queue, which the file operations of
 * FTP use too. So when a change returns, no file operation from before it is still running: a session that was cut finds its
 * signal aborted when its turn comes.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createSerialQueue, type SerialQueue } from "#lib/queues/serial-queue.ts";
import {
  type AccountKey,
  type DesiredAccount,
  type NodeAccount,
  NodeRefused,
  type UsageChanges,
} from "#nodes/driver.ts";
import type { Marks } from "#nodes/embedded/marks.ts";
import { Quota } from "#nodes/embedded/quota.ts";
import { readRecords, removeRecord, writeRecord } from "#nodes/embedded/records.ts";
import type { Traffic } from "#nodes/embedded/traffic.ts";
import type { Trash } from "#nodes/homes/trash.ts";
import { countUsage } from "#nodes/homes/usage.ts";
import type { UsageFeed } from "#nodes/homes/usage-feed.ts";

export interface Account {
  /** Immutable: a change replaces it. */
  record: DesiredAccount;
  /** The account's virtual root, an absolute real path. */
  readonly home: string;
  /** The folder `www` of the home, which the web server serves. */
  readonly docroot: string;
  readonly quota: Quota;
  /** All changes of the account's files run in this queue. */
  readonly queue: SerialQueue;
}

export interface AccountsOptions {
  recordsFolder: string;
  homesFolder: string;
  trash: Trash;
  feed: UsageFeed;
  traffic: Traffic;
  marks: Marks;
  siteDomain: string;
  /** Ends the sessions of an account at once. */
  cutSessions: (account: Account) => void;
}

export class Accounts {
  readonly #options: AccountsOptions;
  readonly #byIdentifier = new Map<string, Account>();
  readonly #byUid = new Map<number, Account>();
  readonly #byHostName = new Map<string, Account>();
  readonly #changes = createSerialQueue();

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  /** Reads the records and counts what each account uses. Call once, before anything else. */
  async load(): Promise<void> {
    const { recordsFolder, trash, marks } = this.#options;
    for (const record of await readRecords(recordsFolder)) await this.#open(record);
    // The marks may be lost.
    const uids = [...this.#byUid.keys(), ...(await trash.uids())];
    await marks.raise(uids.reduce((highest, uid) => Math.max(highest, uid), 0));
  }

  find(identifier: string): Account | undefined {
    return this.#byIdentifier.get(identifier);
  }

  /** The account that has this additional host name. */
  findByHostName(name: string): Account | undefined {
    return this.#byHostName.get(name);
  }

  list(): Account[] {
    return [...this.#byUid.values()];
  }

  /** Whether this account still exists: a long operation checks again at its end. */
  isCurrent(account: Account): boolean {
    return this.#byUid.get(account.record.uid) === account;
  }

  usageAfter(version: number): UsageChanges {
    const { feed, traffic } = this.#options;
    const changed = feed.changedAfter(version).flatMap((uid) => this.#byUid.get(uid) ?? []);
    return {
      version: feed.version,
      accounts: changed.map((account) => {
        const key = keyOf(account);
        return { ...key, ...account.quota.usage, traffic: traffic.of(key.uid) };
      }),
    };
  }

  /** @throws NodeRefused identifier_taken, uid_taken, uid_retired, invalid */
  ensure(wanted: DesiredAccount): Promise<void> {
    return this.#changes(async () => {
      const existing = this.#byUid.get(wanted.uid);
      if (existing === undefined) return this.#create(wanted);
      if (existing.record.identifier !== wanted.identifier) throw new NodeRefused("uid_taken");
      this.#checkHostNames(wanted);
      await this.#takeHostNames(wanted);
      await this.#replace(existing, wanted);
    });
  }

  /** Moves files that a crash left behind to the trash even if the account is unknown. */
  remove(key: AccountKey): Promise<void> {
    return this.#changes(async () => {
      await this.#options.marks.raise(key.uid);
      const account = this.#byUid.get(key.uid);
      if (account === undefined) return this.#options.trash.take(key.uid, this.#home(key.uid));
      if (account.record.identifier !== key.identifier) throw new NodeRefused("uid_taken");
      await removeRecord(this.#options.recordsFolder, key.uid);
      this.#byUid.delete(key.uid);
      this.#byIdentifier.delete(key.identifier);
      for (const name of account.record.hostNames) this.#byHostName.delete(name);
      this.#options.feed.forget(key.uid);
      this.#options.traffic.forget(key.uid);
      this.#options.cutSessions(account);
      await account.queue(() => this.#options.trash.take(key.uid, account.home));
    });
  }

  /** @throws NodeRefused account_unknown, also when the identifier has another uid */
  get(key: AccountKey): Account {
    const account = this.#byUid.get(key.uid);
    if (account?.record.identifier !== key.identifier) throw new NodeRefused("account_unknown");
    return account;
  }

  async #create(wanted: DesiredAccount): Promise<void> {
    const { trash, recordsFolder } = this.#options;
    const { identifier, uid } = wanted;
    if (this.#isPlatformName(identifier)) throw new NodeRefused("invalid");
    if (this.#byIdentifier.has(identifier)) throw new NodeRefused("identifier_taken");
    if (await trash.has(uid)) throw new NodeRefused("uid_retired");
    this.#checkHostNames(wanted);
    await this.#options.marks.raise(uid);
    await this.#takeHostNames(wanted);
    // The record is written last: until then there is no login and no site, and a repetition continues with the folders.
    await mkdir(join(this.#home(uid), "www"), { recursive: true });
    await writeRecord(recordsFolder, wanted);
    await this.#open(wanted);
  }

  /** @throws NodeRefused invalid for a name of the platform */
  #checkHostNames({ hostNames }: DesiredAccount): void {
    if (hostNames.some((name) => this.#isPlatformName(name))) throw new NodeRefused("invalid");
  }

  /** Such a name would be the platform name of some account. */
  #isPlatformName(name: string): boolean {
    const { siteDomain } = this.#options;
    return name === siteDomain || name.endsWith(`.${siteDomain}`);
  }

  /** Takes the account's names away from other accounts first, so that no crash leaves a name with two. */
  async #takeHostNames({ uid, hostNames }: DesiredAccount): Promise<void> {
    for (const name of hostNames) {
      const holder = this.#byHostName.get(name);
      if (holder === undefined || holder.record.uid === uid) continue;
      const left = holder.record.hostNames.filter((one) => one !== name);
      await this.#replace(holder, { ...holder.record, hostNames: left });
    }
  }

  async #replace(account: Account, wanted: DesiredAccount): Promise<void> {
    const before = account.record;
    const isSamePassword = before.passwordHash?.reveal() === wanted.passwordHash?.reveal();
    await writeRecord(this.#options.recordsFolder, wanted);
    // A login compares the hash object it checked with the current one: an unchanged hash stays the same object.
    account.record = isSamePassword ? { ...wanted, passwordHash: before.passwordHash } : wanted;
    for (const name of before.hostNames) this.#byHostName.delete(name);
    for (const name of wanted.hostNames) this.#byHostName.set(name, account);
    if (isSamePassword && !wanted.suspended && wanted.ftpEnabled) return;
    this.#options.cutSessions(account);
    await account.queue(async () => {});
  }

  async #open(record: DesiredAccount): Promise<void> {
    const { feed } = this.#options;
    const home = this.#home(record.uid);
    const docroot = join(home, "www");
    const account: Account = {
      record,
      home,
      docroot,
      quota: new Quota(
        await countUsage(docroot),
        () => account.record,
        () => feed.changed(record.uid),
      ),
      queue: createSerialQueue(),
    };
    this.#byUid.set(record.uid, account);
    this.#byIdentifier.set(record.identifier, account);
    for (const name of record.hostNames) this.#byHostName.set(name, account);
    feed.changed(record.uid);
  }

  #home(uid: number): string {
    return join(this.#options.homesFolder, String(uid));
  }
}

function keyOf(account: Account): AccountKey {
  return { identifier: account.record.identifier, uid: account.record.uid };
}

/** The account in the form of the contract, without its hash. */
export function describeAccount(account: Account): NodeAccount {
  const { passwordHash: _, ...shown } = account.record;
  return { ...shown, usage: account.quota.usage };
}
