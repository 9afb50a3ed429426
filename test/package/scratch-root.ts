/** The machine's own system with changes that only the test sees: an overlay in a mount namespace, in memory. */
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const mount = `
mount -t tmpfs tmpfs "$FOLDER" -o mode=755
mkdir "$FOLDER/upper" "$FOLDER/work" "$FOLDER/root"
mount -t overlay overlay "$FOLDER/root" -o "lowerdir=/,upperdir=$FOLDER/upper,workdir=$FOLDER/work"
for folder in proc dev sys; do mount --rbind "/$folder" "$FOLDER/root/$folder"; done`;

/** Why there is none here, or false. */
export function whyNoScratchRoot(): string | false {
  if (process.getuid?.() !== 0) return "needs root";
  const script = `FOLDER=$(mktemp -d); trap 'umount -R "$FOLDER"; rmdir "$FOLDER"' EXIT; ${mount}`;
  const { status } = spawnSync("unshare", ["--mount", "bash", "-ec", script], { stdio: "ignore" });
  return status === 0 ? false : "no overlay of the system can be mounted here";
}

export interface ScratchRoot {
  /** The words before a program and its arguments that run it there. */
  enter: readonly string[];
  /** Runs lines of a shell there, as root. @throws Error with what they printed */
  shell(lines: string): Promise<{ stdout: string; stderr: string }>;
  /** Nothing of it is left. */
  close(): Promise<void>;
}

export async function scratchRoot(): Promise<ScratchRoot> {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-root-"));
  // Its namespace lives until its standard input ends, at the latest with this process.
  const holder = spawn("unshare", ["--mount", "bash", "-ec", `${mount}\necho mounted\nread -r _ || true`], {
    env: { ...process.env, FOLDER: folder },
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(holder.stdout, "data");
  const enter = ["nsenter", `--mount=/proc/${holder.pid}/ns/mnt`, "chroot", join(folder, "root")];
  return {
    enter,
    async close() {
      holder.stdin.end();
      if (holder.exitCode === null) await once(holder, "exit");
      await rmdir(folder);
    },
    shell: (lines) => {
      const [program, ...args] = [...enter, "sh", "-ec", lines];
      return promisify(execFile)(program!, args, { env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8" } });
    },
  };
}
