import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "#lib/clock.ts";
import { ignoreMissing } from "../atomic-file.ts";

const dayMs = 86_400_000;

/**
 * The files of removed accounts, one folder per uid. The folder's time of change is the time of removal. An empty
 * folder is left for an account that had no files: it keeps a late repetition from making the account again.
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

  /** Moves an account's home here. Repeatable. */
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

  /** Deletes what has been here for longer than `daysMax`. */
  async purge(daysMax: number): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      const removedAt = (await stat(path)).mtimeMs;
      if (this.#clock.now().getTime() - removedAt > daysMax * dayMs) await rm(path, { recursive: true });
    }
  }

  #path(uid: number): string {
    return join(this.#folder, String(uid));
  }
}
