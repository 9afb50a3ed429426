import type { Command } from "commander";
import type { Migrated } from "#db/migrate.ts";
import { asFailure, type OperatorOptions, operatorCommand } from "#operator/command.ts";
import { CommandFailure, exitCodes, guarded } from "../../client/cli/failures.ts";
import { note, printFields, printJson } from "../../client/cli/output.ts";

export function addMigrateCommand(program: Command): void {
  operatorCommand(
    program,
    "migrate",
    "migrate the database to this version's schema; deedhouse start does this automatically",
  )
    .option("--contract", "also remove what only older releases use; refused while one of them runs")
    .addHelpText(
      "after",
      "\nExamples:\n  DATABASE_URL=postgres://… deedhouse migrate\n  DATABASE_URL=postgres://… deedhouse migrate --contract",
    )
    .action(
      guarded(async ({ data, json, contract = false }: OperatorOptions & { contract?: boolean }) => {
        const [{ findDatabase }, { migrate }] = await Promise.all([
          import("#operator/context.ts"),
          import("#db/migrate.ts"),
        ]);
        const applied = await migrate(findDatabase(data), { contract, say: note }).catch((error: Error) => {
          const failure = asFailure(error);
          throw failure === error ? new CommandFailure(error.message, exitCodes.refused) : failure;
        });
        if (json) printJson(applied);
        else printFields(inWords(applied));
      }),
    );
}

function inWords({ migrations, functions, contracts, newer }: Migrated): Record<string, string | number> {
  const isCurrent = migrations.length + functions.length === 0;
  const nothing = newer.length > 0 ? "nothing, a newer release has migrated" : "nothing, the schema is up to date";
  return {
    applied: isCurrent ? nothing : migrations.join(", ") || "no migration",
    ...(functions.length > 0 && { functions: functions.length }),
    ...(newer.length > 0 && { newer: newer.join(", ") }),
    ...(contracts.length > 0 && { "left for --contract": contracts.join(", ") }),
  };
}
