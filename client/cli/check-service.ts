import { type Clock, systemClock } from "../sdk/clock.ts";
import { ApiError, ConnectionError } from "../sdk/errors.ts";
import { type ConnectionOptions, openClient } from "./settings.ts";

/** What one check of `deedhouse doctor` has found. */
export interface Finding {
  check: string;
  result: "ok" | "warning" | "fault" | "skipped";
  text: string;
  /** What to do about it. */
  advice?: string;
}

/** Half a minute is a tenth of what the service tolerates (docs/signing.md): it only gets worse. */
const skewSecondsMax = 30;
const setClock = "Set this machine's clock, and keep it right with NTP: timedatectl set-ntp true";

/** Sends one signed request: whether the service answers, how far the clocks differ, and whether the signature is accepted. */
export async function checkService(options: ConnectionOptions, clock: Clock = systemClock): Promise<Finding[]> {
  let clockFinding: Finding | undefined;
  const recordingFetch: typeof fetch = async (...request) => {
    const sentAtMs = clock.now().getTime();
    const response = await fetch(...request);
    clockFinding = judgeClock(response.headers.get("date"), sentAtMs, clock.now().getTime());
    return response;
  };
  const client = await openClient(options, clock, { fetch: recordingFetch, retriesMax: 0 });
  const error = await client.listServicePacks().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ConnectionError) {
    const advice = "Check the URL, that the service runs, and that nothing between blocks the connection.";
    return [{ check: "service", result: "fault", text: error.message, advice }];
  }
  if (error !== undefined && !(error instanceof ApiError)) throw error;
  const service: Finding = { check: "service", result: "ok", text: "it answers" };
  return [service, ...(clockFinding ? [clockFinding] : []), judgeSignature(error)];
}

/** @param date the answer's Date header, in whole seconds */
function judgeClock(date: string | null, sentAtMs: number, receivedAtMs: number): Finding | undefined {
  const serverMs = Date.parse(date ?? "");
  if (Number.isNaN(serverMs)) return undefined;
  // The header is cut to the second, and was written between sending and receiving.
  const aheadMs = Math.max(0, sentAtMs - (serverMs + 999)) - Math.max(0, serverMs - receivedAtMs);
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  if (seconds === 0) return { check: "clock", result: "ok", text: "it agrees with the service's" };
  const text = `this machine's clock is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} the service's`;
  if (seconds < skewSecondsMax) return { check: "clock", result: "ok", text };
  return { check: "clock", result: "warning", text, advice: setClock };
}

const adviceByCode: Partial<Record<string, string>> = {
  authorization_hmac_invalid: "Check that key and secret belong together, and that the key has not been revoked.",
  authorization_ip_not_allowed: "Call from an allowed address, or ask the operator to allow yours.",
  authorization_timestamp_invalid: setClock,
};

function judgeSignature(error: ApiError | undefined): Finding {
  const accepted: Finding = { check: "signature", result: "ok", text: "the service accepts key and secret" };
  if (!error) return accepted;
  const text = `${error.errorText} (${error.errorCode})`;
  // The service looks at scopes only after the signature.
  if (error.errorCode === "authorization_scope_missing") return accepted;
  if (error.status === 429) return { check: "signature", result: "warning", text, advice: "Try again later." };
  const advice =
    adviceByCode[error.errorCode] ?? (error.status >= 500 ? "Try again; if it persists, ask the operator." : undefined);
  return { check: "signature", result: "fault", text, ...(advice !== undefined && { advice }) };
}
