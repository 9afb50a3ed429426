import { systemClock } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import type { ReadyDocument } from "../harness/running-system.ts";
import { type Reply, sendSigned } from "../harness/signed-request.ts";
import type { AttackerKey } from "./attack.ts";

/** Sends a signed request of an attacker's account. @returns nothing when there was no answer */
export function sendAs(
  { url }: ReadyDocument,
  account: AttackerKey,
  method: string,
  target: string,
  body?: object,
): Promise<Reply | undefined> {
  const key = { id: account.api_key, secret: new Secret(account.api_secret) };
  const request = { url, key, clock: systemClock, method, target, ...(body && { body }) };
  return sendSigned(request).catch(() => undefined);
}
