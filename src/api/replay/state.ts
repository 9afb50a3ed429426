/** `state.json` of the journal of used nonces: the facts about its files, replaced as a whole. */
import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Unix seconds; none of them ever falls. */
export interface Bounds {
  /** Timestamps at or below may have been accepted, and their nonces are forgotten. */
  horizonSeconds: number;
  /** Nonces with a timestamp above were fsynced before their answers went out. */
  ceilingSeconds: number;
  /** No timestamp above has been accepted. */
  latestSeconds: number;
}

export interface JournalState extends Bounds {
  bootId: string;
  closedCleanly: boolean;
  files: string[];
  /** The minimum length of each file. */
  bytes: Record<string, number>;
}

const stateFile = "state.json";
const fileForm = /^nonces-([0-9]+)\.log$/;

export function listFiles(journalDir: string): string[] {
  return readdirSync(journalDir).filter((name) => fileForm.test(name));
}

/** A name that no file in the folder has. */
export function nextFileName(journalDir: string): string {
  const last = Math.max(0, ...listFiles(journalDir).map((name) => Number(fileForm.exec(name)?.[1])));
  return `nonces-${String(last + 1).padStart(6, "0")}.log`;
}

/** @returns undefined when there is none or it is damaged */
export function readState(journalDir: string): JournalState | undefined {
  try {
    const state = JSON.parse(readFileSync(join(journalDir, stateFile), "utf8"));
    if (!isJournalState(state)) return undefined;
    // Earlier versions stored no lengths, and one bound for both.
    return { ...state, latestSeconds: state.latestSeconds ?? state.ceilingSeconds, bytes: state.bytes ?? {} };
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

type EarlierState = Omit<JournalState, "latestSeconds" | "bytes"> & Partial<JournalState>;

function isJournalState(value: unknown): value is EarlierState {
  const state = (value ?? {}) as Record<keyof JournalState, unknown>;
  const { latestSeconds, bytes } = state;
  return (
    typeof state.bootId === "string" &&
    typeof state.closedCleanly === "boolean" &&
    Number.isSafeInteger(state.horizonSeconds) &&
    Number.isSafeInteger(state.ceilingSeconds) &&
    Array.isArray(state.files) &&
    state.files.every((name) => fileForm.test(name)) &&
    (latestSeconds === undefined || Number.isSafeInteger(latestSeconds)) &&
    (bytes === undefined || Object.values(bytes ?? { none: undefined }).every(Number.isSafeInteger))
  );
}

/** Returns when the state is on disk. @throws when it cannot be written; the previous state stays */
export function writeState(journalDir: string, state: JournalState): void {
  const path = join(journalDir, stateFile);
  writeFileSync(`${path}.new`, JSON.stringify(state), { mode: 0o600 });
  syncPath(`${path}.new`);
  renameSync(`${path}.new`, path);
  syncPath(journalDir);
}

export function syncPath(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
