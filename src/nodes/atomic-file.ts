import { open, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";

/** What `writeFileAtomic` appends while it writes: such a file is a leftover after a crash. */
export const unfinishedSuffix = ".tmp";

/**
 * Replaces a file so that a crash at any moment leaves either the old or the new content, never a part. Mode 0600.
 * Two writers of one path must take turns.
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

/** Removes a file so that it stays removed after a power cut. Already gone: done. */
export async function unlinkDurably(path: string): Promise<void> {
  await unlink(path).catch(ignoreMissing);
  await syncFolder(dirname(path));
}

/** For `catch`: lets "no such file" pass, rethrows everything else. */
export function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}

/** A rename is only on disk once its folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
