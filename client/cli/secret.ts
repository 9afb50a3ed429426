/** Where the tool gets secrets from: a file, standard input, or a prompt without echo; never an argument. */
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { CommandFailure, exitCodes } from "./failures.ts";
import { note, prompt } from "./output.ts";

/** The API secret of a profile. @throws CommandFailure when there is none */
export async function obtainSecret(file: string | undefined, profile: string): Promise<string> {
  const secret = await readAnySecret(file, profile);
  if (secret !== "") return secret;
  throw new CommandFailure("the secret is empty", exitCodes.usage, "Give --secret-file, or type it at the prompt.");
}

async function readAnySecret(file: string | undefined, profile: string): Promise<string> {
  if (file !== undefined) return readSecret(file);
  if (process.stdin.isTTY) return (await promptHidden(`API secret of ${profile}: `)).trim();
  return (await readStdin()).toString("utf8").trim();
}

/** @throws CommandFailure when the file cannot be read */
export async function readSecret(path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    throw new CommandFailure(`cannot read the secret: ${(error as Error).message}`, exitCodes.usage);
  }
}

export async function readStdin(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Asks at the terminal without echo. @throws CommandFailure when the user cancels */
export async function promptHidden(question: string): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true, historySize: 0 });
  prompt(question);
  try {
    return await new Promise<string>((resolve, reject) => {
      const cancel = () => reject(new CommandFailure("cancelled", exitCodes.usage));
      lines.once("line", resolve);
      lines.once("SIGINT", cancel);
      lines.once("close", cancel);
    });
  } finally {
    lines.close();
    note("");
  }
}
