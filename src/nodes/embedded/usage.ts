import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import type { Usage } from "../driver.ts";

/**
 * Counts what is below a folder: the lengths of all files, and files and folders together. The folder itself is not
 * counted. Links count as files and are not followed.
 */
export async function countUsage(folder: string): Promise<Usage> {
  const usage = { bytes: 0, files: 0 };
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for await (const entry of await opendir(next)) {
      usage.files += 1;
      if (entry.isDirectory()) folders.push(join(next, entry.name));
      else usage.bytes += (await lstat(join(next, entry.name))).size;
    }
  }
  return usage;
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
