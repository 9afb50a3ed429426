/** Messages of the DNS (RFC 1035 §4). Names are in wire form without compression; RDATA is bytes, as in the message. */

/** Bytes that are no message. */
export class WireProblem extends Error {
  override readonly name = "WireProblem";
}

export interface Question {
  name: Buffer;
  type: number;
  class: number;
}

export interface WireRecord {
  name: Buffer;
  type: number;
  class: number;
  ttl: number;
  rdata: Buffer;
}

export interface Message {
  id: number;
  /** The second word of the header: `flag`, opcode and rcode. */
  flags: number;
  questions: Question[];
  answers: WireRecord[];
  authority: WireRecord[];
  /** OPT (RFC 6891) and TSIG (RFC 8945) are records here. */
  additional: WireRecord[];
}

export const flag = { response: 0x8000, authoritative: 0x0400, truncated: 0x0200, recursionDesired: 0x0100 };
export const opcodeMask = 0x7800;

/** RFC 1035 §4.1.1; RFC 6891 §9: BADVERS has its upper bits in the OPT record. */
export const rcode = {
  noError: 0,
  formErr: 1,
  servFail: 2,
  nxDomain: 3,
  notImp: 4,
  refused: 5,
  notAuth: 9,
  badVers: 16,
};

export const classIn = 1;
export const classAny = 255;
export const wireType = { soa: 6, opt: 41, tsig: 250, ixfr: 251, axfr: 252, any: 255 };

export const headerBytes = 12;
/** A frame of TCP has a length of two bytes. */
export const messageBytesMax = 65_535;
const nameBytesMax = 255;
const labelBytesMax = 63;
const pointerHopsMax = 64;
const pointerMark = 0xc0;
/** A pointer has 14 bits. */
const pointerTargetMax = 0x3fff;

/** Identifier and flags; undefined for bytes that cannot be answered. */
export function readHeader(bytes: Buffer): { id: number; flags: number } | undefined {
  return bytes.length < headerBytes ? undefined : { id: bytes.readUInt16BE(0), flags: bytes.readUInt16BE(2) };
}

/** @throws WireProblem; also for bytes after the last record */
export const parseMessage = (bytes: Buffer): Message => parseWithEnd(bytes).message;

/** @returns with the message, where its last record begins @throws as `parseMessage` */
export function parseWithEnd(bytes: Buffer): { message: Message; lastRecordAt: number } {
  const reader = new MessageReader(bytes);
  const [id, flags, ...counts] = Array.from({ length: 6 }, () => reader.number(2)) as [number, number, ...number[]];
  const list = <T>(count: number | undefined, read: () => T): T[] => Array.from({ length: count ?? 0 }, read);
  const [questions, answers, authority, additional] = counts;
  const message = {
    id,
    flags,
    questions: list(questions, () => reader.question()),
    answers: list(answers, () => reader.record()),
    authority: list(authority, () => reader.record()),
    additional: list(additional, () => reader.record()),
  };
  reader.end();
  return { message, lastRecordAt: reader.lastRecordAt };
}

/** Where names are in RDATA that older servers compress (RFC 3597 §4): the bytes before the name. */
const compressedAfter = new Map([
  [2, 0],
  [5, 0],
  [12, 0],
  [15, 2],
]);

/** The RDATA of a record of that message, without compression. @throws WireProblem */
export function expandRdata(bytes: Buffer, { type, rdata }: WireRecord): Buffer {
  const before = compressedAfter.get(type);
  if (before === undefined) return rdata;
  const name = new MessageReader(bytes).nameAt(rdata.byteOffset - bytes.byteOffset + before);
  return Buffer.concat([rdata.subarray(0, before), name]);
}

class MessageReader {
  readonly #bytes: Buffer;
  #offset = 0;
  lastRecordAt = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  #take(size: number): Buffer {
    const end = this.#offset + size;
    if (end > this.#bytes.length) throw new WireProblem("The message ends too early.");
    const taken = this.#bytes.subarray(this.#offset, end);
    this.#offset = end;
    return taken;
  }

  number(size: 1 | 2 | 4): number {
    return this.#take(size).readUIntBE(0, size);
  }

