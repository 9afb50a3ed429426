/** The operator's commands. They work on the database, not through the API. */
import type { Command } from "commander";
import { addAccountCommands } from "#operator/accounts.ts";
import { addNameCommands } from "#operator/names.ts";
import { addPackCommands } from "#operator/packs.ts";

export function addOperatorCommands(program: Command): void {
  addAccountCommands(program);
  addPackCommands(program);
  addNameCommands(program);
}

/** The group of a name, made if the reseller's commands have not made it yet. */
export function commandGroup(program: Command, name: string, description: string): Command {
  return program.commands.find((command) => command.name() === name) ?? program.command(name).description(description);
}

/** Options that every operator's command has. */
export interface OperatorOptions {
  data: string;
  json?: boolean;
}

export function operatorCommand(group: Command, usage: string, description: string): Command {
  return group
    .command(usage)
    .description(`${description} (operator)`)
    .option("--data <dir>", "the folder that deedhouse start was given", "data")
    .option("--json", "print JSON");
}

/** Prints a result: JSON for scripts, one field a line for people. */
export function print(options: OperatorOptions, fields: Record<string, string | number>): void {
  const text = options.json
    ? JSON.stringify(fields)
    : Object.entries(fields)
        .map(([name, value]) => `${name.padEnd(12)}${value}`)
        .join("\n");
  process.stdout.write(`${text}\n`);
}
