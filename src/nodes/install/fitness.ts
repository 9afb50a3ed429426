/** Checks whether a server can become a node. */

import { stat } from "node:fs/promises";
import { ignoreMissing } from "#nodes/atomic-file.ts";
import { type Machine, onMachine, readText } from "#nodes/install/machine.ts";

/** @throws Error that says why not */
export async function checkFitness(machine: Machine): Promise<void> {
  const release = await readText(machine, "/etc/os-release");
  const value = (name: string) => new RegExp(`^${name}="?([^"\\n]*)"?$`, "m").exec(release ?? "")?.[1];
  if (value("ID") !== "debian" || value("VERSION_ID") !== "12") {
    const found = value("PRETTY_NAME") ?? "unknown, because it has no /etc/os-release";
    throw new Error(`a node runs on Debian 12, and this system is ${found}`);
  }
  if ((await stat(onMachine(machine, "/usr/bin/systemctl")).catch(ignoreMissing)) === undefined) {
    throw new Error("a node needs systemd for its services, and this system does not have it");
  }
  if (process.getuid?.() !== 0) throw new Error("only root can make a server a node: run it with sudo");
}
