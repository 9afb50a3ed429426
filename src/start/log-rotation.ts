/**
 * Keeps the logs of running processes below a size. Each process writes to an open file, so the file cannot be
 * replaced: its content is moved to `<name>.1` and the file is emptied. A line that is written at that very moment may
 * be lost.
 */
import { closeSync, ftruncateSync, openSync, readdirSync, readSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";

const lookMs = 1_000;
const chunkBytes = 1024 * 1024;

/**
 * Checks every second until disposed.
 * @param folders every `<name>.log` in them is rotated
 * @param bytesMax for each file, and again for the file that its content moves to
 */
export function startLogRotation(folders: readonly string[], bytesMax: number): Disposable {
  const timer = setInterval(() => {
    try {
      for (const file of folders.flatMap(logsIn)) if (statSync(file).size > bytesMax) moveContent(file, `${file}.1`);
    } catch {
      // A failure is retried in a second.
    }
  }, lookMs);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

const logsIn = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".log"))
    .map((name) => join(folder, name));

function moveContent(file: string, target: string): void {
  const from = openSync(file, "r+");
  try {
    copyContent(from, target);
  } catch (error) {
    // On a full disk the log must be cut somewhere.
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    ftruncateSync(from);
    closeSync(from);
  }
}

function copyContent(from: number, target: string): void {
  const to = openSync(target, "w", 0o600);
  try {
    const chunk = Buffer.alloc(chunkBytes);
    for (let read = readSync(from, chunk); read > 0; read = readSync(from, chunk)) {
      for (let written = 0; written < read; ) written += writeSync(to, chunk, written, read - written);
    }
  } finally {
    closeSync(to);
  }
}
