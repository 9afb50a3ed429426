/** The journal's files, in memory that the threads of an api share: each appends to its own, and any of them records all. */
import type { ListedFile } from "#api/replay/nonce-file.ts";
import { filesMax, fileWords } from "#api/replay/replay-memory.ts";
import { fileName, fileNumber } from "#api/replay/state.ts";
import { markOf } from "#lib/threads/lock.ts";

/** Words of a place; a number of 0 means that it is free. */
const wordAt = { number: 0, bytes: 1, timestampMax: 2, owner: 3 } as const;

/** Too many files are listed. It looks like an error of the disk, because nothing can be written either. */
class FilesFull extends Error {
  readonly syscall = "open";
  constructor() {
    super(`it has ${filesMax} files`);
  }
}

/** A file of the journal. A thread appends to it, or nobody does any more. */
export class JournalFile implements ListedFile {
  readonly #words: Int32Array;
  readonly #start: number;

  constructor(words: Int32Array, start: number) {
    this.#words = words;
    this.#start = start;
  }

  get isListed(): boolean {
    return this.#read("number") !== 0;
  }
  get name(): string {
    return fileName(this.#read("number"));
  }
  get bytes(): number {
    return this.#read("bytes");
  }
  set bytes(bytes: number) {
    this.#write("bytes", bytes);
  }
  get timestampMax(): number {
    return this.#read("timestampMax");
  }
  set timestampMax(seconds: number) {
    this.#write("timestampMax", seconds);
  }
  get isInUse(): boolean {
    return this.#read("owner") !== 0;
  }

  list({ name, bytes, timestampMax }: ListedFile): void {
    this.bytes = bytes;
    this.timestampMax = timestampMax;
    this.#write("number", fileNumber(name));
  }
  unlist(): void {
    this.#write("owner", 0);
    this.#write("number", 0);
  }
  lend(thread: number): void {
    this.#write("owner", markOf(thread));
  }
  /** If the thread has it. */
  giveBack(thread: number): void {
    Atomics.compareExchange(this.#words, this.#start + wordAt.owner, markOf(thread), 0);
  }

  #read(word: keyof typeof wordAt): number {
    return Atomics.load(this.#words, this.#start + wordAt[word]) >>> 0;
  }
  #write(word: keyof typeof wordAt, value: number): void {
    Atomics.store(this.#words, this.#start + wordAt[word], value);
  }
}

export class JournalFiles {
  readonly #places: JournalFile[];

  constructor(memory: SharedArrayBuffer) {
    const words = new Int32Array(memory);
    this.#places = Array.from({ length: filesMax }, (_, place) => new JournalFile(words, place * fileWords));
  }

  listed(): JournalFile[] {
    return this.#places.filter((file) => file.isListed);
  }

  /** @throws FilesFull */
  add(file: ListedFile): JournalFile {
    const free = this.#places.find((place) => !place.isListed);
    if (!free) throw new FilesFull();
    free.list(file);
    return free;
  }

  /** Nobody appends any more to what a thread that has died appended to. */
  freeThread(thread: number): void {
    for (const file of this.#places) file.giveBack(thread);
  }
}
