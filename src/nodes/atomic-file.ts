import { open, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";

/** The suffix of the temporary file. After a crash, such a file is a leftover. */
export const unfinishedSuffix = ".tmp";

/**
 * Replaces a file so that a crash at any moment leaves either the old or the new content whole. Mode 0600. Two writers of one
 * path must take turns.
 */
export async function writeFileAtomic(path: string, content: string): Promise<void> {
  const unfinished = path + unfinishedSuffix;
  const file = await open(unfinished, "w", 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
  await syncFolder(dirname(path));
}

/** Removes a file so that it stays removed after a power cut. A missing file is not an error. */
export async function unlinkDurably(path: string): Promise<void> {
  await unlink(path).catch(ignoreMissing);
  await syncFolder(dirname(path));
}

/** For `catch`: swallows "no such file", rethrows everything else. */
export function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}

/** A rename is on disk only once its folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