  question(): Question {
    return { name: this.#name(), type: this.number(2), class: this.number(2) };
  }

  record(): WireRecord {
    this.lastRecordAt = this.#offset;
    const head = { name: this.#name(), type: this.number(2), class: this.number(2), ttl: this.number(4) };
    return Object.assign(head, { rdata: this.#take(this.number(2)) });
  }

  end(): void {
    if (this.#offset < this.#bytes.length) throw new WireProblem("The message has bytes after its last record.");
  }

  nameAt(offset: number): Buffer {
    this.#offset = offset;
    return this.#name();
  }

  #name(): Buffer {
    const parts: Buffer[] = [];
    let nameBytes = 1;
    /** Where the name goes on after its first pointer. */
    let resumeAt: number | undefined;
    let start = this.#offset;
    for (let hops = 0; ; ) {
      const at = this.#offset;
      const length = this.number(1);
      if (length === 0) break;
      if (length >= pointerMark) {
        const target = ((length & ~pointerMark) << 8) | this.number(1);
        hops += 1;
        // Only backwards, before all that was read of this name: so it ends.
        if (target >= start || hops > pointerHopsMax)
          throw new WireProblem("A name points where no name began before.");
        resumeAt ??= this.#offset;
        start = target;
        this.#offset = target;
        continue;
      }
      if (length > labelBytesMax) throw new WireProblem("A label has an unknown form.");
      this.#take(length);
      parts.push(this.#bytes.subarray(at, this.#offset));
      nameBytes += 1 + length;
      if (nameBytes > nameBytesMax) throw new WireProblem("A name is too long.");
    }
    this.#offset = resumeAt ?? this.#offset;
    return Buffer.concat([...parts, Buffer.of(0)]);
  }
}

/** The bytes of a message; undefined if they are more than `bytesMax`. Owners are compressed, RDATA is as it is. */
export function writeMessage(message: Message, bytesMax: number): Buffer | undefined {
  const writer = new MessageWriter(bytesMax);
  const { id, flags, questions, answers, authority, additional } = message;
  const sections = [answers, authority, additional];
  for (const word of [id, flags, questions.length, ...sections.map(({ length }) => length)]) writer.number(word, 2);
  for (const question of questions) {
    writer.name(question.name);
    writer.number(question.type, 2);
    writer.number(question.class, 2);
  }
  for (const record of sections.flat()) if (!writer.record(record)) return undefined;
  return writer.written();
}

class MessageWriter {
  readonly #bytes: Buffer;
  #offset = 0;
  #isFull = false;
  /** Where names and their ends were written, in lower case. */
  readonly #names = new Map<string, number>();

  constructor(bytesMax: number) {
    this.#bytes = Buffer.allocUnsafe(bytesMax);
  }

  #hasRoom(size: number): boolean {
    this.#isFull ||= this.#offset + size > this.#bytes.length;
    return !this.#isFull;
  }

  number(value: number, size: 1 | 2 | 4): void {
    if (this.#hasRoom(size)) this.#offset = this.#bytes.writeUIntBE(value, this.#offset, size);
  }

  bytes(bytes: Buffer): void {
    if (this.#hasRoom(bytes.length)) this.#offset += bytes.copy(this.#bytes, this.#offset);
  }

  name(name: Buffer): void {
    for (let start = 0; name[start]! > 0; start += 1 + name[start]!) {
      const ending = name.toString("latin1", start).toLowerCase();
      const target = this.#names.get(ending);
      if (target !== undefined) {
        this.number((pointerMark << 8) | target, 2);
        return;
      }
      if (this.#offset <= pointerTargetMax) this.#names.set(ending, this.#offset);
      this.bytes(name.subarray(start, start + 1 + name[start]!));
    }
    this.number(0, 1);
  }

  /** False if there was no room. */
  record({ name, type, class: ofClass, ttl, rdata }: WireRecord): boolean {
    this.name(name);
    this.number(type, 2);
    this.number(ofClass, 2);
    this.number(ttl, 4);
    this.number(rdata.length, 2);
    this.bytes(rdata);
    return !this.#isFull;
  }

  written(): Buffer | undefined {
    return this.#isFull ? undefined : Buffer.from(this.#bytes.subarray(0, this.#offset));
  }
}
