/**
 * One process per folder. The lock is SQLite's lock on a file, and so the kernel's: unlike a pid file, it ends with the
 * process, even when the process is killed.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const sqliteBusy = 5;

/** Another process holds the folder. */
export class FolderBusy extends Error {}

/**
 * Holds a folder until disposed. Leaves `lock.sqlite` behind; the file alone locks nothing.
 * @throws FolderBusy; Error with one sentence when the lock itself cannot be used
 */
export function lockFolder(folder: string): Disposable {
  const file = join(folder, "lock.sqlite");
  const lock = new DatabaseSync(file);
  try {
    // No journal on disk, because nothing is ever written and a journal would need space.
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    const { errcode, message } = error as Error & { errcode?: number };
    if (errcode === sqliteBusy) throw new FolderBusy(`another process uses ${folder}`, { cause: error });
    throw new Error(`the lock ${file} cannot be used (${message}): remove that file, it holds nothing`);
  }
  return { [Symbol.dispose]: () => lock.close() };
}
