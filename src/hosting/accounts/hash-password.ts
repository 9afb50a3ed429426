import type { Context } from "#context.ts";
import { invalidField, unavailable } from "#errors.ts";
import { checkFtpPassword } from "#lib/ftp-password.ts";
import { PasswordQueueFull } from "#lib/password-queue.ts";
import type { Secret } from "#lib/secret.ts";

/** @throws ApiError `bad_request` that says what is wrong with it, and never repeats it */
export async function parsePassword(context: Context, text: string, identifier: string): Promise<Secret> {
  const verdict = checkFtpPassword(text, identifier, await context.commonPasswords());
  if (!verdict.ok) throw invalidField("password", `The password ${verdict.reason}.`);
  return verdict.password;
}

/** @throws ApiError `service_unavailable` when too many wait */
export async function hashPassword(context: Context, resellerId: number, password: Secret): Promise<Secret> {
  try {
    return await context.passwordQueue.hash(String(resellerId), password);
  } catch (error) {
    if (!(error instanceof PasswordQueueFull)) throw error;
    throw unavailable(error.retryAfterSeconds, "Too many passwords are being set right now; try again in a moment.");
  }
}
