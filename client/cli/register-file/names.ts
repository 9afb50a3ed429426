import { readFile } from "node:fs/promises";
import { CommandFailure, exitCodes } from "../failures.ts";

const namesMax = 100_000;

/**
 * Reads a list of names: one on each line; empty lines and lines that begin with # are left out, repeated names count once.
 * @throws CommandFailure that names the line
 */
export async function readNames(path: string): Promise<string[]> {
  const text = await readFile(path, "utf8").catch((error: Error) => {
    throw new CommandFailure(`cannot read the names: ${error.message}`, exitCodes.usage);
  });
  const names = new Set<string>();
  for (const [index, line] of text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .entries()) {
    const name = line.trim().toLowerCase().normalize("NFC");
    if (name === "" || name.startsWith("#")) continue;
    if (/[\s,;]/.test(name)) {
      const advice = "Write one name on each line, and nothing else.";
      throw new CommandFailure(`line ${index + 1} of ${path} is not a name`, exitCodes.usage, advice);
    }
    names.add(name);
  }
  if (names.size === 0) throw new CommandFailure(`${path} has no names`, exitCodes.usage);
  if (names.size > namesMax) {
    throw new CommandFailure(`${path} has more than ${namesMax} names`, exitCodes.usage, "Split it.");
  }
  return [...names];
}
