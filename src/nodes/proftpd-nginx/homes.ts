/** Folders and links of accounts. All calls are short and synchronous: thousands of accounts are brought up in one go. */
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type NodePaths, suspendedMarker } from "#nodes/proftpd-nginx/settings.ts";

/** Not a host name, so nginx never serves it. */
const unfinishedLink = ".new";
const folderMode = 0o755;

export class Homes {
  readonly #paths: NodePaths;

  constructor(paths: NodePaths) {
    this.#paths = paths;
  }

  home(uid: number): string {
    return join(this.#paths.homes, String(uid));
  }

  docroot(uid: number): string {
    return join(this.home(uid), "www");
  }

  /**
   * The home is root's, so that nobody can remove our marker from it or put a link in the place of `www`.
   * @returns how many bytes the empty `www` itself counts for the quota
   */
  make(uid: number): number {
    makeFolder(this.home(uid), 0);
    return makeFolder(this.docroot(uid), uid);
  }

  mark(uid: number): void {
    if (this.exists(uid)) writeFileSync(join(this.home(uid), suspendedMarker), "");
  }

  unmark(uid: number): void {
    removeLink(join(this.home(uid), suspendedMarker));
  }

  exists(uid: number): boolean {
    return lstatSync(this.home(uid), { throwIfNoEntry: false }) !== undefined;
  }

  /** The site answers by this name from now on, whoever's it was. */
  link(hostName: string, uid: number): void {
    const target = targetOf(uid);
    const path = join(this.#paths.sites, hostName);
    const found = this.#target(hostName);
    if (found === target) return;
    if (found === undefined) {
      symlinkSync(target, path);
      return;
    }
    const unfinished = join(this.#paths.sites, unfinishedLink);
    removeLink(unfinished);
    symlinkSync(target, unfinished);
    renameSync(unfinished, path);
  }

  /** Leaves a name that is another account's now. */
  unlink(hostName: string, uid: number): void {
    if (this.#target(hostName) === targetOf(uid)) removeLink(join(this.#paths.sites, hostName));
  }

  /** All uids that have a folder here, and all host names that have a link. */
  survey(): { uids: number[]; hostNames: string[] } {
    return {
      uids: readdirSync(this.#paths.homes).map(Number),
      hostNames: readdirSync(this.#paths.sites).filter((name) => name !== unfinishedLink),
    };
  }

  /** Takes away the links that nobody wants. */
  unlinkOthers(wanted: ReadonlySet<string>): void {
    for (const name of readdirSync(this.#paths.sites)) {
      if (!wanted.has(name)) rmSync(join(this.#paths.sites, name), { force: true, recursive: true });
    }
  }

  /** Where the name's link leads; undefined when there is none. */
  #target(hostName: string): string | undefined {
    const path = join(this.#paths.sites, hostName);
    return lstatSync(path, { throwIfNoEntry: false }) && readlinkSync(path);
  }
}

/** A link or an empty file. It may be gone. */
function removeLink(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) unlinkSync(path);
}

/** For nginx's workers and nobody's writing but the owner's. @returns the folder's own size in bytes */
function makeFolder(path: string, owner: number): number {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) mkdirSync(path, folderMode);
  const { uid, gid, mode, size } = lstatSync(path);
  if (uid !== owner || gid !== owner) chownSync(path, owner, owner);
  if ((mode & 0o7777) !== folderMode) chmodSync(path, folderMode);
  return size;
}

function targetOf(uid: number): string {
  return `../homes/${uid}`;
}
