/** The commands of the documentation: those in blocks of `sh`, `bash` and `console` on pages of docs/ and in README.md. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { repository } from "../harness/running-system.ts";

export interface ShellBlock {
  page: string;
  /** The first line of the block in its page, from 1. */
  line: number;
  /** As they stand there, without comments and continued lines; one can have several lines inside of quotes. */
  commands: string[];
}

/** A block with a title is a whole program, as on docs/start.md; test/foreign/quick-start.test.ts runs them. */
const fence = /^( *)```(sh|bash|console)\n(.*?)^\1```$/gms;

export function pagesWithCommands(): string[] {
  const names = readdirSync(join(repository, "docs")).filter((name) => name.endsWith(".md"));
  return ["README.md", ...names.toSorted().map((name) => `docs/${name}`)].map((page) => join(repository, page));
}

export function shellBlocks(): ShellBlock[] {
  return pagesWithCommands().flatMap((path) => {
    const text = readFileSync(path, "utf8");
    return [...text.matchAll(fence)].map(({ index, 1: indent = "", 2: language, 3: code = "" }) => {
      const lines = code.split("\n").map((line) => line.slice(indent.length));
      const line = text.slice(0, index).split("\n").length + 1;
      const page = relative(repository, path);
      return { page, line, commands: commandsOf(language === "console" ? promptedOf(lines) : lines) };
    });
  });
}

/** What follows a prompt, and what continues it after a backslash; the other lines are output. */
function promptedOf(lines: readonly string[]): string[] {
  const prompted: string[] = [];
  for (const line of lines) {
    if (line.startsWith("$ ")) prompted.push(line.slice(2));
    else if (prompted.at(-1)?.endsWith("\\")) prompted.push(line);
  }
  return prompted;
}

/** A command goes on after a backslash and inside of quotes. */
function commandsOf(lines: readonly string[]): string[] {
  const commands: string[] = [];
  let begun: string[] = [];
  for (const line of lines) {
    begun.push(line.replace(/(^|\s+)#(?= ).*/, ""));
    const command = begun.join("\n").trim();
    const isOpen = command.endsWith("\\") || (command.match(/'/g) ?? []).length % 2 === 1;
    if (isOpen) continue;
    // The shell reads what follows a backslash as the same line, and so do the tables of commands.
    if (command) commands.push(command.replace(/ *\\\n */g, " "));
    begun = [];
  }
  return commands;
}
