/**
 * Finds the file of a site by its path. It opens exactly the named file: no component of the path is a symlink (its
 * `realpath` is itself), opening does not follow one either, and only regular files are read.
 */
import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { RequestPath } from "#nodes/embedded/web/request-path.ts";

const indexName = "index.html";

export interface SiteFile {
  path: string;
  /** The caller closes it. */
  file: FileHandle;
  size: number;
  etag: string;
  modifiedAt: Date;
}

/** @returns "folder" for a folder that was requested without its slash; undefined when there is nothing to serve */
export async function openSiteFile(docroot: string, request: RequestPath): Promise<SiteFile | "folder" | undefined> {
  const path = join(docroot, ...request.names, ...(request.isFolder ? [indexName] : []));
  try {
    if ((await realpath(path)) !== path) return undefined;
    if ((await stat(path)).isDirectory()) return request.isFolder ? undefined : "folder";
    return await openRegular(path);
  } catch (error) {
    if (isNothingThere(error)) return undefined;
    throw error;
  }
}

async function openRegular(path: string): Promise<SiteFile | undefined> {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const stats = await file.stat({ bigint: true });
  if (stats.isFile()) {
    return { path, file, size: Number(stats.size), etag: etagOf(stats), modifiedAt: stats.mtime };
  }
  await file.close();
  return undefined;
}

/** Uploads replace files and never write into them, so inode, time and size identify the content. */
function etagOf({ ino, mtimeNs, size }: BigIntStats): string {
  return `"${[ino, mtimeNs, size].map((part) => part.toString(36)).join("-")}"`;
}

function isNothingThere(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  return ["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG", "ENXIO", "EACCES"].includes(code);
}
