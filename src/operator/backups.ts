import type { Command } from "commander";
import { statement } from "#db/statement.ts";
import { commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import type { OpenOperatorContext } from "#operator/context.ts";

const record = statement(
  "backups-record",
  "INSERT INTO backups (finished_at) VALUES ($finished_at) ON CONFLICT DO NOTHING",
  {},
);

/** @returns when it has finished: now */
async function recordBackup({ database, clock }: OpenOperatorContext): Promise<{ finished_at: Date }> {
  const finished_at = clock.now();
  await database.query(record, { finished_at });
  return { finished_at };
}

export function addBackupCommands(program: Command): void {
  const backups = commandGroup(program, "backups", "what is known of the database's backups");
  operatorCommand(backups, "record", "say that a backup has succeeded just now")
    .addHelpText(
      "after",
      "\nRun it after the program that makes the backup, if that has succeeded. The metric deedhouse_backup_last_success_seconds" +
        "\ncounts from then on, so that an alert tells when backups fail.\n\nExample:\n  deedhouse backups record",
    )
    .action(onDatabase(recordBackup));
}
