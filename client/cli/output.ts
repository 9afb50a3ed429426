// All that the tool prints: the API's own JSON for scripts, aligned text for people. Both use the API's field names. Nothing else
// writes to the terminal, because what a service, a registry or a receiver has sent could move the cursor, recolour the screen, type
// an answer for its reader, or turn a line round.

import { once } from "node:events";

/** Control characters except tabs and line ends (LF, CRLF), and those that change the direction of text. */
const unsafeInText =
  /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
/** A line end could look like the beginning of another line. */
const unsafeInLine = new RegExp(`[\t\r\n]|${unsafeInText.source}`, "g");

/** A text that others may have written, of lines. */
export const safeText = (text: string): string => text.replace(unsafeInText, "�");
/** A text that others may have written, as a part of a line. */
export const safeLine = (text: string): string => text.replace(unsafeInLine, "�");

/** Prints lines on stdout. */
export function print(text: string): void {
  process.stdout.write(`${safeText(text)}\n`);
}

/** Prints lines on stderr, where they are not mixed with a result. */
export function note(text: string): void {
  process.stderr.write(`${safeText(text)}\n`);
}

/** Prints a question on stderr, in front of the answer. */
export function prompt(text: string): void {
  process.stderr.write(safeLine(text));
}

/** A value as JSON that a terminal can show. It means the same: the characters are escaped. */
export const safeJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(
    unsafeInText,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** Prints a value as indented JSON. */
export const printJson = (value: unknown): void => print(safeJson(value, 2));

/** Prints data for programs as it arrives. A file or a program gets each byte; a terminal gets what it can show. */
export async function printBytes(parts: AsyncIterable<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder();
  for await (const part of parts) {
    const shown = process.stdout.isTTY ? safeText(decoder.decode(part, { stream: true }).replaceAll("\r", "")) : part;
    if (!process.stdout.write(shown)) await once(process.stdout, "drain");
  }
}

/** Prints one object as lines of name and value; nested names are joined with a dot: `ftp.host`. */
export function printFields(record: object): void {
  const fields = flatten(record);
  const width = Math.max(...fields.map(([name]) => name.length));
  for (const [name, value] of fields) print(`${name.padEnd(width)}  ${value}`);
}

/** Prints objects as a table of the given fields; a field that no object has is left out. */
export function printTable(records: readonly object[], columns: readonly string[]): void {
  const rows = records.map((record) => new Map(flatten(record)));
  const shown = columns.filter((column) => rows.some((row) => row.has(column)));
  const widths = shown.map((column) => Math.max(column.length, ...rows.map((row) => row.get(column)?.length ?? 0)));
  const printRow = (cells: string[]) => {
    const line = cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join("  ");
    print(line.trimEnd());
  };
  if (rows.length > 0) printRow(shown.map((column) => column.toUpperCase()));
  for (const row of rows) printRow(shown.map((column) => row.get(column) ?? ""));
}

function flatten(record: object, prefix = ""): [name: string, value: string][] {
  return Object.entries(record).flatMap(([name, value]): [string, string][] => {
    if (value === undefined) return [];
    const path = prefix + safeLine(name);
    if (Array.isArray(value)) return [[path, safeLine(value.map(text).join(", "))]];
    if (typeof value === "object" && value !== null) return flatten(value, `${path}.`);
    return [[path, safeLine(text(value))]];
  });
}

function text(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
