import { createReadStream } from "node:fs";
import type { Batch, JsonChange, TableName } from "./database.ts";

/** A line of the log: the changes of one or more commands, and the last number handed out before it was written. */
interface Line {
  sequence: number;
  changes: ({ table: TableName } & ({ put: Record<string, unknown> } | { delete: string } | { clear: true }))[];
}

/** The field of a row that is its key. */
const keyFields: Record<TableName, string> = {
  domains: "name",
  contacts: "id",
  hosts: "name",
  messages: "id",
  passwords: "registrar",
  credits: "registrar",
  clock: "id",
  firedLabels: "key",
  frames: "number",
};

/**
 * Reads a log of earlier releases: a line of JSON for each batch of changes. Drops a torn last line, because its changes were
 * never answered.
 *
 * @throws Error for a damaged line that is not the last one
 */
export async function* readOldLog(path: string): AsyncGenerator<Batch> {
  let number = 0;
  for await (const { text, isWhole } of linesOf(path)) {
    number += 1;
    if (text === "") continue;
    const line = parseLine(text);
    if (line) yield { sequence: line.sequence, changes: line.changes.map(changeOf) };
    else if (isWhole) throw new Error(`${path}: line ${number} is damaged, and is not the last one`);
  }
}

function changeOf({ table, ...change }: Line["changes"][number]): JsonChange {
  if ("put" in change) {
    return {
      kind: "put",
      table,
      key: change.put[keyFields[table]] as string | number,
      row: JSON.stringify(change.put),
    };
  }
  return "delete" in change ? { kind: "delete", table, key: change.delete } : { kind: "clear", table };
}

const newline = "\n".charCodeAt(0);
const chunkBytes = 1024 * 1024;

/**
 * The lines of a file, one after the other, because the whole file may be longer than a string can be (512 MiB). Splits at the
 * byte, because readline would also split at U+2028, which JSON does not escape.
 */
async function* linesOf(path: string): AsyncGenerator<{ text: string; isWhole: boolean }> {
  let parts: Buffer[] = [];
  for await (const chunk of createReadStream(path, { highWaterMark: chunkBytes }) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      parts.push(chunk.subarray(start, end));
      yield { text: Buffer.concat(parts).toString("utf8"), isWhole: true };
      parts = [];
      start = end + 1;
    }
    parts.push(chunk.subarray(start));
  }
  yield { text: Buffer.concat(parts).toString("utf8"), isWhole: false };
}

function parseLine(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
}
