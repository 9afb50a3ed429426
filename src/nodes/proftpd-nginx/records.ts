/**
 * The desired states of a node's accounts: each is stored before it is applied, and marked once it is in force. So an agent
 * continues after a kill in between, and removed accounts are remembered. An SQLite file holds them, mode 0600 because it
 * contains hashes; reads are served from memory.
 */
import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { Value } from "typebox/value";
import { earlierFormat } from "#lib/earlier-format.ts";
import { AccountJson, accountFromJson, accountToJson } from "#nodes/account-json.ts";
import type { AccountState } from "#nodes/agent-node.ts";
import type { AccountKey, DesiredAccount } from "#nodes/driver.ts";

/** `account` is null for a removed account. */
const createTable = `CREATE TABLE IF NOT EXISTS states (
  uid INTEGER PRIMARY KEY, identifier TEXT NOT NULL, account TEXT, is_unfinished INTEGER NOT NULL) STRICT`;

interface StateRow {
  uid: number;
  identifier: string;
  account: string | null;
  is_unfinished: number;
}

export class Records {
  readonly #database: DatabaseSync;
  readonly #put: StatementSync;
  readonly #markFinished: StatementSync;
  readonly #accounts = new Map<number, DesiredAccount>();
  readonly #removed = new Map<number, AccountKey>();
  readonly #unfinished = new Set<number>();
  readonly #uidOf = new Map<string, number>();
  readonly #uidOfHostName = new Map<string, number>();
  /** By uid, so that a change that is repeated while it cannot be written takes no more memory. */
  readonly #unwritten = new Map<number, AccountState>();
  #highestUid = 0;

  private constructor(database: DatabaseSync) {
    this.#database = database;
    this.#put = database.prepare("INSERT OR REPLACE INTO states VALUES (?, ?, ?, 1)");
    this.#markFinished = database.prepare("UPDATE states SET is_unfinished = 0 WHERE uid = ?");
  }

  /**
   * @param journal where nodes kept their accounts before 0.1.0; a node that has one is refused
   * @throws when a record is invalid: the node must not forget accounts
   */
  static async open(path: string, journal?: string): Promise<Records> {
    if (journal !== undefined && existsSync(journal)) {
      throw new Error(earlierFormat(`${journal} has accounts`, "install the node again with an empty state folder"));
    }
    // SQLite would create it readable for everybody; its other files get the mode of this one.
    await (await open(path, "a", 0o600)).close();
    const database = new DatabaseSync(path);
    try {
      // A commit is synced where `#commit` says so.
      database.exec(`PRAGMA journal_mode = WAL; ${createTable}`);
      const records = new Records(database);
      records.#read(path);
      return records;
    } catch (error) {
      database.close();
      throw error;
    }
  }

  list(): DesiredAccount[] {
    return [...this.#accounts.values()];
  }

  get(uid: number): DesiredAccount | undefined {
    return this.#accounts.get(uid);
  }

  find(identifier: string): DesiredAccount | undefined {
    const uid = this.#uidOf.get(identifier);
    return uid === undefined ? undefined : this.#accounts.get(uid);
  }

  /** The account that has this host name. */
  findByHostName(hostName: string): DesiredAccount | undefined {
    const uid = this.#uidOfHostName.get(hostName);
    return uid === undefined ? undefined : this.#accounts.get(uid);
  }

  isRemoved(uid: number): boolean {
    return this.#removed.has(uid);
  }

  /** Of all states that were ever recorded, including removed accounts; 0: none. */
  get highestUid(): number {
    return this.#highestUid;
  }

  /** States that are recorded and not yet in force, from this process or an earlier one. */
  unfinished(): AccountState[] {
    return [...this.#unfinished].flatMap((uid): AccountState[] => {
      const account = this.#accounts.get(uid);
      if (account !== undefined) return [{ kind: "account", account }];
      const removed = this.#removed.get(uid);
      return removed === undefined ? [] : [{ kind: "removed", account: removed }];
    });
  }

  isUnfinished(uid: number): boolean {
    return this.#unfinished.has(uid);
  }

  /** Records a desired state; `flush` writes it to disk. A removed account stays removed. */
  take(state: AccountState): void {
    const { uid, identifier } = state.account;
    this.#unwritten.set(uid, state);
    this.#unfinished.add(uid);
    this.#seeUid(uid);
    const before = this.#accounts.get(uid);
    if (before !== undefined) this.#unname(before);
    if (state.kind === "account") {
      this.#accounts.set(uid, state.account);
      this.#name(state.account);
    } else {
      this.#accounts.delete(uid);
      this.#removed.set(uid, { identifier, uid });
    }
  }

  /** Makes the recorded states survive a power cut. */
  async flush(): Promise<void> {
    if (this.#unwritten.size === 0) return;
    this.#commit("FULL", () => {
      for (const { kind, account } of this.#unwritten.values()) {
        const json = kind === "account" ? JSON.stringify(accountToJson(account)) : null;
        this.#put.run(account.uid, account.identifier, json);
      }
    });
    this.#unwritten.clear();
  }

  /** Records that the states are in force. Not synced: if that gets lost, the next start applies the states again. */
  async finish(uids: readonly number[]): Promise<void> {
    const done = uids.filter((uid) => this.#unfinished.has(uid));
    if (done.length === 0) return;
    this.#commit("NORMAL", () => {
      for (const uid of done) this.#markFinished.run(uid);
    });
    for (const uid of done) this.#unfinished.delete(uid);
  }

  async close(): Promise<void> {
    this.#database.close();
  }

  /** All of the work is in the file afterwards, or none. */
  #commit(synchronous: "FULL" | "NORMAL", work: () => void): void {
    this.#database.exec(`PRAGMA synchronous = ${synchronous}; BEGIN`);
    try {
      work();
      this.#database.exec("COMMIT");
    } catch (error) {
      // A full disk ends the transaction by itself.
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  #read(path: string): void {
    const rows = this.#database
      .prepare("SELECT uid, identifier, account, is_unfinished FROM states")
      .all() as unknown as StateRow[];
    for (const { uid, identifier, account, is_unfinished } of rows) {
      if (account === null) this.#removed.set(uid, { identifier, uid });
      else {
        const parsed = parseAccount(path, account);
        this.#accounts.set(uid, parsed);
        this.#name(parsed);
      }
      if (is_unfinished === 1) this.#unfinished.add(uid);
      this.#seeUid(uid);
    }
  }

  #seeUid(uid: number): void {
    this.#highestUid = Math.max(this.#highestUid, uid);
  }

  #name({ identifier, hostNames, uid }: DesiredAccount): void {
    this.#uidOf.set(identifier, uid);
    for (const name of hostNames) this.#uidOfHostName.set(name, uid);
  }

  #unname({ identifier, hostNames }: DesiredAccount): void {
    this.#uidOf.delete(identifier);
    for (const name of hostNames) this.#uidOfHostName.delete(name);
  }
}

function parseAccount(path: string, text: string): DesiredAccount {
  try {
    return accountFromJson(Value.Parse(AccountJson, JSON.parse(text)));
  } catch {
    // The parser's message would quote the record, which contains a hash.
    throw new Error(`${path} contains an invalid record: restore it from a backup`);
  }
}
