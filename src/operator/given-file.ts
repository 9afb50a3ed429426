import { readFileSync } from "node:fs";
import { CommandFailure, exitCodes } from "../../client/cli/failures.ts";

/** The content of a file that an option names; `-` is standard input. @throws CommandFailure */
export function readGivenFile(path: string): string {
  try {
    return readFileSync(path === "-" ? process.stdin.fd : path, "utf8");
  } catch (error) {
    throw new CommandFailure(`cannot read ${path}: ${(error as Error).message}`, exitCodes.usage);
  }
}
