/** What is known of each name of a file. It is kept next to the file, so that a run that ends early can continue. */
import { createHash, randomBytes } from "node:crypto";
import { type FileHandle, open, readFile } from "node:fs/promises";
import { CommandFailure, exitCodes } from "../failures.ts";

/** What became of a name. Without `status`, its order is in progress. */
export interface Outcome {
  domain_name: string;
  /** Which try it is: a failed name may be ordered again. */
  attempt: number;
  order_code?: string;
  /** The final status of its order; `Refused` when there was none. */
  status?: string;
  error_code?: string;
  error_text?: string;
}

export interface Journal {
  /** The last outcome of each name that has one. */
  outcomes: ReadonlyMap<string, Outcome>;
  /** A repeat with the same key is the same order (docs/api.md): nothing is ordered twice, whatever the journal has lost. */
  idempotencyKey(name: string, attempt: number): string;
  record(outcome: Outcome): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Opens the journal, or creates it. @throws CommandFailure when it is damaged, or cannot be written */
export async function openJournal(path: string): Promise<Journal> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw new CommandFailure(`cannot read ${path}: ${error.message}`, exitCodes.usage);
  });
  // A run that was killed may have left half a line; its order is found again by its key.
  const complete = text.slice(0, text.lastIndexOf("\n") + 1);
  const lines = complete.split("\n").slice(0, -1);
  const [first, ...outcomes] = parseLines(lines, path);
  const run = (first as { run?: string } | undefined)?.run ?? randomBytes(12).toString("hex");
  const file = await openToAppend(path, Buffer.byteLength(complete));
  if (lines.length === 0) await file.appendFile(`${JSON.stringify({ run })}\n`);
  const known = new Map((outcomes as Outcome[]).map((outcome) => [outcome.domain_name, outcome]));
  return {
    outcomes: known,
    idempotencyKey: (name, attempt) => `${run}-${attempt}-${createHash("sha256").update(name).digest("hex")}`,
    async record(outcome) {
      known.set(outcome.domain_name, outcome);
      await file.appendFile(`${JSON.stringify(outcome)}\n`);
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}

async function openToAppend(path: string, completeBytes: number): Promise<FileHandle> {
  try {
    const file = await open(path, "a", 0o600);
    await file.truncate(completeBytes);
    return file;
  } catch (error) {
    const advice = "The results are kept next to the file of names: its folder must be writable.";
    throw new CommandFailure(`cannot write ${path}: ${(error as Error).message}`, exitCodes.usage, advice);
  }
}

function parseLines(lines: string[], path: string): object[] {
  try {
    const parsed = lines.map((line) => JSON.parse(line) as object);
    if (lines.length === 0 || typeof (parsed[0] as { run?: unknown }).run === "string") return parsed;
  } catch {
    // The failure below says what to do.
  }
  const advice = "Remove it only if none of its names are ordered; otherwise restore it.";
  throw new CommandFailure(`${path} is not a journal of deedhouse domains register --file`, exitCodes.usage, advice);
}
