import { randomInt } from "node:crypto";
import { readFile } from "node:fs/promises";
import { CommandFailure, exitCodes } from "./failures.ts";
import { note } from "./output.ts";
import { promptHidden, readStdin } from "./secret.ts";

/** Far above the service's limit of 64 characters; it only guards against a wrong file. */
const passwordBytesMax = 1024;
/** 24 of 57 characters are 139 bits. */
const generatedLength = 24;
// Without 0 O 1 l I, because people copy passwords from screens.
const generatedAlphabet = "23456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ";

export interface PasswordOptions {
  passwordFile?: string;
  passwordStdin?: boolean;
  generatePassword?: boolean;
}

/**
 * Gets the FTP password from the source in the options, or else from a prompt without echo. A generated password is shown on
 * stderr before it is sent: after a lost answer the account may exist, and its password is known only from here.
 */
export async function obtainPassword(options: PasswordOptions, identifier: string): Promise<string> {
  if (options.passwordFile !== undefined) return stripLineEnd(await readPasswordFile(options.passwordFile));
  if (options.passwordStdin) return stripLineEnd(await readStdin());
  if (options.generatePassword) {
    const password = generatePassword();
    note(`FTP password of ${identifier}, shown only once: ${password}`);
    return password;
  }
  if (process.stdin.isTTY) return promptTwice(identifier);
  throw new CommandFailure(
    "no password was given, and there is no terminal to ask for one",
    exitCodes.usage,
    "Give --password-file, --password-stdin or --generate-password.",
  );
}

function generatePassword(): string {
  return Array.from({ length: generatedLength }, () => generatedAlphabet[randomInt(generatedAlphabet.length)]).join("");
}

async function readPasswordFile(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new CommandFailure(`cannot read the password: ${(error as Error).message}`, exitCodes.usage);
  }
}

/** Editors and `echo` add a newline that is not part of the password. */
function stripLineEnd(bytes: Buffer): string {
  if (bytes.length > passwordBytesMax) {
    throw new CommandFailure(`the password is longer than ${passwordBytesMax} bytes`, exitCodes.usage);
  }
  return bytes.toString("utf8").replace(/\r?\n$/, "");
}

async function promptTwice(identifier: string): Promise<string> {
  const password = await promptHidden(`FTP password for ${identifier}: `);
  const repeated = await promptHidden("Repeat it: ");
  if (password !== repeated) throw new CommandFailure("the two passwords differ", exitCodes.usage);
  return password;
}
