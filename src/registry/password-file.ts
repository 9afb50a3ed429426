/**
 * Replaces a password in a file so that no crash loses the only copy: the whole new file is written next to it
 * (`….new-password`) before the new password is sent, and is renamed to it once the registry has the password.
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

/** A profile, or an account of the built-in registry: both have these fields. */
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

/** The new password of a change that was begun and not finished. */
export function findDraftPassword(file: string, id: string): Secret | undefined {
  return findPasswordIn(draftOf(file), id);
}

/** Writes the new file next to the old one, readable by its owner only. @throws Error */
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
  // When root runs this, the file must stay readable for the user that the gateway runs as.
  if (process.getuid?.() === 0) chownSync(draft, uid, gid);
}

/** Renames the draft to the file. @throws Error */
export function adoptDraft(file: string): void {
  const target = realpathSync(file);
  renameSync(draftOf(file), target);
  const folder = openSync(dirname(target), "r");
  fsyncSync(folder);
  closeSync(folder);
}

/** Deletes the draft of a change that did not take place. */
export function dropDraft(file: string): void {
  rmSync(draftOf(file), { force: true });
}

/** In the folder of the file itself, even if that is reached by a symbolic link: only there can one rename replace it. */
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
    // The parser's message quotes the text, which contains a password.
    throw new Error(`${file} is not JSON`);
  }
  const isList = Array.isArray(entries) && entries.every((entry) => typeof entry?.password === "string");
  if (!isList) throw new Error(`${file} is not a list of entries with passwords`);
  return entries as Entry[];
}
