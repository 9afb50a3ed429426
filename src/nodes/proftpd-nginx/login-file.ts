/**
 * The files that ProFTPD reads at every login: the logins, and the groups that select quotas and session limits. Both are
 * replaced as a whole. One-time logins come before the customers' lines.
 */
import { join } from "node:path";
import { createSerialQueue } from "#lib/queues/serial-queue.ts";
import { writeFileAtomic } from "#nodes/atomic-file.ts";
import type { DesiredAccount } from "#nodes/driver.ts";
import { groupedSessionsMax, type NodePaths, sessionGroupPrefix } from "#nodes/proftpd-nginx/settings.ts";

/** The gids of session groups are below all uids of accounts. */
const sessionGidFirst = 100_000;

/** An account's group, which is also the name of its quota: an identifier may be longer than the 80 bytes of such a name. */
export function groupOf(uid: number): string {
  return `u${uid}`;
}

export class LoginFile {
  readonly #paths: NodePaths;
  readonly #logins = new TextFile();
  readonly #groups = new TextFile();
  readonly #once = new Map<string, string>();
  readonly #queue = createSerialQueue();

  constructor(paths: NodePaths) {
    this.#paths = paths;
  }

  /** Takes effect with `write`. */
  set(account: DesiredAccount): void {
    const { uid, identifier, passwordHash, sessionsMax } = account;
    const isOpen = passwordHash !== undefined && account.ftpEnabled && !account.suspended && sessionsMax > 0;
    this.#logins.set(uid, isOpen ? this.#line(identifier, passwordHash.reveal(), uid) : undefined);
    const isCounted = isOpen && sessionsMax <= groupedSessionsMax;
    const ofSessions = `${sessionGroupPrefix}${sessionsMax}:x:${sessionGidFirst + sessionsMax}:${identifier}\n`;
    this.#groups.set(uid, `${groupOf(uid)}:x:${uid}:\n${isCounted ? ofSessions : ""}`);
  }

  remove(uid: number): void {
    this.#logins.set(uid, undefined);
    this.#groups.set(uid, undefined);
  }

  /** Adds a one-time login. `user` starts with a character that no identifier contains. */
  addOnce(user: string, hash: string, uid: number): void {
    this.#once.set(user, this.#line(user, hash, uid));
    this.#logins.touch();
  }

  removeOnce(user: string): void {
    if (this.#once.delete(user)) this.#logins.touch();
  }

  removeAllOnce(): void {
    for (const user of [...this.#once.keys()]) this.removeOnce(user);
  }

  /** Once this returns, all changes are in force. Unchanged files are not written, and concurrent calls share a write. */
  write(): Promise<void> {
    return this.#queue(async () => {
      await this.#groups.write(this.#paths.groups, "");
      await this.#logins.write(this.#paths.logins, [...this.#once.values()].join(""));
    });
  }

  #line(user: string, hash: string, uid: number): string {
    return `${user}:${hash}:${uid}:${uid}::${join(this.#paths.homes, String(uid))}:/bin/false\n`;
  }
}

/** A file of lines by uid, with a dirty flag. */
class TextFile {
  readonly #parts = new Map<number, string>();
  #isWritten = false;

  set(uid: number, text: string | undefined): void {
    if (this.#parts.get(uid) === text) return;
    if (text === undefined) this.#parts.delete(uid);
    else this.#parts.set(uid, text);
    this.#isWritten = false;
  }

  touch(): void {
    this.#isWritten = false;
  }

  async write(path: string, head: string): Promise<void> {
    if (this.#isWritten) return;
    this.#isWritten = true;
    try {
      await writeFileAtomic(path, head + [...this.#parts.values()].join(""));
    } catch (error) {
      this.#isWritten = false;
      throw error;
    }
  }
}

/** ProFTPD compares only this many characters of user names when it counts sessions: its scoreboard has room for no more. */
const countedNameCharsMax = 31;

/** Whether ProFTPD limits the account's sessions. If not, the agent does. */
export function isCountedByProftpd({ identifier, sessionsMax }: DesiredAccount): boolean {
  return identifier.length <= countedNameCharsMax && sessionsMax <= groupedSessionsMax;
}
