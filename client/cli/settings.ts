import { homedir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { type Client, type ClientOptions, createClient, createSender } from "../sdk/client.ts";
import type { Clock } from "../sdk/clock.ts";
import { ApiError } from "../sdk/errors.ts";
import type { RetryNotice } from "../sdk/retry.ts";
import type { Send } from "../sdk/transport.ts";
import { CommandFailure, exitCodes } from "./failures.ts";
import { note } from "./output.ts";
import { getProfile, type Profile, readProfiles } from "./profiles.ts";
import { readSecret } from "./secret.ts";

/** Where the profiles are: DEEDHOUSE_PROFILES, or else `deedhouse/profiles.json` in the user's folder for settings. */
export function profilesPath(): string {
  const { DEEDHOUSE_PROFILES: given, XDG_CONFIG_HOME: settings } = process.env;
  return given || join(settings || join(homedir(), ".config"), "deedhouse", "profiles.json");
}

/** The address of the service and the caller's key; each may come from a profile or the environment instead. */
export interface ConnectionOptions {
  profile?: string;
  url?: string;
  key?: string;
  secretFile?: string;
}

/** Adds the options that select the service. The secret is not an option, because arguments are visible in `ps`. */
export function addConnectionOptions(command: Command): Command {
  return command
    .option("--profile <name>", "credentials of deedhouse profile add (DEEDHOUSE_PROFILE)")
    .option("--url <url>", "the API's URL (DEEDHOUSE_URL)")
    .option("--key <key>", "API key (DEEDHOUSE_API_KEY)")
    .option("--secret-file <file>", "file with the API secret (instead of DEEDHOUSE_API_SECRET)");
}

/** The address of the service. Throws `CommandFailure`. */
export async function serviceUrl(options: ConnectionOptions): Promise<string> {
  const { url } = await findConnection(options);
  if (!url) throw new CommandFailure("missing: --url or DEEDHOUSE_URL", exitCodes.usage);
  return url;
}

/** Makes the client from options, a profile or the environment. Throws `CommandFailure` that names all missing settings. */
export async function openClient(
  options: ConnectionOptions,
  clock: Clock,
  more: Partial<ClientOptions> = {},
): Promise<Client> {
  const complete = await completeConnection(options);
  return withGoodSettings(() => createClient({ ...complete, clock, onRetry: reportRetry, ...more }));
}

/** A sender of calls of any path, and where and as whom it sends. Throws as {@link openClient}. */
export async function openSender(options: ConnectionOptions, clock: Clock): Promise<OpenSender> {
  const { url, apiKey, apiSecret } = await completeConnection(options);
  return {
    url,
    apiKey,
    send: withGoodSettings(() => createSender({ url, apiKey, apiSecret, clock, onRetry: reportRetry })),
  };
}

export interface OpenSender {
  url: string;
  apiKey: string;
  send: Send;
}

async function completeConnection(
  options: ConnectionOptions,
): Promise<{ url: string; apiKey: string; apiSecret: string }> {
  const { url, key: apiKey, secret: apiSecret } = await findConnection(options);
  if (!url || !apiKey || !apiSecret) {
    const missing = [
      ...(url ? [] : ["--url or DEEDHOUSE_URL"]),
      ...(apiKey ? [] : ["--key or DEEDHOUSE_API_KEY"]),
      ...(apiSecret ? [] : ["DEEDHOUSE_API_SECRET or --secret-file"]),
    ];
    const advice = "Or keep them once, for all commands: deedhouse profile add --help";
    throw new CommandFailure(`missing: ${missing.join("; ")}`, exitCodes.usage, advice);
  }
  return { url, apiKey, apiSecret };
}

function withGoodSettings<T>(create: () => T): T {
  try {
    return create();
  } catch (error) {
    throw new CommandFailure((error as Error).message, exitCodes.usage);
  }
}

type Connection = Partial<Record<keyof Profile, string | undefined>>;

/** Whether any setting names a service. */
export async function hasConnection(options: ConnectionOptions): Promise<boolean> {
  return Object.values(await findConnection(options)).some((value) => value);
}

/** A named profile comes first, then the environment, then the default profile. Options replace parts of each. */
async function findConnection({ profile, url, key, secretFile }: ConnectionOptions): Promise<Connection> {
  const found = await findSurroundings(profile, Boolean(url || key || secretFile));
  const secret = secretFile ? await readSecret(secretFile) : found.secret;
  return { url: url || found.url, key: key || found.key, secret };
}

async function findSurroundings(profile: string | undefined, hasOptions: boolean): Promise<Connection> {
  const { DEEDHOUSE_PROFILE, DEEDHOUSE_URL: url, DEEDHOUSE_API_KEY: key, DEEDHOUSE_API_SECRET: secret } = process.env;
  const named = profile || DEEDHOUSE_PROFILE;
  if (named) return getProfile(await readProfiles(profilesPath()), named);
  // The default profile does not fill gaps: a key without its secret is a mistake to be shown.
  if (url || key || secret || hasOptions) return { url, key, secret };
  const profiles = await readProfiles(profilesPath());
  return profiles.default ? getProfile(profiles, profiles.default) : {};
}

function reportRetry({ error, delayMs }: RetryNotice): void {
  const reason = error instanceof ApiError ? error.errorCode : error.message;
  note(`${reason}; retrying in ${Math.ceil(delayMs / 1000)} s`);
}
