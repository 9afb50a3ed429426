import { constants } from "node:fs";
import { lstat, open, opendir } from "node:fs/promises";
import { join } from "node:path";
import type { Usage } from "#nodes/driver.ts";

const asFolder = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Counts the content of a folder: the lengths of all files, and the number of files and folders, without the folder itself.
 * Links count as files and are not followed.
 */
export async function countUsage(folder: string): Promise<Usage> {
  const usage = { bytes: 0, files: 0 };
  await countBelow(folder, usage);
  return usage;
}

/**
 * Goes by open folders instead of whole paths (proc(5)): a customer can nest folders deeper than the longest path, and can
 * replace a folder by a link before it is opened.
 */
async function countBelow(folder: string, usage: Usage): Promise<void> {
  const handle = await open(folder, asFolder);
  try {
    const here = `/proc/self/fd/${handle.fd}`;
    for await (const entry of await opendir(here)) {
      usage.files += 1;
      const path = join(here, entry.name);
      if (entry.isDirectory()) await countBelow(path, usage);
      else usage.bytes += (await lstat(path)).size;
    }
  } finally {
    await handle.close();
  }
}

/** The length in bytes of the longest path below a folder, relative to it; 0 when it is empty. */
export async function longestPathBytes(folder: string): Promise<number> {
  let longest = 0;
  const folders = [""];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for await (const entry of await opendir(join(folder, next))) {
      const path = join(next, entry.name);
      longest = Math.max(longest, Buffer.byteLength(path));
      if (entry.isDirectory()) folders.push(path);
    }
  }
  return longest;
}
