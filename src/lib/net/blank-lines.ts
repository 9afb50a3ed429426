const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * Splits an HTTP client's bytes after each blank line. Every head ends with one, and so does every chunked body (RFC
 * 9112 sections 2.1 and 7.1), so a parser that gets the bytes up to the next blank line finishes at most one of them. A
 * bare LF counts as an end of line, as in lenient parsers: an extra split changes nothing for a parser.
 */
export class BlankLines {
  /** What has been seen of the current line. */
  #line: "nothing" | "CR" | "text" = "nothing";
  #isBegun = false;

  /** The next bytes begin a message. Blank lines before it end nothing (RFC 9112 section 2.2). */
  begin(): void {
    this.#line = "nothing";
    this.#isBegun = false;
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
      start = found + 1;
      if (isBlank && this.#isBegun) return start;
      this.#isBegun ||= !isBlank;
    }
  }
}
