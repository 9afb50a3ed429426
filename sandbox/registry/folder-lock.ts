import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const sqliteBusy = 5;

/**
 * Locks a data folder until disposed: each process keeps the registry in memory, so two of them would overwrite each other's
 * changes. The lock is SQLite's lock on a file, and so the kernel's: it ends with the process, even when it is killed.
 *
 * @throws Error with one sentence when another process holds the lock
 */
export function lockFolder(folder: string): Disposable {
  const file = join(folder, "lock.sqlite");
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(file);
    // No journal on disk, because nothing is ever written and a journal would need space.
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    lock?.close();
    const { errcode, message } = error as Error & { errcode?: number };
    if (errcode === sqliteBusy) throw new Error(`Another sandbox registry uses ${folder}.`);
    throw new Error(
      `${file} cannot be used (${message}): make its folder writable, or remove the file, which holds nothing.`,
    );
  }
  return { [Symbol.dispose]: () => lock?.close() };
}
