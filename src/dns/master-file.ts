/** The syntax of master files (RFC 1035 §5.1): entries, tokens, strings and escapes. What they mean is said elsewhere. */
import { FormProblem } from "#dns/names.ts";

/** A sentence about a line of a zone file. */
export class ZoneFileProblem extends Error {
  override readonly name = "ZoneFileProblem";
  /** The first line is 1. */
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/** One record or directive, which parentheses may spread over several lines. */
export interface Entry {
  /** Of its first token. */
  line: number;
  /** Its line begins with a space, so it has the owner of the entry before. */
  isIndented: boolean;
  /** As they are written, with quotes and escapes. */
  tokens: string[];
}

const escaped = String.raw`\\\d{3}|\\[^\d\r\n]`;
const quoted = String.raw`"(?:${escaped}|[^"\\\x00-\x08\x0a-\x1f\x7f])*"`;
/** A quoted value may follow the = of a parameter (RFC 9460 §2.1). */
const bare = String.raw`(?:${escaped}|[^"();\\\x00-\x20\x7f])+(?:(?<==)${quoted})?`;
const piece = new RegExp(
  String.raw`(?<space>[ \t]+)|(?<end>\r?\n)|(?<comment>;[^\r\n]*)|(?<open>\()|(?<close>\))|(?<token>${quoted}|${bare})`,
  "y",
);

/** @throws ZoneFileProblem */
export function* scanEntries(text: string): Generator<Entry> {
  let line = 1;
  let depth = 0;
  let entry: Entry | undefined;
  let isIndented = false;
  let isLineStart = true;
  const pieces = new RegExp(piece);
  while (pieces.lastIndex < text.length) {
    const { space, end, open, close, token } = pieces.exec(text)?.groups ?? badPiece(line);
    if (space !== undefined && isLineStart) isIndented = true;
    if (token !== undefined) {
      entry ??= { line, isIndented, tokens: [] };
      entry.tokens.push(token);
    }
    if (open !== undefined) depth += 1;
    if (close !== undefined && --depth < 0) throw new ZoneFileProblem(line, "A ) has no ( before it.");
    isLineStart = false;
    if (end === undefined) continue;
    line += 1;
    if (depth > 0) continue;
    if (entry) yield entry;
    entry = undefined;
    isIndented = false;
    isLineStart = true;
  }
  if (depth > 0) throw new ZoneFileProblem(entry?.line ?? line, "A ( is never closed.");
  if (entry) yield entry;
}

function badPiece(line: number): never {
  throw new ZoneFileProblem(line, "A quote is not closed, an escape is not complete, or a control character is here.");
}

/** The tokens of one record's text, which is on one line and has no comment. @throws FormProblem */
export function tokensOf(text: string): string[] {
  if (/[\0-\x1f\x7f]/.test(text)) throw new FormProblem("A record has no line breaks and no control characters.");
  const tokens: string[] = [];
  const pieces = new RegExp(piece);
  while (pieces.lastIndex < text.length) {
    const { space, token } = pieces.exec(text)?.groups ?? {};
    if (token !== undefined) tokens.push(token);
    else if (space === undefined)
      throw new FormProblem('Put text with ; ( ) or " in quotes, close each quote, and write \\ twice.');
  }
  return tokens;
}

/** The bytes that a token means; letters beyond ASCII are UTF-8. @throws FormProblem */
export function bytesOf(token: string): Buffer {
  const isQuoted = token.startsWith('"');
  const inner = isQuoted ? token.slice(1, -1) : token;
  const parts = inner.match(/\\\d{3}|\\[^\d]|[^\\"]+/gu) ?? [];
  if (parts.join("") !== inner) throw new FormProblem('Quotes begin and end a string: write one inside as \\".');
  const bytes = parts.map((part) => {
    if (!/^\\\d/.test(part)) return Buffer.from(part.startsWith("\\") ? part.slice(1) : part);
    const code = Number(part.slice(1));
    if (code > 255) throw new FormProblem(`The escape ${part} is not a byte: it ends at \\255.`);
    return Buffer.of(code);
  });
  return Buffer.concat(bytes);
}

/** A quoted string that every server reads as these bytes. */
export function quote(bytes: Buffer): string {
  const characters = [...bytes].map((byte) => {
    if (byte < 32 || byte > 126) return `\\${String(byte).padStart(3, "0")}`;
    const character = String.fromCharCode(byte);
    return character === '"' || character === "\\" ? `\\${character}` : character;
  });
  return `"${characters.join("")}"`;
}
