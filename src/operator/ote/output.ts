/** The output of `deedhouse ote`, on the terminal and in its folder. */
import { appendFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OteOptions } from "#operator/ote/options.ts";
import type { WalkPlan } from "#ote/plan.ts";
import type { StepResult, WalkReport } from "#ote/report.ts";
import { frameFileNames, stepMarkdown, stepText, summaryText } from "#ote/transcript.ts";
import { CommandFailure, exitCodes } from "../../../client/cli/failures.ts";
import { print, printJson } from "../../../client/cli/output.ts";

export interface OteOutput {
  step(result: StepResult): void;
  end(report: WalkReport): void;
}

/** Frames reveal our customers and, with --secrets, passwords: only their owner may read them. */
const folderMode = 0o700;
const fileMode = 0o600;

/** @throws CommandFailure when the folder cannot be used */
export function createOteOutput({ profile, clock }: WalkPlan, { out, json }: OteOptions): OteOutput {
  if (out !== undefined) openFolder(out);
  const transcript = out === undefined ? undefined : join(out, "transcript.md");
  const write = (text: string) => transcript && appendFileSync(transcript, text, { mode: fileMode });
  const where = `at ${profile.host}:${profile.port} as ${profile.registrarId}`;
  write(`# Certification test of ${profile.id}\n\n${clock.now().toISOString()}, ${where}\n\n`);
  return {
    step(result) {
      if (!json) print(stepText(result));
      write(stepMarkdown(result));
      if (out !== undefined) writeFrames(out, result);
    },
    end(report) {
      if (json) printJson(report);
      else print(summaryText(report).trimEnd());
      write(`## Summary\n\n\`\`\`text\n${summaryText(report)}\`\`\`\n`);
    },
  };
}

function openFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: folderMode });
    if (readdirSync(folder).length === 0) return;
  } catch (error) {
    throw new CommandFailure(`${folder} cannot be written: ${(error as Error).message}`, exitCodes.usage);
  }
  throw new CommandFailure(
    `${folder} is not empty`,
    exitCodes.usage,
    "Name a new folder, so that it does not mix the frames of two tests.",
  );
}

function writeFrames(folder: string, result: StepResult): void {
  for (const [index, name] of frameFileNames(result).entries()) {
    writeFileSync(join(folder, name), result.frames[index]!.xml, { mode: fileMode });
  }
}
