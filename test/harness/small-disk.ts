/** A disk that a test can fill: its own small tmpfs. */
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Scope } from "./database.ts";

export interface SmallDisk {
  folder: string;
  /** Uses all remaining space, except `freeBytes`. */
  fill(freeBytes?: number): void;
  /** Frees the space again. */
  free(): void;
}

const chunkBytes = [1024 * 1024, 4096];

/** Why the tests that need such a disk cannot run here; false when they can. */
export const cannotMount: string | false = whyNot();

function whyNot(): string | false {
  if (process.getuid?.() !== 0) return "mounting needs root";
  const folder = mkdtempSync(join(tmpdir(), "deedhouse-disk-"));
  try {
    mount(folder, 4096);
    unmount(folder);
    return false;
  } catch (error) {
    return `mounting is not possible here: ${(error as Error).message}`;
  } finally {
    rmdirSync(folder);
  }
}

/** @param bytes its capacity */
export function smallDisk(scope: Scope, bytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), "deedhouse-disk-"));
  mount(folder, bytes);
  scope.after(async () => {
    unmount(folder);
    rmdirSync(folder);
  });
  const ballast = join(folder, "ballast");
  return {
    folder,
    fill(freeBytes = 0) {
      const spare = openSync(`${ballast}.spare`, "w");
      writeSync(spare, Buffer.alloc(freeBytes));
      closeSync(spare);
      const fd = openSync(ballast, "a");
      for (const size of chunkBytes) writeUntilFull(fd, Buffer.alloc(size));
      closeSync(fd);
      rmSync(`${ballast}.spare`);
    },
    free: () => rmSync(ballast, { force: true }),
  };
}

function writeUntilFull(fd: number, chunk: Buffer): void {
  try {
    for (;;) writeSync(fd, chunk);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}

function mount(folder: string, bytes: number): void {
  run("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "deedhouse-test", folder]);
}

/** Works even when a failed test still has a file open there. */
function unmount(folder: string): void {
  run("umount", ["--lazy", folder]);
}

function run(command: string, args: string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(error?.message ?? stderr.trim());
}
