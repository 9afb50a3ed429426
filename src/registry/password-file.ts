/**
 * A password in a file, replaced so that no crash loses the only copy: the whole file as it will be is written beside it
 * (`….new-password`) before anybody is told the new password, and takes its place once the registry has it.
 */
import {
  chownSync,
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { Secret } from "#lib/secret.ts";

/** Profiles, or the accounts of the built-in registry: in both, who it is and the password. */
interface Entry {
  id: string;
  password: string;
}

const draftSuffix = ".new-password";

/** The entry's password; undefined when the file or the entry is missing. @throws Error with one sentence */
export function findPasswordIn(file: string, id: string): Secret | undefined {
  const text = readIfThere(file);
  const entry = text === undefined ? undefined : parseEntries(file, text).find((candidate) => candidate.id === id);
  return entry && new Secret(entry.password);
}

/** The password of a change that was begun and not ended. */
export function findDraftPassword(file: string, id: string): Secret | undefined {
  return findPasswordIn(draftOf(file), id);
}

/** Writes down what the file will be, for its owner alone. @throws Error */
export function writeDraft(file: string, id: string, password: Secret): void {
  const entries = parseEntries(file, readFileSync(file, "utf8"));
  const changed = entries.map((entry) => (entry.id === id ? { ...entry, password: password.reveal() } : entry));
  const { uid, gid } = statSync(file);
  const draft = draftOf(file);
  rmSync(draft, { force: true });
  const handle = openSync(draft, "wx", 0o600);
  try {
    writeSync(handle, `${JSON.stringify(changed, null, 2)}\n`);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  // An operator who is root must not take the file away from the user that the gateway runs as.
  if (process.getuid?.() === 0) chownSync(draft, uid, gid);
}

/** The draft takes the file's place. @throws Error */
export function adoptDraft(file: string): void {
  const target = realpathSync(file);
  renameSync(draftOf(file), target);
  const folder = openSync(dirname(target), "r");
  fsyncSync(folder);
  closeSync(folder);
}

/** Forgets a change that has not happened. */
export function dropDraft(file: string): void {
  rmSync(draftOf(file), { force: true });
}

/** Beside the file itself, also where that is reached by a link: only there it can take its place in one step. */
function draftOf(file: string): string {
  return `${realpathSync(file)}${draftSuffix}`;
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function parseEntries(file: string, text: string): Entry[] {
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch {
    // What the parser says quotes the text, and with it a password.
    throw new Error(`${file} is not JSON`);
  }
  const isList = Array.isArray(entries) && entries.every((entry) => typeof entry?.password === "string");
  if (!isList) throw new Error(`${file} is no list of entries with a password each`);
  return entries as Entry[];
}
