import { createInterface } from "node:readline/promises";
import { CommandFailure, exitCodes } from "./failures.ts";

/** Asks at the terminal before something is done that cannot be taken back. @throws CommandFailure unless it is a yes */
export async function confirm(question: string): Promise<void> {
  if (!process.stdin.isTTY) {
    throw new CommandFailure("nobody is there to confirm it", exitCodes.usage, "Say --yes if it shall be done.");
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const left = new AbortController();
  terminal.on("SIGINT", () => left.abort()).on("close", () => left.abort());
  const answer = await terminal.question(`${question} [y/N] `, { signal: left.signal }).catch(() => "");
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailure("nothing was done", exitCodes.usage);
}
