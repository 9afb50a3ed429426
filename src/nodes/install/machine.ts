/** The server that becomes a node: its files below a root folder, and its programs. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ignoreMissing } from "#nodes/atomic-file.ts";

const outputBytesMax = 16_777_216;

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

export interface Machine {
  /** `/`, or a folder with another system's tree. */
  root: string;
  /** Whether systemd is running, so that services can be started. */
  isBooted: boolean;
  /** Runs a program, without a shell. Does not throw when it fails. The code of a missing program is 127. */
  run(program: string, args: readonly string[]): Promise<Outcome>;
}

/** The path of a server's file as this process sees it. */
export const onMachine = ({ root }: Pick<Machine, "root">, path: string) => join(root, path);

/** A file's text, or undefined. */
export async function readText(machine: Pick<Machine, "root">, path: string): Promise<string | undefined> {
  return (await readFile(onMachine(machine, path), "utf8").catch(ignoreMissing)) ?? undefined;
}

/** This machine, or the system whose tree is below another root. */
export function openMachine(root: string): Machine {
  const isHere = root === "/";
  // Debian's path, because `deedhouse` may have put another Node on the path.
  const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8", DEBIAN_FRONTEND: "noninteractive" };
  return {
    root,
    isBooted: isHere && existsSync("/run/systemd/system"),
    run: (program, args) =>
      new Promise((resolve) => {
        const command = isHere ? [program, ...args] : ["chroot", root, program, ...args];
        execFile(command[0]!, command.slice(1), { env, maxBuffer: outputBytesMax }, (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === "number" ? error.code : 127;
          resolve({ code, stdout, stderr: stderr || (error?.message ?? "") });
        });
      }),
  };
}

/** Runs a program that must succeed. @throws Error with its output */
export async function mustRun(machine: Machine, program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await machine.run(program, args);
  if (code === 0) return stdout;
  const said = (stderr || stdout).trim().split("\n").slice(-20).join("\n");
  throw new Error(`${program} ${args.join(" ")} ended with ${code}:\n${said}`);
}
