import type { Command } from "commander";
import { listTransfers } from "#domains/compare/report.ts";
import { limitOption } from "#operator/arguments.ts";
import { asTable, commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";

export function addTransferCommands(program: Command): void {
  const transfers = commandGroup(program, "transfers", "transfers of names to other registrars");
  operatorCommand(transfers, "list", "list the transfers that other registrars have asked for, by their decision")
    .option("--ended", "names that have left by a transfer instead, newest first")
    .addOption(limitOption())
    .addHelpText("after", "\nExample:\n  deedhouse transfers list")
    .action(
      onDatabase(
        (context, { ended = false, limit }: { ended?: boolean; limit: number }) =>
          listTransfers(context, { ended, limit }),
        asTable("domain_name", "reseller", "status", "gaining_registrar", "requested_at", "answer_by", "left_at"),
      ),
    );
}
