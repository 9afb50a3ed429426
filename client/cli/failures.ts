import type { CommanderError } from "commander";
import { ApiError, ConnectionError } from "../sdk/errors.ts";
import { note, safeLine } from "./output.ts";

const programName = "deedhouse";
const connectionAdvice = "Check --url (DEEDHOUSE_URL) and that the service is running.";

/** The tool's exit codes. Scripts rely on the numbers. */
export const exitCodes = {
  ok: 0,
  unexpected: 1,
  usage: 2,
  refused: 3,
  notFound: 4,
  authentication: 5,
  endedInFailure: 6,
  stillGoing: 7,
  unavailable: 8,
  rateLimited: 9,
} as const;

type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The same, for `--help`. */
export const exitCodesHelp = `
Exit codes:
  0  done
  1  unexpected fault
  2  wrong usage: a bad option, a missing setting
  3  the API refused (HTTP 4xx other than below)
  4  not found, or not yours
  5  authentication failed (HTTP 401)
  6  the order or account ended in failure
  7  still going when --timeout ran out
  8  service unavailable or unreachable, after retries
  9  rate limited, after retries`;

/** A failure that the tool itself found, with its exit code and advice for the user. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode;
  readonly advice: string | undefined;

  constructor(message: string, exitCode: ExitCode, advice?: string) {
    super(message);
    this.name = "CommandFailure";
    this.exitCode = exitCode;
    this.advice = advice;
  }
}

/** Wraps a command's action: a failure becomes a message on stderr and an exit code, never a stack trace. */
export function guarded<Args extends unknown[]>(action: (...args: Args) => Promise<void>) {
  return async (...args: Args): Promise<void> => {
    process.stdout.on("error", leaveWhenNobodyReads);
    try {
      await action(...args);
    } catch (error) {
      note(describeFailure(error).join("\n"));
      process.exitCode = exitCodeOf(error);
    }
  };
}

/** Runs a write under its key. When no answer comes, says how to repeat it without ordering twice. */
export async function orderOnce<T>(idempotencyKey: string, order: () => Promise<T>): Promise<T> {
  try {
    return await order();
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    throw new CommandFailure(
      error.message,
      exitCodes.unavailable,
      `${connectionAdvice}\nIf the service received the request, the order may exist: repeat it with --idempotency-key ${idempotencyKey}`,
    );
  }
}

/** For commander's `exitOverride`: help exits with 0, every command-line mistake with 2. */
export function exitOnUsageError(error: CommanderError): never {
  process.exit(error.exitCode === 0 ? exitCodes.ok : exitCodes.usage);
}

/** A reader that closes early (`| head`) is not an error. */
function leaveWhenNobodyReads(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
  process.exit();
}

function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandFailure) return error.exitCode;
  if (error instanceof ConnectionError) return exitCodes.unavailable;
  if (!(error instanceof ApiError)) return exitCodes.unexpected;
  if (error.status === 401) return exitCodes.authentication;
  if (error.status === 429) return exitCodes.rateLimited;
  // For hosting accounts, "does not exist" and "not yours" are the same 403, so that names cannot be probed.
  if (error.status === 404 || error.errorCode === "hostingaccount_invalid_identifier") return exitCodes.notFound;
  if (error.status >= 500) return exitCodes.unavailable;
  return error.status >= 400 ? exitCodes.refused : exitCodes.unexpected;
}

function describeFailure(error: unknown): string[] {
  if (error instanceof ApiError) {
    const lines = [`${programName}: ${error.errorText} (${error.errorCode})`];
    // The service's own text often contains everything.
    const more = error.validationErrors.filter(({ errorText }) => !error.errorText.includes(errorText));
    for (const { field, errorText, errorCode } of more) {
      lines.push(`  ${field}: ${errorText} (${errorCode})`);
    }
    const advice = adviceFor(error);
    if (advice) lines.push(advice);
    if (error.requestId) lines.push(`Request id: ${error.requestId}`);
    return lines.map(safeLine);
  }
  if (error instanceof ConnectionError) {
    return [`${programName}: ${error.message}`, connectionAdvice];
  }
  if (error instanceof CommandFailure) {
    return [`${programName}: ${error.message}`, ...(error.advice ? [error.advice] : [])];
  }
  return [`${programName}: unexpected: ${error instanceof Error ? error.message : String(error)}`];
}

function adviceFor(error: ApiError): string | undefined {
  if (error.errorCode === "authorization_hmac_invalid") {
    return "Check that --key (DEEDHOUSE_API_KEY) and the secret (DEEDHOUSE_API_SECRET, --secret-file) belong together.";
  }
  if (error.retryAfterSeconds !== undefined) return `Try again in ${error.retryAfterSeconds} s.`;
  const orderCode = /\/domains\/registrations\/([^/]+)$/.exec(error.location ?? "")?.[1];
  return orderCode && `See the order: ${programName} orders get ${orderCode}`;
}
