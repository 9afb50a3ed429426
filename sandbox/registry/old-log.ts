import { createReadStream } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { type Batch, type JsonChange, type TableName, tableNames } from "./database.ts";

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

/** A log that was found: its content as one batch, and what puts the file out of the way once that is written. */
interface OldLog {
  batch: Batch;
  setAside(): Promise<void>;
}

/**
 * Reads `folder`/registry.jsonl, in which earlier releases kept the registry: a line of JSON for each batch of changes.
 * A torn last line is dropped, because its changes were never answered.
 *
 * @returns nothing if there is no such file
 * @throws Error for a damaged line that is not the last one
 */
export async function findOldLog(folder: string): Promise<OldLog | undefined> {
  const path = join(folder, "registry.jsonl");
  const rows = new Map<TableName, Map<string | number, string>>(tableNames.map((table) => [table, new Map()]));
  let sequence: number | undefined;
  let number = 0;
  for await (const { text, isWhole } of linesOf(path)) {
    number += 1;
    sequence ??= 0;
    if (text === "") continue;
    const line = parseLine(text);
    if (!line) {
      if (!isWhole) break;
      throw new Error(`${path}: line ${number} is damaged, and is not the last one`);
    }
    for (const change of line.changes) applyChange(rows.get(change.table), change);
    sequence = line.sequence;
  }
  if (sequence === undefined) return undefined;
  const changes: JsonChange[] = [...rows].flatMap(([table, kept]) =>
    [...kept].map(([key, row]) => ({ kind: "put" as const, table, key, row })),
  );
  return { batch: { sequence, changes }, setAside: () => rename(path, `${path}.imported`) };
}

function applyChange(rows: Map<string | number, string> | undefined, change: Line["changes"][number]): void {
  if ("put" in change) rows?.set(change.put[keyFields[change.table]] as string | number, JSON.stringify(change.put));
  else if ("delete" in change) rows?.delete(change.delete);
  else rows?.clear();
}

const newline = "\n".charCodeAt(0);
const chunkBytes = 1024 * 1024;

/**
 * The lines of a file; none if there is no file. One after the other, because the whole file may be longer than a string
 * can be (512 MiB). Cut at the byte: readline would also cut at U+2028, which JSON leaves in texts.
 */
async function* linesOf(path: string): AsyncGenerator<{ text: string; isWhole: boolean }> {
  let parts: Buffer[] = [];
  try {
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
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return;
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
