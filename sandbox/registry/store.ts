import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { AppendLog, type Change } from "./append-log.ts";
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

/** Numbers skipped at a restart: more than a killed process can have handed out without an fsync. */
const sequenceGap = 1_000_000;

const framesTable = "frames";

/** Rows by key, every change of which goes to the log. */
export class Table<Row> {
  readonly #rows = new Map<string, Row>();
  readonly #name: string;
  readonly #keyOf: (row: Row) => string;
  readonly #append: (change: Change) => void;
  #watch: (row: Row) => void = () => undefined;

  constructor(name: string, keyOf: (row: Row) => string, append: (change: Change) => void) {
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
    this.#rows.set(this.#keyOf(row), row);
    this.#append({ table: this.#name, put: row });
    this.#watch(row);
  }

  /** Calls `watch` for every row there is, and for every row that is put from now on. */
  watch(watch: (row: Row) => void): void {
    this.#watch = watch;
    this.values().forEach(watch);
  }

  delete(key: string): void {
    if (this.#rows.delete(key)) this.#append({ table: this.#name, delete: key });
  }

  clear(): void {
    this.#rows.clear();
    this.#append({ table: this.#name, clear: true });
  }

  /** Applies a change read from the log, without writing it again. */
  replay(change: Change): void {
    if ("put" in change) this.#rows.set(this.#keyOf(change.put as Row), change.put as Row);
    else if ("delete" in change) this.#rows.delete(change.delete);
    else this.#rows.clear();
  }

  /** What the log needs to hold for this table, and no more. */
  snapshot(): Change[] {
    return this.values().map((row) => ({ table: this.#name, put: row }));
  }
}

/**
 * All the registry knows: tables and the journal of frames, in memory, and in one file so that a command and its
 * journal entry are on disk together or not at all. Without a folder it is in memory only.
 */
export class Store {
  #sequence = 0;
  #lock: Disposable | undefined;
  readonly #log = new AppendLog(() => this.#sequence);
  readonly #append = (change: Change): void => this.#log.append(change);

  readonly #tables = new Map<string, Pick<Table<unknown>, "replay" | "snapshot" | "clear">>();

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
    // Lazily: a frame by itself is nothing that an answer reveals, so a query costs no fsync.
    this.journal = new Journal(journalFramesMax, (entry) => this.#log.appendLazily({ table: framesTable, put: entry }));
  }

  /** Reads `dataDir`/registry.jsonl if there is one, and writes to it from now on. Throws if another process does. */
  async open(dataDir: string): Promise<void> {
    await mkdir(dataDir, { recursive: true });
    this.#lock = lockFolder(dataDir);
    const path = join(dataDir, "registry.jsonl");
    const last = await this.#log.replay(path, (change) => {
      if (change.table !== framesTable) this.#tables.get(change.table)?.replay(change);
      else if ("put" in change) this.journal.restore(change.put as JournalEntry);
      else this.journal.clear();
    });
    this.#sequence = last === undefined ? 0 : last + sequenceGap;
    const frames: Change[] = this.journal.entries().map((entry) => ({ table: framesTable, put: entry }));
    await this.#log.start(path, [...[...this.#tables.values()].flatMap((table) => table.snapshot()), ...frames]);
  }

  /** A number that no earlier call returned, on this run or one before: svTRIDs, roids, message ids come from it. */
  nextNumber(): number {
    this.#sequence += 1;
    return this.#sequence;
  }

  /** Resolves when every change an answer could reveal is on disk. */
  durable(): Promise<void> {
    return this.#log.durable();
  }

  /** Forgets all objects, messages, changed passwords and frames. Numbers go on. */
  reset(): void {
    for (const table of this.#tables.values()) table.clear();
    this.journal.clear();
    this.#append({ table: framesTable, clear: true });
  }

  async close(): Promise<void> {
    try {
      await this.#log.close();
    } finally {
      this.#lock?.[Symbol.dispose]();
    }
  }

  #table<Row>(name: string, keyOf: (row: Row) => string): Table<Row> {
    const table = new Table(name, keyOf, this.#append);
    this.#tables.set(name, table);
    return table;
  }
}
