import { mkdir } from "node:fs/promises";
import type { TableName } from "./database.ts";
import { lockFolder } from "./folder-lock.ts";
import { Journal, type JournalEntry } from "./journal.ts";
import type {
  ChangedPassword,
  ClockOffset,
  Contact,
  Credit,
  Domain,
  FiredLabel,
  Host,
  PollMessage,
} from "./objects.ts";
import { type Change, StoreFile } from "./store-file.ts";

/** Numbers skipped at a restart: more than a killed process can have handed out without writing the last of them. */
const sequenceGap = 1_000_000;

/** Rows by key; every change to them goes to the file. */
export class Table<Row> {
  readonly #rows = new Map<string, Row>();
  readonly #name: TableName;
  readonly #keyOf: (row: Row) => string;
  readonly #append: (change: Change) => void;
  #watch: (row: Row) => void = () => undefined;

  constructor(name: TableName, keyOf: (row: Row) => string, append: (change: Change) => void) {
    this.#name = name;
    this.#keyOf = keyOf;
    this.#append = append;
  }

  find(key: string): Row | undefined {
    return this.#rows.get(key);
  }

  values(): Row[] {
    return [...this.#rows.values()];
  }

  put(row: Row): void {
    this.restore(row);
    this.#append({ kind: "put", table: this.#name, key: this.#keyOf(row), row });
    this.#watch(row);
  }

  /** Calls `watch` for every row there is, and for every row that is put from now on. */
  watch(watch: (row: Row) => void): void {
    this.#watch = watch;
    this.values().forEach(watch);
  }

  delete(key: string): void {
    if (this.#rows.delete(key)) this.#append({ kind: "delete", table: this.#name, key });
  }

  clear(): void {
    this.#rows.clear();
    this.#append({ kind: "clear", table: this.#name });
  }

  /** Puts a row that the file already has. */
  restore(row: Row): void {
    this.#rows.set(this.#keyOf(row), row);
  }
}

/**
 * The state of the registry: tables and the journal of frames, in memory, and in one file so that a command and its
 * journal entry are on disk together or not at all. Without a folder it is in memory only.
 */
export class Store {
  #sequence = 0;
  #lock: Disposable | undefined;
  readonly #file = new StoreFile(() => this.#sequence);
  readonly #append = (change: Change): void => this.#file.append(change);

  readonly #tables = new Map<TableName, Pick<Table<unknown>, "restore" | "clear">>();

  readonly domains = this.#table<Domain>("domains", (row) => row.name);
  readonly contacts = this.#table<Contact>("contacts", (row) => row.id);
  readonly hosts = this.#table<Host>("hosts", (row) => row.name);
  readonly messages = this.#table<PollMessage>("messages", (row) => row.id);
  readonly passwords = this.#table<ChangedPassword>("passwords", (row) => row.registrar);
  readonly credits = this.#table<Credit>("credits", (row) => row.registrar);
  readonly clock = this.#table<ClockOffset>("clock", (row) => row.id);
  readonly firedLabels = this.#table<FiredLabel>("firedLabels", (row) => row.key);
  readonly journal: Journal;

  constructor(journalFramesMax: number) {
    // Lazily: no answer reveals that a frame was journalled, so a query costs no fsync.
    this.journal = new Journal(journalFramesMax, {
      write: (entry) => this.#file.appendLazily({ kind: "put", table: "frames", key: entry.number, row: entry }),
      forget: (upTo) => this.#file.appendLazily({ kind: "deleteUpTo", table: "frames", key: upTo }),
    });
  }

  /** Reads `dataDir`/registry.sqlite if there is one, and writes to it from now on. @throws Error when another process uses it */
  async open(dataDir: string): Promise<void> {
    await mkdir(dataDir, { recursive: true });
    this.#lock = lockFolder(dataDir);
    await this.#file.open(dataDir, {
      takeRow: (table, row) => {
        if (table === "frames") this.journal.restore(row as JournalEntry);
        else this.#tables.get(table)?.restore(row);
      },
      takeSequence: (last) => {
        this.#sequence = last === undefined ? 0 : last + sequenceGap;
      },
    });
  }

  /** A number that no call has returned before, in this run or an earlier one: for svTRIDs, roids and message ids. */
  nextNumber(): number {
    this.#sequence += 1;
    return this.#sequence;
  }

  /** Resolves when every change that an answer could reveal is on disk. */
  durable(): Promise<void> {
    return this.#file.durable();
  }

  /** Removes all objects, messages, changed passwords and frames. Numbers continue. */
  reset(): void {
    for (const table of this.#tables.values()) table.clear();
    this.journal.clear();
    this.#append({ kind: "clear", table: "frames" });
  }

  async close(): Promise<void> {
    try {
      await this.#file.close();
    } finally {
      this.#lock?.[Symbol.dispose]();
    }
  }

  #table<Row>(name: TableName, keyOf: (row: Row) => string): Table<Row> {
    const table = new Table(name, keyOf, this.#append);
    this.#tables.set(name, table);
    return table;
  }
}
