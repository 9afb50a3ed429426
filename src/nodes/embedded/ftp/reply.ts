import { QuotaExceeded } from "#nodes/embedded/quota.ts";

/** A command that ends with this reply instead of the usual one. */
export class FtpFailure extends Error {
  override readonly name = "FtpFailure";
  readonly code: number;
  constructor(code: number, text: string) {
    super(text);
    this.code = code;
  }
}

/** The one answer for whatever cannot be reached: it tells nothing of what is or is not there, nor of host paths. */
export function notAvailable(): FtpFailure {
  return new FtpFailure(550, "Not available.");
}

/** What the file system answers when a path leads nowhere, or not where the command can go. */
const pathErrors = new Set([
  "ENOENT",
  "ENOTDIR",
  "EISDIR",
  "EEXIST",
  "ENOTEMPTY",
  "ELOOP",
  "EINVAL",
  "ENAMETOOLONG",
  "EACCES",
  "EPERM",
]);

/** The reply to a command that threw; undefined when the error is not one that a client can cause. */
export function failureOf(error: unknown): FtpFailure | undefined {
  if (error instanceof FtpFailure) return error;
  if (error instanceof QuotaExceeded) return new FtpFailure(552, "Over quota.");
  const code = (error as NodeJS.ErrnoException).code ?? "";
  if (code === "ENOSPC") return new FtpFailure(452, "No space now, try again later.");
  return pathErrors.has(code) ? notAvailable() : undefined;
}
