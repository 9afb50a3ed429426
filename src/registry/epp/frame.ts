/**
 * EPP over TCP framing (RFC 5734 §4): every data unit is a 32-bit big-endian length, which counts itself, and XML.
 *
 * The decoder copies each received byte exactly once, into a buffer of the announced size, so a peer that sends one
 * byte per packet costs no more than one that sends everything at once.
 */

const frameHeaderBytes = 4;

/** The longest data unit that we send or accept, header included. It is checked before memory is allocated. */
export const frameBytesMax = 4 * 1024 * 1024;

const frameBytesMin = frameHeaderBytes + 1;

/** Of a longer unit up to this length the beginning is still read, which says what it is. Beyond it the peer does not speak EPP. */
export const refusedBytesMax = 64 * 1024 * 1024;
/** How much is kept of a unit that is refused. */
export const headBytesMax = 16 * 1024;

/** The bytes are not an EPP data unit. Nothing that follows on this connection can be trusted. */
export class FrameError extends Error {
  override name = "FrameError";
  /** The first bytes of a unit that is too long. */
  readonly head: Buffer | undefined;
  constructor(message: string, head?: Buffer) {
    super(message);
    this.head = head;
  }
}

/**
 * One data unit: header and body in one buffer, so that a single write sends it.
 * @throws FrameError when the unit would be longer than `frameBytesMax`
 */
export function encodeFrame(xml: string): Buffer {
  const length = frameHeaderBytes + Buffer.byteLength(xml);
  assertFrameLength(length);
  const frame = Buffer.allocUnsafe(length);
  frame.writeUInt32BE(length);
  frame.write(xml, frameHeaderBytes);
  return frame;
}

/** Splits a stream of bytes into the bodies of its data units. */
export class FrameDecoder {
  readonly #header = Buffer.alloc(frameHeaderBytes);
  #headerFill = 0;
  /** The announced length, which may be refused. */
  #length = 0;
  #body: Buffer | undefined;
  #bodyFill = 0;

  /** True in the middle of a data unit: a connection that ends now ends too early. */
  get isPartial(): boolean {
    return this.#headerFill > 0;
  }

  /**
   * Takes the next bytes of the stream; returns the bodies that are complete now, in order.
   * @throws FrameError on an impossible length, of a unit that is only too long after its beginning; the decoder must not be used
   * afterwards
   */
  push(chunk: Buffer): Buffer[] {
    const bodies: Buffer[] = [];
    let offset = 0;
    while (offset < chunk.length) {
      offset += this.#body ? this.#fillBody(this.#body, chunk, offset) : this.#fillHeader(chunk, offset);
      if (this.#body && this.#bodyFill === this.#body.length) {
        assertFrameLength(this.#length, this.#body);
        bodies.push(this.#body);
        this.#body = undefined;
        this.#headerFill = 0;
      }
    }
    return bodies;
  }

  #fillHeader(chunk: Buffer, offset: number): number {
    const copied = chunk.copy(this.#header, this.#headerFill, offset);
    this.#headerFill += copied;
    if (this.#headerFill === frameHeaderBytes) {
      const length = this.#header.readUInt32BE();
      const isTooLong = length > frameBytesMax && length <= refusedBytesMax;
      if (!isTooLong) assertFrameLength(length);
      this.#length = length;
      this.#body = Buffer.allocUnsafe(isTooLong ? headBytesMax : length - frameHeaderBytes);
      this.#bodyFill = 0;
    }
    return copied;
  }

  #fillBody(body: Buffer, chunk: Buffer, offset: number): number {
    const copied = chunk.copy(body, this.#bodyFill, offset);
    this.#bodyFill += copied;
    return copied;
  }
}

function assertFrameLength(length: number, head?: Buffer): void {
  if (length < frameBytesMin || length > frameBytesMax) {
    throw new FrameError(`a data unit of ${length} bytes is outside ${frameBytesMin} to ${frameBytesMax}`, head);
  }
}
