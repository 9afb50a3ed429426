/** Messages on a stream: each has its length in two bytes before it (RFC 1035 §4.2.2). */

const lengthBytes = 2;

export class FrameReader {
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Of the message that begins in what is here; undefined until its length is. */
  #wanted: number | undefined;

  /** Takes what has come, and returns the messages that it completes. */
  push(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    const messages: Buffer[] = [];
    for (;;) {
      if (this.#wanted === undefined) {
        const length = this.#take(lengthBytes);
        if (!length) return messages;
        this.#wanted = length.readUInt16BE();
      }
      const message = this.#take(this.#wanted);
      if (!message) return messages;
      this.#wanted = undefined;
      messages.push(message);
    }
  }

  #take(size: number): Buffer | undefined {
    if (this.#bytes < size) return undefined;
    const all = Buffer.concat(this.#chunks);
    this.#chunks = [all.subarray(size)];
    this.#bytes -= size;
    return all.subarray(0, size);
  }
}

export function frame(message: Buffer): Buffer {
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}
