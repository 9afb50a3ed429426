/**
 * What the node was told, as one file that only grows: a line for what an account shall be, written before anything is
 * done about it, and a line once that is in force. So an agent that was killed in between knows what to go on with, one
 * change costs one write whatever the number of accounts, and who was removed is never forgotten. Mode 0600: it holds hashes.
 */
import { type FileHandle, open, readFile, truncate } from "node:fs/promises";
import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import { AccountJson, accountFromJson, accountToJson, Uid } from "../account-json.ts";
import type { AccountState } from "../agent-node.ts";
import { ignoreMissing, writeFileAtomic } from "../atomic-file.ts";
import type { AccountKey, DesiredAccount } from "../driver.ts";

const Line = Type.Union([
  Type.Object({ account: AccountJson }),
  Type.Object({ removed: Type.Object({ identifier: Type.String(), uid: Uid }) }),
  Type.Object({ done: Type.Array(Uid) }),
]);
type Line = Static<typeof Line>;

export class Records {
  readonly #file: FileHandle;
  readonly #accounts: Map<number, DesiredAccount>;
  readonly #removed: Map<number, AccountKey>;
  readonly #unfinished: Set<number>;
  readonly #uidOf = new Map<string, number>();
  readonly #uidOfHostName = new Map<string, number>();
  #unwritten = "";

  private constructor(file: FileHandle, content: Content) {
    this.#file = file;
    this.#accounts = content.accounts;
    this.#removed = content.removed;
    this.#unfinished = content.unfinished;
    for (const account of content.accounts.values()) this.#name(account);
  }

  /** @throws when the file holds a line that is no record: the node must not forget accounts that it had */
  static async open(path: string): Promise<Records> {
    const content = await readContent(path);
    // Most lines were overtaken by later ones: begin a new file.
    if (content.lines > 2 * content.size + 1_000) await writeFileAtomic(path, printContent(content));
    return new Records(await open(path, "a", 0o600), content);
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
    this.#unwritten += printLine(lineOf(state));
    this.#unfinished.add(uid);
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
    if (this.#unwritten === "") return;
    const { size } = await this.#file.stat();
    try {
      await this.#file.appendFile(this.#unwritten);
      await this.#file.datasync();
    } catch (error) {
      // Half a line would spoil the next one.
      await this.#file.truncate(size);
      throw error;
    }
    this.#unwritten = "";
  }

  /** It is in force. Not synced: a line that gets lost makes the next start do again what can be repeated. */
  async finish(uids: readonly number[]): Promise<void> {
    const done = uids.filter((uid) => this.#unfinished.has(uid));
    if (done.length === 0) return;
    await this.#file.appendFile(printLine({ done }));
    for (const uid of done) this.#unfinished.delete(uid);
  }

  close(): Promise<void> {
    return this.#file.close();
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
  size: number;
}

async function readContent(path: string): Promise<Content> {
  const bytes = (await readFile(path).catch(ignoreMissing)) ?? Buffer.alloc(0);
  // A crash may have left a part of a line, of a change that nobody was told of.
  const end = bytes.lastIndexOf("\n") + 1;
  if (end < bytes.length) await truncate(path, end);
  const content: Content = { accounts: new Map(), removed: new Map(), unfinished: new Set(), lines: 0, size: 0 };
  const texts = bytes.subarray(0, end).toString("utf8").split("\n").slice(0, -1);
  for (const text of texts) addLine(content, parseLine(path, text));
  content.lines = texts.length;
  content.size = content.accounts.size + content.removed.size;
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

function printContent({ accounts, removed, unfinished }: Content): string {
  const states: AccountState[] = [
    ...[...accounts.values()].map((account) => ({ kind: "account" as const, account })),
    ...[...removed.values()].map((account) => ({ kind: "removed" as const, account })),
  ];
  const done = [...accounts.keys(), ...removed.keys()].filter((uid) => !unfinished.has(uid));
  return [...states.map(lineOf), { done }].map(printLine).join("");
}

function lineOf(state: AccountState): Line {
  if (state.kind === "account") return { account: accountToJson(state.account) };
  return { removed: { identifier: state.account.identifier, uid: state.account.uid } };
}

function printLine(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}
