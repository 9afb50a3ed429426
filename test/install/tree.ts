/** An empty Debian 12 system in a folder. */
import { execFile, spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Scope } from "../harness/database.ts";

const mirror = process.env.DEEDHOUSE_TEST_DEBIAN_MIRROR ?? "http://deb.debian.org/debian";

/** Why there is none here, or false. */
export const whyNoTree =
  (process.getuid?.() !== 0 && "not root") ||
  (spawnSync("debootstrap", ["--version"]).error !== undefined && "debootstrap is not installed");

export async function makeTree(scope: Scope): Promise<string> {
  const tree = await mkdtemp(join(tmpdir(), "deedhouse-machine-"));
  scope.after(() => rm(tree, { recursive: true }));
  // The root of a system: its nginx goes through it.
  await chmod(tree, 0o755);
  const parts = "--include=systemd,systemd-sysv,procps";
  await promisify(execFile)("debootstrap", ["--variant=minbase", parts, "bookworm", tree, mirror]);
  return tree;
}
