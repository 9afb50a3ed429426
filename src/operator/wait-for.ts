/** Lets commands wait until their request has taken effect. */
import type { Command } from "commander";
import { sleep } from "#lib/clock.ts";
import { wholeNumber } from "#operator/arguments.ts";
import type { OpenOperatorContext } from "#operator/context.ts";

const timeoutSecondsMax = 86_400;
const timeoutSecondsDefault = 60;
/** How often a command checks. */
const lookMs = 200;

export function addTimeoutOption(command: Command, what: string): Command {
  return command.option(
    "--timeout <seconds>",
    `wait at most this long ${what}`,
    wholeNumber(1, timeoutSecondsMax),
    timeoutSecondsDefault,
  );
}

/** Checks until there is a result; `undefined` when the time is over. */
export async function waitFor<Result>(
  { clock }: OpenOperatorContext,
  timeoutSeconds: number,
  look: () => Promise<Result | undefined>,
): Promise<Result | undefined> {
  const endMs = clock.monotonicMs() + timeoutSeconds * 1_000;
  for (;;) {
    const result = await look();
    if (result !== undefined || clock.monotonicMs() > endMs) return result;
    await sleep(lookMs);
  }
}
