/** The total length a frame begins with: four bytes, big-endian, counting themselves (RFC 5734 §4). */
const headerBytes = 4;

/** A length that no EPP frame can have: the stream is not framed as RFC 5734 says, and can't be read on. */
export class FrameLengthError extends Error {}

/** One EPP message as bytes for the wire, header and body together. */
export function encodeFrame(body: string | Buffer): Buffer {
  const payload = typeof body === "string" ? Buffer.from(body, "utf8") : body;
  const frame = Buffer.allocUnsafe(headerBytes + payload.length);
  frame.writeUInt32BE(frame.length, 0);
  payload.copy(frame, headerBytes);
  return frame;
}

/**
 * Cuts a byte stream into frame bodies, however the stream is chopped. Chunks are kept as they come and joined once
 * per frame, so a frame that arrives byte by byte costs no quadratic copying.
 */
export class FrameReader {
  readonly #frameBytesMax: number;
  #chunks: Buffer[] = [];
  #bufferedBytes = 0;
  #wantedBytes = headerBytes;
  #inBody = false;

  constructor(frameBytesMax: number) {
    this.#frameBytesMax = frameBytesMax;
  }

  /** Yields every body that `chunk` completes. Throws FrameLengthError before it allocates for a refused length. */
  *push(chunk: Buffer): Generator<Buffer> {
    this.#chunks.push(chunk);
    this.#bufferedBytes += chunk.length;
    while (this.#bufferedBytes >= this.#wantedBytes) {
      const part = this.#take(this.#wantedBytes);
      if (this.#inBody) yield part;
      this.#wantedBytes = this.#inBody ? headerBytes : this.#bodyBytes(part.readUInt32BE(0));
      this.#inBody = !this.#inBody;
    }
  }

  #bodyBytes(frameBytes: number): number {
    if (frameBytes <= headerBytes || frameBytes > this.#frameBytesMax) {
      throw new FrameLengthError(
        `a frame of ${frameBytes} bytes: ${headerBytes + 1} to ${this.#frameBytesMax} are taken`,
      );
    }
    return frameBytes - headerBytes;
  }

  #take(size: number): Buffer {
    const joined = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    this.#bufferedBytes = joined.length - size;
    this.#chunks = this.#bufferedBytes > 0 ? [joined.subarray(size)] : [];
    return joined.subarray(0, size);
  }
}
