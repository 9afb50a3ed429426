/** Reads the fields of a record, from tokens and from RDATA. */
import { bytesOf } from "#dns/master-file.ts";
import { FormProblem, nameFromWire, parseHost, parseTarget } from "#dns/names.ts";

/** The tokens of a record's text, taken from left to right. Everything here throws FormProblem. */
export class TextFields {
  readonly #tokens: string[];
  /** What names without the last dot are relative to; without it they are absolute. */
  readonly origin: string | undefined;

  constructor(tokens: readonly string[], origin?: string) {
    this.#tokens = [...tokens];
    this.origin = origin;
  }

  next(what: string): string {
    const token = this.#tokens.shift();
    if (token === undefined) throw new FormProblem(`The ${what} is missing.`);
    return token;
  }

  /** The bytes of a whole number. */
  number(what: string, size: 1 | 2): Buffer {
    const token = this.next(what);
    const max = 2 ** (8 * size) - 1;
    if (!/^\d{1,5}$/.test(token) || Number(token) > max) {
      throw new FormProblem(`The ${what} is a number from 0 to ${max}.`);
    }
    const bytes = Buffer.alloc(size);
    bytes.writeUIntBE(Number(token), 0, size);
    return bytes;
  }

  name(what: string): string {
    return parseTarget(this.next(what), this.origin);
  }

  host(what: string): string {
    return parseHost(this.next(what), this.origin);
  }

  string(what: string): Buffer {
    return bytesOf(this.next(what));
  }

  /** All that is left, as hexadecimal digits. */
  hexadecimal(what: string): Buffer {
    const digits = this.rest(what).join("");
    if (!/^(?:[0-9a-f]{2})+$/i.test(digits)) throw new FormProblem(`The ${what} is pairs of hexadecimal digits.`);
    return Buffer.from(digits, "hex");
  }

  /** All that is left: one token at least. */
  rest(what: string): string[] {
    return [this.next(what), ...this.#tokens.splice(0)];
  }

  /** All that is left, which may be nothing. */
  others(): string[] {
    return this.#tokens.splice(0);
  }

  end(): void {
    const surplus = this.#tokens.length;
    if (surplus > 0) throw new FormProblem(`The record has more at its end than it needs: ${surplus} words.`);
  }
}

/** RDATA that we have made. */
export class RdataFields {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#offset === this.#bytes.length;
  }

  number(size: 1 | 2): number {
    return this.take(size).readUIntBE(0, size);
  }

  take(size: number): Buffer {
    this.#offset += size;
    return this.#bytes.subarray(this.#offset - size, this.#offset);
  }

  /** A string with its length in `size` bytes before it. */
  string(size: 1 | 2): Buffer {
    return this.take(this.number(size));
  }

  name(): string {
    const { name, end } = nameFromWire(this.#bytes, this.#offset);
    this.#offset = end;
    return name;
  }

  rest(): Buffer {
    return this.take(this.#bytes.length - this.#offset);
  }
}

/** Bytes with their number in `size` bytes before them. */
export function prefixed(bytes: Buffer, size: 1 | 2): Buffer {
  const length = Buffer.alloc(size);
  length.writeUIntBE(bytes.length, 0, size);
  return Buffer.concat([length, bytes]);
}
