/** `state.json` of the journal of used nonces: the facts about its files, replaced as a whole. */
import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { earlierFormat } from "#lib/earlier-format.ts";

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

export const fileNumber = (name: string): number => Number(fileForm.exec(name)?.[1]);
export const fileName = (number: number): string => `nonces-${String(number).padStart(6, "0")}.log`;

/** A name that no file in the folder has. */
export function nextFileName(journalDir: string): string {
  return fileName(Math.max(0, ...listFiles(journalDir).map(fileNumber)) + 1);
}

/**
 * @returns undefined when there is none or it is damaged
 * @throws Error for a journal from before 0.1.0, which stored less
 */
export function readState(journalDir: string): JournalState | undefined {
  const path = join(journalDir, stateFile);
  try {
    const state = JSON.parse(readFileSync(path, "utf8"));
    if (isJournalState(state)) return state;
    if (!isEarlierState(state)) return undefined;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  throw new Error(
    earlierFormat(`${path} belongs to a journal`, "name another folder, or start with another --data folder"),
  );
}

type Unchecked = Record<keyof JournalState, unknown>;

function isEarlierState(value: unknown): boolean {
  const { latestSeconds, bytes, ...rest } = (value ?? {}) as Unchecked;
  if (latestSeconds !== undefined && bytes !== undefined) return false;
  return isJournalState({ ...rest, latestSeconds: latestSeconds ?? rest.ceilingSeconds, bytes: bytes ?? {} });
}

function isJournalState(value: unknown): value is JournalState {
  const state = (value ?? {}) as Unchecked;
  const { latestSeconds, bytes } = state;
  return (
    typeof state.bootId === "string" &&
    typeof state.closedCleanly === "boolean" &&
    Number.isSafeInteger(state.horizonSeconds) &&
    Number.isSafeInteger(state.ceilingSeconds) &&
    Array.isArray(state.files) &&
    state.files.every((name) => fileForm.test(name)) &&
    Number.isSafeInteger(latestSeconds) &&
    typeof bytes === "object" &&
    Object.values(bytes ?? { none: undefined }).every(Number.isSafeInteger)
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
