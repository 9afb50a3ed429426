/** A frame, or an event without a frame. Secrets are redacted before an entry is made. */
export interface JournalEntry {
  number: number;
  at: string;
  connection?: number | undefined;
  registrar?: string | undefined;
  /** "event": something that the registry did without a frame, e.g. approve a pending create. */
  direction: "in" | "out" | "event";
  clTRID?: string | undefined;
  svTRID?: string | undefined;
  /** "domain:create", "login", "poll:req", "hello" …; absent if the frame could not be read. */
  command?: string | undefined;
  /** The first domain name or contact id in the command. */
  name?: string | undefined;
  code?: number | undefined;
  /** True in the "in" entry of a command that changed the registry, even if its answer was lost. */
  executed: boolean;
  xml?: string | undefined;
}

/** Selects the entries that have all of these values. */
export interface JournalFilter
  extends Partial<
    Pick<JournalEntry, "name" | "command" | "registrar" | "clTRID" | "direction" | "connection" | "code" | "executed">
  > {
  /** Only entries with a higher number. */
  after?: number | undefined;
}

/** Longer frames are kept without their text, to bound memory. */
const frameCharsMax = 64 * 1024;

/** Where the journal is kept in addition to memory. */
interface JournalFile {
  write(entry: JournalEntry): void;
  /** Deletes the entries up to this number. */
  forget(upTo: number): void;
}

/** The most recent frames, oldest first, in bounded memory. */
export class Journal {
  readonly #framesMax: number;
  readonly #file: JournalFile;
  #entries: JournalEntry[] = [];
  /** Registrar and clTRID of every answered command in the entries. */
  #clTRIDs = new Set<string>();

  constructor(framesMax: number, file: JournalFile) {
    this.#framesMax = framesMax;
    this.#file = file;
  }

  record(entry: JournalEntry): void {
    const isLong = entry.xml !== undefined && entry.xml.length > frameCharsMax;
    const kept = isLong ? { ...entry, xml: undefined } : entry;
    this.restore(kept);
    this.#file.write(kept);
  }

  /** Adds an entry that was recorded before a restart. */
  restore(entry: JournalEntry): void {
    this.#entries.push(entry);
    this.#remember(entry);
    this.#trim();
  }

  /** Forgets the oldest entries when there are twice as many as are kept, so that it costs nothing per frame. */
  #trim(): void {
    if (this.#entries.length < this.#framesMax * 2) return;
    this.#file.forget(this.#entries.at(-this.#framesMax - 1)!.number);
    this.#entries = this.#entries.slice(-this.#framesMax);
    this.#clTRIDs.clear();
    for (const kept of this.#entries) this.#remember(kept);
  }

  /** Whether the registrar has received an answer to a command with that clTRID, as far as the journal goes back. */
  knowsClTRID(registrar: string, clTRID: string): boolean {
    return this.#clTRIDs.has(`${registrar} ${clTRID}`);
  }

  #remember({ direction, registrar, clTRID, code }: JournalEntry): void {
    if (direction === "in" && code !== undefined) this.#clTRIDs.add(`${registrar} ${clTRID}`);
  }

  entries({ after = 0, ...same }: JournalFilter = {}): JournalEntry[] {
    const wanted = Object.entries(same).filter(([, value]) => value !== undefined);
    return this.#entries
      .slice(-this.#framesMax)
      .filter(
        (entry) => entry.number > after && wanted.every(([key, value]) => entry[key as keyof typeof same] === value),
      );
  }

  clear(): void {
    this.#entries = [];
    this.#clTRIDs.clear();
  }
}
