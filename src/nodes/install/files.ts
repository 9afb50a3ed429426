/** Steps for files and folders of the machine. */
import { spawnSync } from "node:child_process";
import { chmod, chown, copyFile, mkdir, open, rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ignoreMissing, unfinishedSuffix } from "#nodes/atomic-file.ts";
import { type Machine, onMachine, readText } from "#nodes/install/machine.ts";
import type { Change, Step } from "#nodes/install/plan.ts";

/** Access rights: root owns everything, and some files have a group. */
interface Access {
  mode: number;
  /** Default: root. */
  group?: string;
}

export interface FolderStep extends Access {
  path: string;
}

export function folderStep(machine: Machine, { path, ...access }: FolderStep): Step {
  const place = onMachine(machine, path);
  return {
    async look() {
      const found = await stat(place).catch(ignoreMissing);
      if (found && !found.isDirectory()) throw new Error(`${path} is not a folder: move it away`);
      if (found && (await hasAccess(machine, place, access))) return undefined;
      const summary = `${found ? "set access of" : "create"} the folder ${path} (${described(access)})`;
      return {
        summary,
        async apply() {
          await mkdir(place, { recursive: true, mode: access.mode });
          await setAccess(machine, place, access);
        },
      };
    },
  };
}

export interface FileStep extends Access {
  path: string;
  content: () => Promise<string> | string;
  /** The folder for copies of replaced files. */
  backups: string;
  /** Do not show its content. */
  isSecret?: boolean;
}

export function fileStep(machine: Machine, file: FileStep): Step {
  const place = onMachine(machine, file.path);
  return {
    async look(): Promise<Change | undefined> {
      const [before, content] = await Promise.all([readText(machine, file.path), file.content()]);
      if (before === content && (await hasAccess(machine, place, file))) return undefined;
      if (before === content) {
        return {
          summary: `set access of ${file.path} (${described(file)})`,
          apply: () => setAccess(machine, place, file),
        };
      }
      return {
        summary: `${before === undefined ? "write" : "replace"} ${file.path} (${described(file)})`,
        ...(file.isSecret !== true && {
          detail: difference(file.path, before === undefined ? undefined : place, content),
        }),
        apply: () => replaceFile(machine, file, content),
      };
    },
  };
}

/** Replaces a file atomically, with its access set before its content is visible. Keeps a copy of the old file. */
export async function replaceFile(machine: Machine, file: Omit<FileStep, "content">, content: string): Promise<void> {
  const place = onMachine(machine, file.path);
  const backup = onMachine(machine, join(file.backups, file.path));
  if (await stat(place).catch(ignoreMissing)) {
    await mkdir(dirname(backup), { recursive: true, mode: 0o700 });
    await copyFile(place, backup);
    await chmod(backup, 0o600);
  }
  await mkdir(dirname(place), { recursive: true, mode: 0o755 });
  const unfinished = place + unfinishedSuffix;
  const handle = await open(unfinished, "w", 0o600);
  try {
    await handle.writeFile(content);
    await setAccess(machine, unfinished, file);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(unfinished, place);
}

const described = ({ mode, group = "root" }: Access) => `root:${group}, ${mode.toString(8).padStart(4, "0")}`;

async function hasAccess(machine: Machine, place: string, { mode, group }: Access): Promise<boolean> {
  const found = await stat(place);
  return found.uid === 0 && found.gid === (await groupId(machine, group)) && (found.mode & 0o7777) === mode;
}

async function setAccess(machine: Machine, place: string, { mode, group }: Access): Promise<void> {
  const gid = await groupId(machine, group);
  if (gid === undefined) throw new Error(`the server has no group ${group}`);
  await chown(place, 0, gid);
  await chmod(place, mode);
}

/** Reads the group from the server's file tree, which may be another system's. */
async function groupId(machine: Machine, group = "root"): Promise<number | undefined> {
  if (group === "root") return 0;
  const line = (await readText(machine, "/etc/group"))?.split("\n").find((entry) => entry.startsWith(`${group}:`));
  return line === undefined ? undefined : Number(line.split(":")[2]);
}

/** Uses diffutils, which every Debian has. */
function difference(path: string, place: string | undefined, after: string): string {
  const labels = ["--label", place === undefined ? "/dev/null" : path, "--label", path];
  const options = { input: after, encoding: "utf8" as const };
  return spawnSync("diff", ["-u", ...labels, place ?? "/dev/null", "-"], options).stdout;
}
