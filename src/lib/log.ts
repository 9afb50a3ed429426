import { pino } from "pino";

export type Log = pino.Logger;

/** Fields that could carry a credential: whatever is logged under these names prints as [secret]. */
const secretFields = ["password", "secret", "authorization", "authInfo", "signature", "api_secret"];

/**
 * A logger that writes JSON lines to standard error (synchronously, so that the last line before a crash is not lost).
 * @param name the process's role, e.g. "api"
 */
export function createLog(name: string, level: string): Log {
  return pino(
    {
      name,
      level,
      base: { role: name },
      redact: { paths: secretFields.flatMap((field) => [field, `*.${field}`]), censor: "[secret]" },
    },
    pino.destination({ dest: 2, sync: true }),
  );
}
