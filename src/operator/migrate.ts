import type { Command } from "commander";
import { asFailure, type OperatorOptions, operatorCommand } from "#operator/command.ts";
import { CommandFailure, exitCodes, guarded } from "../../client/cli/failures.ts";
import { printFields, printJson } from "../../client/cli/output.ts";

export function addMigrateCommand(program: Command): void {
  operatorCommand(
    program,
    "migrate",
    "migrate the database to this version's schema; deedhouse start does this automatically",
  )
    .addHelpText("after", "\nExample:\n  DATABASE_URL=postgres://… deedhouse migrate")
    .action(
      guarded(async ({ data, json }: OperatorOptions) => {
        const [{ findDatabase }, { migrate }] = await Promise.all([
          import("#operator/context.ts"),
          import("#db/migrate.ts"),
        ]);
        const applied = await migrate(findDatabase(data)).catch((error: Error) => {
          const failure = asFailure(error);
          throw failure === error ? new CommandFailure(error.message, exitCodes.refused) : failure;
        });
        if (json) return printJson(applied);
        const { migrations, functions } = applied;
        const isCurrent = migrations.length + functions.length === 0;
        printFields({
          applied: isCurrent ? "nothing, the schema is up to date" : migrations.join(", ") || "no migration",
          ...(functions.length > 0 && { functions: functions.length }),
        });
      }),
    );
}
