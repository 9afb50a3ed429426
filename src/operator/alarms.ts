import type { Command } from "commander";
import { listAlarms, resolveAlarmById } from "#alarms.ts";
import { limitOption } from "#operator/arguments.ts";
import { asTable, commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import { OperatorError } from "#operator-error.ts";
import { lookAround } from "#watch/look-around.ts";
import { exitCodes } from "../../client/cli/failures.ts";

interface ListOptions {
  all?: boolean;
  check?: boolean;
  limit: number;
}

export function addAlarmCommands(program: Command): void {
  const alarms = commandGroup(program, "alarms", "what needs an operator");
  operatorCommand(alarms, "list", "list the open alarms, newest first")
    .option("--all", "include resolved alarms")
    .option("--check", "exit with 1 if any alarm is open, for cron and monitoring")
    .addOption(limitOption(100))
    .addHelpText("after", "\nExamples:\n  deedhouse alarms list\n  deedhouse alarms list --check --json")
    .action(
      onDatabase(
        async (context, { all = false, check = false, limit }: ListOptions) => {
          // Without a worker, the last check may be old.
          await lookAround(context);
          const listed = await listAlarms(context, { all, limit });
          if (check && listed.some(({ resolved_at }) => resolved_at === null)) process.exitCode = exitCodes.unexpected;
          return listed;
        },
        asTable("id", "kind", "subject", "since", "last_at", "count", "note", "resolved_at"),
      ),
    );
  operatorCommand(alarms, "resolve <id>", "resolve an alarm; a cause that persists raises it again")
    .addHelpText("after", "\nExample:\n  deedhouse alarms resolve 17")
    .action(
      onDatabase(async (context, id: string) => {
        if (!/^[0-9]{1,15}$/.test(id) || !(await resolveAlarmById(context, Number(id)))) {
          throw new OperatorError("not-found", `no alarm ${id} is open: deedhouse alarms list lists the open alarms`);
        }
        return { id, status: "resolved" };
      }),
    );
}
