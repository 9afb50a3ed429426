import { QuotaExceeded } from "#nodes/embedded/quota.ts";

/** Makes a command end with this reply instead of the usual one. */
export class FtpFailure extends Error {
  override readonly name = "FtpFailure";
  readonly code: number;
  constructor(code: number, text: string) {
    super(text);
    this.code = code;
  }
}

/** The single reply for all inaccessible paths: it reveals neither what exists nor host paths. */
export function notAvailable(): FtpFailure {
  return new FtpFailure(550, "Not available.");
}

/** Errors of the file system for paths that are missing or unusable for the command. */
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

/** The reply for an error; undefined when a client cannot have caused it. */
export function failureOf(error: unknown): FtpFailure | undefined {
  if (error instanceof FtpFailure) return error;
  if (error instanceof QuotaExceeded) return new FtpFailure(552, "Over quota.");
  const code = (error as NodeJS.ErrnoException).code ?? "";
  if (code === "ENOSPC") return new FtpFailure(452, "No space now, try again later.");
  return pathErrors.has(code) ? notAvailable() : undefined;
}
