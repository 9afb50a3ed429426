const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * Cuts what an HTTP client sends behind blank lines. Every head ends with one, and so does every chunked body
 * (RFC 9112 sections 2.1 and 7.1): what is given to a parser up to the next blank line ends one of them at most. It
 * takes a bare LF for an end of line too, as lenient parsers do: a cut too many changes nothing for a parser.
 */
export class BlankLines {
  /** What of the line that the last bytes belong to has been seen. */
  #line: "nothing" | "CR" | "text" = "nothing";
  #isBegun = false;

  /** What comes next begins a message. Blank lines before it end nothing (RFC 9112 section 2.2). */
  begin(): void {
    this.#line = "nothing";
    this.#isBegun = false;
  }

  /** @returns how many of the bytes there are up to the end of the next blank line, or all of them */
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
