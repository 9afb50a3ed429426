const lineFeed = 0x0a;
const carriageReturn = 0x0d;
/** RFC 9112 section 2.2 wants a server to ignore "at least one" blank line before a request; old clients send one or two. */
const blankBytesMax = 1_024;

/**
 * Splits an HTTP client's bytes after each blank line. Every head ends with one, and so does every chunked body (RFC
 * 9112 sections 2.1 and 7.1), so a parser that gets the bytes up to the next blank line finishes at most one of them. A
 * bare LF counts as an end of line, as in lenient parsers: an extra split changes nothing for a parser.
 */
export class BlankLines {
  /** What has been seen of the current line. */
  #line: "nothing" | "CR" | "text" = "nothing";
  #isBegun = false;
  /** Of the blank lines before the message. */
  #blankBytes = 0;

  /** The next bytes begin a message. Blank lines before it end nothing (RFC 9112 section 2.2). */
  begin(): void {
    this.#line = "nothing";
    this.#isBegun = false;
    this.#blankBytes = 0;
  }

  /** Whether more than 1 KiB of blank lines have come instead of a message. */
  get isFlood(): boolean {
    return this.#blankBytes > blankBytesMax;
  }

  /** @returns the number of bytes up to the end of the next blank line, or of all bytes */
  cut(bytes: Buffer): number {
    let start = 0;
    for (;;) {
      const found = bytes.indexOf(lineFeed, start);
      const end = found === -1 ? bytes.length : found;
      if (end > start) {
        const isOnlyReturn = this.#line === "nothing" && end === start + 1 && bytes[start] === carriageReturn;
        this.#line = isOnlyReturn ? "CR" : "text";
      }
      if (found === -1) return bytes.length;
      const isBlank = this.#line !== "text";
      this.#line = "nothing";
      if (isBlank && !this.#isBegun) this.#blankBytes += found + 1 - start;
      start = found + 1;
      if (isBlank && this.#isBegun) return start;
      this.#isBegun ||= !isBlank;
    }
  }
}
