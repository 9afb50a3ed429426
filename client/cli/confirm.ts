import { createInterface } from "node:readline/promises";
import { CommandFailure, exitCodes } from "./failures.ts";
import { safeText } from "./output.ts";

/** Asks for confirmation at the terminal before an irreversible command. @throws CommandFailure unless the answer is yes */
export async function confirm(question: string): Promise<void> {
  if (!/^y(es)?$/i.test(await ask(`${question} [y/N] `))) throw new CommandFailure("nothing was done", exitCodes.usage);
}

/** Asks at the terminal. @returns the answer; empty when the person leaves @throws CommandFailure when there is no terminal */
export async function ask(question: string): Promise<string> {
  if (!process.stdin.isTTY) {
    throw new CommandFailure(
      "standard input is not a terminal, so no confirmation is possible",
      exitCodes.usage,
      "Use --yes to confirm.",
    );
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const left = new AbortController();
  terminal.on("SIGINT", () => left.abort()).on("close", () => left.abort());
  const answer = await terminal.question(safeText(question), { signal: left.signal }).catch(() => "");
  terminal.close();
  return answer.trim();
}
