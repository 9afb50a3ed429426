import type { Command } from "commander";
import { blockName, listBlockedNames, unblockName } from "#domains/block-list.ts";
import { limitOption } from "#operator/arguments.ts";
import { asTable, commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import { OperatorError } from "#operator-error.ts";

/** Commands for names that may not be registered. */
export function addNameCommands(program: Command): void {
  const block = commandGroup(program, "block", "names that cannot be registered through the API");
  operatorCommand(block, "add <name>", "block a name, or a label under every suffix")
    .option("--reason <text>", "the reason, for the record", "blocked by the operator")
    .addHelpText("after", "\nExamples:\n  deedhouse block add bank.example\n  deedhouse block add bank")
    .action(
      onDatabase(async (context, text: string, { reason }: { reason: string }) => {
        return { name: await blockName(context, text, reason), status: "blocked" };
      }),
    );
  operatorCommand(block, "remove <name>", "unblock a name")
    .addHelpText("after", "\nExample:\n  deedhouse block remove bank.example")
    .action(
      onDatabase(async (context, text: string) => {
        if (!(await unblockName(context, text))) throw new OperatorError("not-found", `${text} is not blocked`);
        return { name: text, status: "not blocked" };
      }),
    );
  operatorCommand(block, "list", "list the blocked names")
    .addOption(limitOption(1_000))
    .addHelpText("after", "\nExample:\n  deedhouse block list")
    .action(
      onDatabase(
        (context, { limit }: { limit: number }) => listBlockedNames(context, limit),
        asTable("name", "reason", "created_at"),
      ),
    );
}
