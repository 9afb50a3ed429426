import type { Command } from "commander";
import { type ChannelTest, readChannelTests, requestChannelTests } from "#alarm-messages/try-channels.ts";
import { listAlarms, resolveAlarmById } from "#alarms.ts";
import { limitOption } from "#operator/arguments.ts";
import { asTable, commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import { addTimeoutOption, waitFor } from "#operator/wait-for.ts";
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
  addTestCommand(alarms);
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

function addTestCommand(alarms: Command): void {
  const command = operatorCommand(alarms, "test", "send a test by each channel that messages about alarms go by");
  addTimeoutOption(command, "for the answers of mail server and receivers")
    .addHelpText("after", "\nExits with 1 if one was not sent.\nExample:\n  deedhouse alarms test")
    .action(
      onDatabase(
        async (context, { timeout }: { timeout: number }) => {
          const ids = await requestChannelTests(context);
          if (ids.length === 0) {
            throw new OperatorError(
              "refused",
              "no process is set up to send messages about alarms: set DEEDHOUSE_ALARMS_MAIL_TO, DEEDHOUSE_ALARMS_WEBHOOK_FILE or DEEDHOUSE_ALARMS_SLACK_FILE for api and worker, and restart them",
            );
          }
          const over = async () => {
            const tests = await readChannelTests(context, ids);
            return tests.some(({ status }) => status === "Pending") ? undefined : tests;
          };
          const tests = (await waitFor(context, timeout, over)) ?? (await readChannelTests(context, ids));
          if (tests.some(({ status }) => status !== "Sent")) process.exitCode = exitCodes.unexpected;
          return tests.map(shownTest);
        },
        asTable("channel", "status", "reason"),
      ),
    );
}

const shownTest = ({ channel, status, error_text }: ChannelTest) => ({
  channel,
  status: { Sent: "sent", Failed: "failed", Pending: "waiting" }[status],
  reason: status === "Pending" ? "no api or worker with this channel has sent it yet" : error_text,
});
