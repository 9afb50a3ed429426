/**
 * The journal of desired states: a line for each state, written before it is applied, and a line once it is in force. So an
 * agent continues after a kill in between, a change costs one write whatever the number of accounts, and removed accounts are
 * remembered. When most lines are superseded, the file is rewritten. Mode 0600: it contains hashes.
 */
import { type FileHandle, open, readFile, truncate } from "node:fs/promises";
import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import { AccountJson, accountFromJson, accountToJson, Uid } from "#nodes/account-json.ts";
import type { AccountState } from "#nodes/agent-node.ts";
import { ignoreMissing, writeFileAtomic } from "#nodes/atomic-file.ts";
import type { AccountKey, DesiredAccount } from "#nodes/driver.ts";

const Line = Type.Union([
  Type.Object({ account: AccountJson }),
  Type.Object({ removed: Type.Object({ identifier: Type.String(), uid: Uid }) }),
  Type.Object({ done: Type.Array(Uid) }),
]);
type Line = Static<typeof Line>;

/** In addition to two per account, so that a small node rarely rewrites its file. */
const supersededLinesMax = 1_000;

export class Records {
  readonly #path: string;
  /** Opened with the next line when undefined. */
  #file: FileHandle | undefined;
  readonly #accounts: Map<number, DesiredAccount>;
  readonly #removed: Map<number, AccountKey>;
  readonly #unfinished: Set<number>;
  readonly #uidOf = new Map<string, number>();
  readonly #uidOfHostName = new Map<string, number>();
  /** By uid, so that a change that is repeated while it cannot be written takes no more memory. */
  readonly #unwritten = new Map<number, string>();
  #lines: number;
  #highestUid = 0;

  private constructor(path: string, content: Content) {
    this.#path = path;
    this.#lines = content.lines;
    this.#accounts = content.accounts;
    this.#removed = content.removed;
    this.#unfinished = content.unfinished;
    for (const account of content.accounts.values()) this.#name(account);
    for (const { uid } of [...content.accounts.values(), ...content.removed.values()]) this.#seeUid(uid);
  }

  /** @throws when a line is not a valid record: the node must not forget accounts */
  static async open(path: string): Promise<Records> {
    const records = new Records(path, await readContent(path));
    if (records.#isMostlySuperseded()) await records.#rewrite();
    return records;
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
    this.#unwritten.set(uid, printLine(lineOf(state)));
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
    if (this.#isMostlySuperseded()) return this.#rewrite();
    const file = await this.#append([...this.#unwritten.values()]);
    await file.datasync();
    this.#unwritten.clear();
  }

  /** Records that the states are in force. Not synced: if the line gets lost, the next start applies the states again. */
  async finish(uids: readonly number[]): Promise<void> {
    const done = uids.filter((uid) => this.#unfinished.has(uid));
    if (done.length === 0) return;
    await this.#append([printLine({ done })]);
    for (const uid of done) this.#unfinished.delete(uid);
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }

  #isMostlySuperseded(): boolean {
    return this.#lines > 2 * (this.#accounts.size + this.#removed.size) + supersededLinesMax;
  }

  /** Replaces the file by the current records. */
  async #rewrite(): Promise<void> {
    const lines = printAll(this.#accounts, this.#removed, this.#unfinished);
    await writeFileAtomic(this.#path, lines.join(""));
    this.#unwritten.clear();
    this.#lines = lines.length;
    const former = this.#file;
    this.#file = undefined;
    await former?.close();
  }

  /** Appends all of the lines or none: a partial line, from a full disk, would corrupt the next one. */
  async #append(lines: readonly string[]): Promise<FileHandle> {
    this.#file ??= await open(this.#path, "a", 0o600);
    const { size } = await this.#file.stat();
    try {
      await this.#file.appendFile(lines.join(""));
    } catch (error) {
      await this.#file.truncate(size);
      throw error;
    }
    this.#lines += lines.length;
    return this.#file;
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

interface Content {
  accounts: Map<number, DesiredAccount>;
  removed: Map<number, AccountKey>;
  unfinished: Set<number>;
  lines: number;
}

async function readContent(path: string): Promise<Content> {
  const bytes = (await readFile(path).catch(ignoreMissing)) ?? Buffer.alloc(0);
  // A crash may have left a partial line, of a change that was not acknowledged.
  const end = bytes.lastIndexOf("\n") + 1;
  if (end < bytes.length) await truncate(path, end);
  const content: Content = { accounts: new Map(), removed: new Map(), unfinished: new Set(), lines: 0 };
  const texts = bytes.subarray(0, end).toString("utf8").split("\n").slice(0, -1);
  for (const text of texts) addLine(content, parseLine(path, text));
  content.lines = texts.length;
  return content;
}

function addLine({ accounts, removed, unfinished }: Content, line: Line): void {
  if ("account" in line) {
    accounts.set(line.account.uid, accountFromJson(line.account));
    unfinished.add(line.account.uid);
  } else if ("removed" in line) {
    accounts.delete(line.removed.uid);
    removed.set(line.removed.uid, line.removed);
    unfinished.add(line.removed.uid);
  } else {
    for (const uid of line.done) unfinished.delete(uid);
  }
}

function parseLine(path: string, text: string): Line {
  try {
    return Value.Parse(Line, JSON.parse(text));
  } catch {
    // The parser's message would quote the line, which contains a hash.
    throw new Error(`${path} contains an invalid line: restore it from a backup`);
  }
}

function printAll(
  accounts: ReadonlyMap<number, DesiredAccount>,
  removed: ReadonlyMap<number, AccountKey>,
  unfinished: ReadonlySet<number>,
): string[] {
  const states: AccountState[] = [
    ...[...accounts.values()].map((account) => ({ kind: "account" as const, account })),
    ...[...removed.values()].map((account) => ({ kind: "removed" as const, account })),
  ];
  const done = [...accounts.keys(), ...removed.keys()].filter((uid) => !unfinished.has(uid));
  return [...states.map(lineOf), { done }].map(printLine);
}

function lineOf(state: AccountState): Line {
  if (state.kind === "account") return { account: accountToJson(state.account) };
  return { removed: { identifier: state.account.identifier, uid: state.account.uid } };
}

function printLine(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}
