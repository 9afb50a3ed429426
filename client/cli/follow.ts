import type { Command } from "commander";
import { WaitTimeoutError } from "../sdk/errors.ts";
import type { Answer } from "../sdk/types.ts";
import { parseDurationMs } from "./arguments.ts";
import { note, safeText } from "./output.ts";

export interface FollowOptions {
  wait?: boolean;
  /** Milliseconds. */
  timeout: number;
}

/** Adds `--wait` and `--timeout` to a command. */
export function addFollowOptions(command: Command): Command {
  return command
    .option("--wait", "wait for the end and show progress")
    .addOption(
      command
        .createOption("--timeout <time>", "the maximum wait with --wait: 90s, 10m, 2h")
        .argParser(parseDurationMs)
        .default(parseDurationMs("10m"), "10m"),
    );
}

/** A wait to run, and how to report it. */
export interface Wait<T> {
  run(onStatus: (answer: Answer<T>) => void): Promise<Answer<T>>;
  describe(data: T): string;
  isSuccess(data: T): boolean;
  /** Shown before the first request. */
  opening?: string | undefined;
}

/**
 * Runs a wait and reports progress on stderr, so that stdout stays free for the result. Resolves with the final state,
 * or with the last state seen when the time ran out; the caller decides which it is.
 */
export async function follow<T>(wait: Wait<T>): Promise<T> {
  const progress = await startProgress();
  let latest: T | undefined;
  let succeeded = false;
  try {
    if (wait.opening) progress.step(wait.opening);
    const answer = await wait.run(({ data, checkAfterSeconds, isWaitApplied }) => {
      latest = data;
      const isPolling = checkAfterSeconds !== undefined && !isWaitApplied;
      progress.step(wait.describe(data) + (isPolling ? `, next look in ${checkAfterSeconds} s` : ""));
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

export interface Progress {
  /** Reports a new state; earlier ones stay on the screen. */
  step(text: string): void;
  /** Reports how much of many is done: a bar that moves on a terminal, a line for each tenth elsewhere. */
  count(done: number, total: number, what: string): void;
  end(succeeded: boolean): void;
}

/**
 * A spinner on a terminal, plain lines elsewhere. A terminal with 0 columns (a bare pseudo-terminal) does not count as
 * one: ora 9.4 divides by the width and then clears lines for ever.
 */
export async function startProgress(): Promise<Progress> {
  if (!process.stderr.isTTY || !process.stderr.columns) {
    return plainProgress();
  }
  // Loaded here: most commands show no progress, and it takes longer to load than the rest of the client.
  const { default: ora } = await import("ora");
  const spinner = ora({ discardStdin: false });
  return {
    step(text) {
      if (spinner.isSpinning) spinner.stopAndPersist({ symbol: "·" });
      spinner.start(safeText(text));
    },
    count(done, total, what) {
      const text = `${bar(done / total)} ${done} of ${total} ${what}`;
      if (spinner.isSpinning) spinner.text = text;
      else spinner.start(text);
    },
    end(succeeded) {
      if (!spinner.isSpinning) return;
      if (succeeded) spinner.succeed();
      else spinner.fail();
    },
  };
}

function plainProgress(): Progress {
  let reported = "";
  return {
    step: note,
    count(done, total, what) {
      const tenth = `${Math.floor((done / total) * 10)} ${what}`;
      if (tenth !== reported) note(`${done} of ${total} ${what}`);
      reported = tenth;
    },
    end: () => {},
  };
}

const barWidth = 24;

function bar(share: number): string {
  const filled = Math.floor(share * barWidth);
  return "█".repeat(filled) + "░".repeat(barWidth - filled);
}
