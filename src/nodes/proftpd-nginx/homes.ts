/** Folders and links of accounts. All calls are short and synchronous, because thousands of accounts are applied in a batch. */
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

/** Not a valid host name, so nginx never serves it. */
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
   * Root owns the home, so that its user can neither remove our marker from it nor replace `www` by a link.
   * @returns the bytes that the empty `www` itself takes of the quota
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

  /** Makes the site answer at this host name, whichever account had it before. */
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

  /** Removes the link, unless the name belongs to another account now. */
  unlink(hostName: string, uid: number): void {
    if (this.#target(hostName) === targetOf(uid)) removeLink(join(this.#paths.sites, hostName));
  }

  /** All uids with a folder, and all host names with a link. */
  survey(): { uids: number[]; hostNames: string[] } {
    return {
      uids: readdirSync(this.#paths.homes).map(Number),
      hostNames: readdirSync(this.#paths.sites).filter((name) => name !== unfinishedLink),
    };
  }

  /** Removes all other links. */
  unlinkOthers(wanted: ReadonlySet<string>): void {
    for (const name of readdirSync(this.#paths.sites)) {
      if (!wanted.has(name)) rmSync(join(this.#paths.sites, name), { force: true, recursive: true });
    }
  }

  /** The target of the name's link; undefined when there is none. */
  #target(hostName: string): string | undefined {
    const path = join(this.#paths.sites, hostName);
    return lstatSync(path, { throwIfNoEntry: false }) && readlinkSync(path);
  }
}

/** Removes a link or an empty file, if it exists. */
function removeLink(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) unlinkSync(path);
}

/** Readable for nginx's workers, writable for the owner only. @returns the folder's own size in bytes */
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
