/** The total length a frame begins with: four bytes, big-endian, counting themselves (RFC 5734 §4). */
const headerBytes = 4;

/** An invalid frame length: the stream is not framed as in RFC 5734, and can't be read any further. */
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
 * Splits a byte stream into frame bodies, whatever its chunks. Chunks are joined once per frame, so a frame that arrives byte
 * by byte causes no quadratic copying.
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

  /** Yields every body that `chunk` completes. @throws FrameLengthError before allocating memory for an invalid length */
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
        `a frame of ${frameBytes} bytes: ${headerBytes + 1} to ${this.#frameBytesMax} are accepted`,
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
