/**
 * What the node was told, as one file of lines: one for what an account shall be, written before anything is done about
 * it, and one once that is in force. So an agent that was killed in between knows what to go on with, one change costs one
 * write whatever the number of accounts, and who was removed is never forgotten. Once most lines were overtaken by later
 * ones, the file is written anew. Mode 0600: it holds hashes.
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

/** Beside two for each account: a small node writes its file anew only now and then. */
const overtakenLinesMax = 1_000;

export class Records {
  readonly #path: string;
  /** Opened with the next line when undefined. */
  #file: FileHandle | undefined;
  readonly #accounts: Map<number, DesiredAccount>;
  readonly #removed: Map<number, AccountKey>;
  readonly #unfinished: Set<number>;
  readonly #uidOf = new Map<string, number>();
  readonly #uidOfHostName = new Map<string, number>();
  /** By uid: a change that is said again while it cannot be written takes no more room. */
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

  /** @throws when the file holds a line that is no record: the node must not forget accounts that it had */
  static async open(path: string): Promise<Records> {
    const records = new Records(path, await readContent(path));
    if (records.#isOvertaken()) await records.#rewrite();
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

  /** Who has this among its host names. */
  findByHostName(hostName: string): DesiredAccount | undefined {
    const uid = this.#uidOfHostName.get(hostName);
    return uid === undefined ? undefined : this.#accounts.get(uid);
  }

  isRemoved(uid: number): boolean {
    return this.#removed.has(uid);
  }

  /** Of all that were ever taken, removed ones too; 0: none. */
  get highestUid(): number {
    return this.#highestUid;
  }

  /** What was begun and not finished, by this process or one before it. */
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

  /** This is what shall be, on disk after `flush`. A removed account stays removed. */
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

  /** What was taken survives a power cut from here on. */
  async flush(): Promise<void> {
    if (this.#unwritten.size === 0) return;
    if (this.#isOvertaken()) return this.#rewrite();
    const file = await this.#append([...this.#unwritten.values()]);
    await file.datasync();
    this.#unwritten.clear();
  }

  /** It is in force. Not synced: a line that gets lost makes the next start do again what can be repeated. */
  async finish(uids: readonly number[]): Promise<void> {
    const done = uids.filter((uid) => this.#unfinished.has(uid));
    if (done.length === 0) return;
    await this.#append([printLine({ done })]);
    for (const uid of done) this.#unfinished.delete(uid);
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }

  #isOvertaken(): boolean {
    return this.#lines > 2 * (this.#accounts.size + this.#removed.size) + overtakenLinesMax;
  }

  /** On disk is what is known now. */
  async #rewrite(): Promise<void> {
    const lines = printAll(this.#accounts, this.#removed, this.#unfinished);
    await writeFileAtomic(this.#path, lines.join(""));
    this.#unwritten.clear();
    this.#lines = lines.length;
    const former = this.#file;
    this.#file = undefined;
    await former?.close();
  }

  /** All of the lines, or none: half a line, from a full disk, would spoil the next one. */
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
  // A crash may have left a part of a line, of a change that nobody was told of.
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
    // The parser's message would quote the line, which holds a hash.
    throw new Error(`${path} holds a line that is no record: restore it from a backup`);
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
