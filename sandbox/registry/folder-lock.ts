import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const sqliteBusy = 5;

/**
 * Holds a data folder until disposed: a second process would replace the file that the first one writes to, and what the first
 * one answered from then on would be lost. The lock is SQLite's on a file, and so the kernel's: it ends with the process,
 * however that ends. Throws one sentence where another process has it.
 */
export function lockFolder(folder: string): Disposable {
  const file = join(folder, "lock.sqlite");
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(file);
    // Without a journal, which would need space on the disk: nothing is ever written.
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    lock?.close();
    const { errcode, message } = error as Error & { errcode?: number };
    if (errcode === sqliteBusy) throw new Error(`Another sandbox registry is at work in ${folder}.`);
    throw new Error(`${file} cannot be used (${message}): make its folder writable, or remove it, it holds nothing.`);
  }
  return { [Symbol.dispose]: () => lock?.close() };
}
