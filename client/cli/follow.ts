import type { Command } from "commander";
import { WaitTimeoutError } from "../sdk/errors.ts";
import type { Answer } from "../sdk/types.ts";
import { parseDurationMs } from "./arguments.ts";

export interface FollowOptions {
  wait?: boolean;
  /** Milliseconds. */
  timeout: number;
}

/** Gives a command `--wait` and `--timeout`. */
export function addFollowOptions(command: Command): Command {
  return command
    .option("--wait", "stay until it is done, showing progress")
    .addOption(
      command
        .createOption("--timeout <time>", "how long --wait stays: 90s, 10m, 2h")
        .argParser(parseDurationMs)
        .default(parseDurationMs("10m"), "10m"),
    );
}

/** A wait to run, and how to tell of it. */
export interface Wait<T> {
  run(onStatus: (answer: Answer<T>) => void): Promise<Answer<T>>;
  describe(data: T): string;
  isSuccess(data: T): boolean;
  /** Shown before the first look, when that is some time off. */
  opening?: string | undefined;
}

/**
 * Runs a wait with its progress on stderr, so that stdout stays for the result. Resolves with the final state, or with
 * the last one seen when the time ran out: the caller judges which.
 */
export async function follow<T>(wait: Wait<T>): Promise<T> {
  const progress = await startProgress();
  let latest: T | undefined;
  let succeeded = false;
  try {
    if (wait.opening) progress.step(wait.opening);
    const answer = await wait.run(({ data, checkAfterSeconds }) => {
      latest = data;
      progress.step(wait.describe(data) + nextLook(checkAfterSeconds));
    });
    succeeded = wait.isSuccess(answer.data);
    return answer.data;
  } catch (error) {
    if (error instanceof WaitTimeoutError && latest !== undefined) return latest;
    throw error;
  } finally {
    progress.end(succeeded);
  }
}

/** The opening of a wait for something just accepted. */
export function acceptedLine(name: string, checkAfterSeconds: number | undefined): string {
  return `${name} accepted${nextLook(checkAfterSeconds)}`;
}

function nextLook(checkAfterSeconds: number | undefined): string {
  return checkAfterSeconds === undefined ? "" : `, next look in ${checkAfterSeconds} s`;
}

interface Progress {
  /** A new state of things; the ones before stay on the screen. */
  step(text: string): void;
  end(succeeded: boolean): void;
}

/**
 * A spinner on a terminal, plain lines elsewhere. A terminal of 0 columns (a bare pseudo-terminal) counts as elsewhere:
 * ora 9.4 divides by the width and then clears lines for ever.
 */
async function startProgress(): Promise<Progress> {
  if (!process.stderr.isTTY || !process.stderr.columns) {
    return { step: (text) => process.stderr.write(`${text}\n`), end: () => {} };
  }
  // Loaded only now: most commands show no progress, and it takes longer to load than the rest of the client.
  const { default: ora } = await import("ora");
  const spinner = ora({ discardStdin: false });
  return {
    step(text) {
      if (spinner.isSpinning) spinner.stopAndPersist({ symbol: "·" });
      spinner.start(text);
    },
    end(succeeded) {
      if (!spinner.isSpinning) return;
      if (succeeded) spinner.succeed();
      else spinner.fail();
    },
  };
}
