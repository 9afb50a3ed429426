import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { type Client, createClient } from "../sdk/client.ts";
import type { Clock } from "../sdk/clock.ts";
import { ApiError } from "../sdk/errors.ts";
import type { RetryNotice } from "../sdk/retry.ts";
import { CommandFailure, exitCodes } from "./failures.ts";

/** The address of the service and the caller's key; each may come from the environment instead. */
export interface ConnectionOptions {
  url?: string;
  key?: string;
  secretFile?: string;
}

/** Adds the options that select the service. The secret is not an option, because arguments are visible in `ps`. */
export function addConnectionOptions(command: Command): Command {
  return command
    .option("--url <url>", "the API's URL (DEEDHOUSE_URL)")
    .option("--key <key>", "API key (DEEDHOUSE_API_KEY)")
    .option("--secret-file <file>", "file with the API secret (instead of DEEDHOUSE_API_SECRET)");
}

/** The address of the service. Throws `CommandFailure`. */
export function serviceUrl(options: Pick<ConnectionOptions, "url">): string {
  const url = options.url ?? process.env.DEEDHOUSE_URL;
  if (!url) throw new CommandFailure("missing: --url or DEEDHOUSE_URL", exitCodes.usage);
  return url;
}

/** Makes the client from options and environment. Throws `CommandFailure` that names all missing settings. */
export async function openClient(options: ConnectionOptions, clock: Clock): Promise<Client> {
  const url = options.url ?? process.env.DEEDHOUSE_URL;
  const apiKey = options.key ?? process.env.DEEDHOUSE_API_KEY;
  const apiSecret = options.secretFile ? await readSecret(options.secretFile) : process.env.DEEDHOUSE_API_SECRET;
  if (!url || !apiKey || !apiSecret) {
    const missing = [
      ...(url ? [] : ["--url or DEEDHOUSE_URL"]),
      ...(apiKey ? [] : ["--key or DEEDHOUSE_API_KEY"]),
      ...(apiSecret ? [] : ["DEEDHOUSE_API_SECRET or --secret-file"]),
    ];
    throw new CommandFailure(`missing: ${missing.join("; ")}`, exitCodes.usage);
  }
  try {
    return createClient({ url, apiKey, apiSecret, clock, onRetry: reportRetry });
  } catch (error) {
    throw new CommandFailure((error as Error).message, exitCodes.usage);
  }
}

async function readSecret(path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    throw new CommandFailure(`cannot read the secret: ${(error as Error).message}`, exitCodes.usage);
  }
}

function reportRetry({ error, delayMs }: RetryNotice): void {
  const reason = error instanceof ApiError ? error.errorCode : error.message;
  process.stderr.write(`${reason}; retrying in ${Math.ceil(delayMs / 1000)} s\n`);
}
