/**
 * Resolves a client's paths. A path is resolved inside the account's virtual root, where `..` ends at `/`, and every
 * component on disk is checked without following links: a symlink counts as a missing file. No FTP command creates a symlink,
 * so none can appear between this check and the use.
 */
import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import { join, posix } from "node:path";
import { ignoreMissing } from "#nodes/atomic-file.ts";
import { notAvailable } from "#nodes/embedded/ftp/reply.ts";

const nameBytesMax = 255;
const forbidden = /[\u0000-\u001f\u007f\\]/;

export interface GuardedPath {
  /** As the client sees it: absolute, `/` is the account's home. */
  virtual: string;
  /** On disk. */
  real: string;
}

/** @throws FtpFailure 550 for a path that is too long or has a control character or a backslash */
export function resolvePath(home: string, folder: string, argument: string, pathBytesMax: number): GuardedPath {
  const virtual = posix.resolve("/", folder, argument);
  const names = virtual.split("/");
  if (forbidden.test(argument) || Buffer.byteLength(virtual) > pathBytesMax) throw notAvailable();
  if (names.some((name) => Buffer.byteLength(name) > nameBytesMax)) throw notAvailable();
  return { virtual, real: join(home, virtual) };
}

/** What is at a path, or undefined when its last name does not exist. @throws FtpFailure 550 */
export async function findAt(home: string, path: GuardedPath): Promise<Stats | undefined> {
  let current = home;
  let found: Stats | undefined = await lstat(home);
  for (const name of path.virtual.split("/").filter(Boolean)) {
    if (!found?.isDirectory()) throw notAvailable();
    current = join(current, name);
    found = (await lstat(current).catch(ignoreMissing)) ?? undefined;
    if (found && !found.isDirectory() && !found.isFile()) throw notAvailable();
  }
  return found;
}

/** What is at a path. @throws FtpFailure 550, also when there is nothing */
export async function getAt(home: string, path: GuardedPath): Promise<Stats> {
  const found = await findAt(home, path);
  if (found === undefined) throw notAvailable();
  return found;
}

/**
 * Only paths below `/www` can be changed: not the home, which contains nothing else, and not `www` itself.
 * @throws FtpFailure 550
 */
export function checkWritable(path: GuardedPath): void {
  if (!path.virtual.startsWith("/www/")) throw notAvailable();
}
