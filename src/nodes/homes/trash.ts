import { execFile } from "node:child_process";
import { mkdir, readdir, rename, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Clock } from "#lib/clock.ts";
import { ignoreMissing } from "#nodes/atomic-file.ts";

const run = promisify(execFile);
const dayMs = 86_400_000;

/**
 * The files of removed accounts, one folder per uid. The folder's modification time is the time of removal. An account
 * without files leaves an empty folder, which keeps a late repetition from creating the account again.
 */
export class Trash {
  readonly #folder: string;
  readonly #clock: Clock;

  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  async has(uid: number): Promise<boolean> {
    return (await stat(this.#path(uid)).catch(ignoreMissing)) !== undefined;
  }

  /** The uids of all accounts in the trash. */
  async uids(): Promise<number[]> {
    return (await readdir(this.#folder)).map(Number).filter(Number.isSafeInteger);
  }

  /** Moves an account's home to the trash. Idempotent. */
  async take(uid: number, home: string): Promise<void> {
    const isMoved = await rename(home, this.#path(uid)).then(
      () => true,
      (error) => ignoreMissing(error) ?? false,
    );
    if (!isMoved) {
      if (await this.has(uid)) return;
      await mkdir(this.#path(uid));
    }
    const now = this.#clock.now();
    await utimes(this.#path(uid), now, now);
  }

  /** Deletes folders that are older than `daysMax`. @throws after deleting all others, when some could not be deleted */
  async purge(daysMax: number): Promise<void> {
    const failures: unknown[] = [];
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      const removedAt = (await stat(path)).mtimeMs;
      if (this.#clock.now().getTime() - removedAt > daysMax * dayMs) {
        // Node's own `rm` fails on folders that nest deeper than the longest path (seen with Node 24).
        await run("rm", ["-rf", "--", path]).catch((error) => failures.push(error));
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, "some of the trash could not be deleted");
  }

  #path(uid: number): string {
    return join(this.#folder, String(uid));
  }
}
