/** The operator's commands. They work on the database, not through the API. */
import type { Command } from "commander";
import { addAccountCommands } from "#operator/accounts.ts";
import { addMigrateCommand } from "#operator/migrate.ts";
import { addNameCommands } from "#operator/names.ts";
import { addPackCommands } from "#operator/packs.ts";

export function addOperatorCommands(program: Command): void {
  addAccountCommands(program);
  addPackCommands(program);
  addNameCommands(program);
  addMigrateCommand(program);
}
