/** Programs of others that judge what is printed and answered here. */
import { spawnSync } from "node:child_process";

/** The reason to skip a test whose program is not installed; false if it is. */
export function whyWithout(debianPackage: string, command: string, flag = "--version"): string | false {
  return spawnSync(command, [flag]).error !== undefined && `${debianPackage} is not installed`;
}
