/** Boots the system whose files are in a folder, with its own systemd, in namespaces of its own but for the network. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { sleep, systemClock } from "#lib/clock.ts";

const run = promisify(execFile);
const bootMs = 90_000;
const outputBytesMax = 16_777_216;

export interface Booted {
  /** Runs a program in it. @throws with what it printed */
  run(program: string, ...args: string[]): Promise<string>;
  halt(): Promise<void>;
}

// A control group of its own, which is all that its systemd sees, so that its groups are below it and can be removed: otherwise
// it does not find the group of a process that it did not start itself, such as PostgreSQL's. cgroups of version 1 and 2.
const bootScript = `
groups=(/sys/fs/cgroup/*/)
if [ -e /sys/fs/cgroup/cgroup.procs ]; then groups=(/sys/fs/cgroup/); fi
for group in "\${groups[@]}"; do
  { mkdir -p "$group$NAME" && echo $$ > "$group$NAME/cgroup.procs"; } 2>/dev/null || true
done
exec unshare --mount --pid --uts --ipc --cgroup --fork --kill-child bash -ec '
  mount --make-rprivate /
  mount --bind "$TREE" "$TREE"
  mount -t proc proc "$TREE/proc"
  mount -t sysfs sysfs "$TREE/sys" -o ro
  if [ -e /sys/fs/cgroup/cgroup.procs ]; then mount --bind "/sys/fs/cgroup/$NAME" "$TREE/sys/fs/cgroup"
  else
    mount -t tmpfs tmpfs "$TREE/sys/fs/cgroup" -o mode=755
    for group in /sys/fs/cgroup/*/; do
      [ -d "$group$NAME" ] || continue
      mkdir "$TREE$group" && mount --bind "$group$NAME" "$TREE$group"
    done
  fi
  for folder in run tmp dev; do mount -t tmpfs tmpfs "$TREE/$folder" -o mode=755; done
  chmod 1777 "$TREE/tmp"
  device() { mknod -m 666 "$TREE/dev/$1" c "$2" "$3"; }
  device null 1 3; device zero 1 5; device full 1 7; device random 1 8; device urandom 1 9; device tty 5 0
  ln -s /proc/self/fd "$TREE/dev/fd"
  ln -s pts/ptmx "$TREE/dev/ptmx"
  mkdir -p "$TREE$PACKAGE" && mount --bind "$PACKAGE" "$TREE$PACKAGE"
  exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$TREE" /lib/systemd/systemd --system
'`;

/** Fails while there are any. */
const removeGroups = `
find /sys/fs/cgroup -depth -type d -path "*/$NAME*" -exec rmdir {} \\; 2>/dev/null
test -z "$(find /sys/fs/cgroup -type d -path "*/$NAME*")"`;

/**
 * @param packageFolder appears there at the same path
 * @throws when it is not up in time, with the services that failed
 */
export async function boot(tree: string, packageFolder: string): Promise<Booted> {
  const name = `deedhouse-install-${process.pid}`;
  const env = { ...process.env, NAME: name, TREE: tree, PACKAGE: packageFolder };
  const machine = spawn("bash", ["-c", bootScript], { env, stdio: ["ignore", "ignore", "inherit"] });
  const ended = once(machine, "exit");
  const booted: Booted = {
    async run(program, ...args) {
      const [init] = (await readFile(`/proc/${machine.pid}/task/${machine.pid}/children`, "utf8")).split(" ");
      const enter = ["--mount", "--pid", "--uts", "--ipc", "--cgroup", "--wd=/", "chroot", tree];
      const inside = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", program, ...args];
      return (await run("nsenter", ["--target", init ?? "", ...enter, ...inside], { maxBuffer: outputBytesMax }))
        .stdout;
    },
    async halt() {
      machine.kill("SIGKILL");
      await ended;
      // The last processes of its namespace are still ending.
      const deadlineMs = systemClock.monotonicMs() + bootMs;
      for (;;) {
        if (
          await run("bash", ["-c", removeGroups], { env }).then(
            () => true,
            () => false,
          )
        )
          return;
        if (systemClock.monotonicMs() > deadlineMs) throw new Error(`control groups ${name} are left`);
        await sleep(100);
      }
    },
  };
  try {
    await untilUp(booted);
  } catch (error) {
    await booted.halt();
    throw error;
  }
  return booted;
}

async function untilUp(booted: Booted): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + bootMs;
  for (;;) {
    const state = await booted
      .run("systemctl", "is-system-running")
      .catch((error: { stdout?: string }) => error.stdout);
    if (state?.trim() === "running") return;
    if (systemClock.monotonicMs() > deadlineMs) {
      const failed = await booted.run("systemctl", "--failed", "--no-pager").catch(String);
      throw new Error(`the system is "${state?.trim()}":\n${failed}`);
    }
    await sleep(250);
  }
}
