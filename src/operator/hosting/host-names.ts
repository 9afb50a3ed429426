import type { Command } from "commander";
import { reportHostNames } from "#hosting/host-names/read.ts";
import { asTable, commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import { OperatorError } from "#operator-error.ts";

export function addHostNameCommands(program: Command): void {
  operatorCommand(
    commandGroup(program, "hosting", "hosting accounts of all resellers"),
    "hosts <identifier>",
    "list the host names of an account: those of its site, and those that wait for proof",
  )
    .addHelpText("after", "\nExample:\n  deedhouse operator hosting hosts hello.example")
    .action(
      onDatabase(
        async (context, identifier: string) => {
          const hosts = await reportHostNames(context, identifier);
          if (!hosts) throw new OperatorError("not-found", `there is no hosting account ${identifier}`);
          return hosts;
        },
        asTable("host_name", "status", "proven_by", "record", "value", "checked_at", "next_check_at", "reason"),
      ),
    );
}
