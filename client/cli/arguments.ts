import { InvalidArgumentError, Option } from "commander";

const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const durationMsMax = 7 * unitMs.d;

/** Converts `90s`, `10m`, `2h`, `1d` or plain seconds to milliseconds. Throws commander's `InvalidArgumentError`. */
export function parseDurationMs(text: string): number {
  const match = /^([0-9]{1,9})([smhd])?$/.exec(text);
  if (!match) throw new InvalidArgumentError("Give a time such as 90s, 10m or 2h.");
  const durationMs = Number(match[1]) * unitMs[(match[2] ?? "s") as keyof typeof unitMs];
  if (durationMs > durationMsMax) throw new InvalidArgumentError("The longest time is 7d.");
  return durationMs;
}

/** Converts digits to a number. Throws commander's `InvalidArgumentError`. */
export function parseWholeNumber(text: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) throw new InvalidArgumentError("Give a whole number.");
  return Number(text);
}

/** Checks a value for the `Idempotency-Key` header. Throws commander's `InvalidArgumentError`. */
export function parseIdempotencyKey(text: string): string {
  if (!/^[\x21-\x7e]{1,255}$/.test(text))
    throw new InvalidArgumentError("Give 1 to 255 ASCII characters without spaces.");
  return text;
}

/** `--status` of a list command: one of the statuses, in any case, as in the API. */
export function statusOption(description: string, statuses: readonly string[]): Option {
  const option = new Option("--status <status>", description).choices(statuses);
  return option.argParser((text) => {
    const status = statuses.find((name) => name.toLowerCase() === text.toLowerCase());
    if (status === undefined) throw new InvalidArgumentError(`Allowed choices are ${statuses.join(", ")}.`);
    return status;
  });
}
