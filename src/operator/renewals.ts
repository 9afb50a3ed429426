import type { Command } from "commander";
import { reportRenewal, reportRenewals, runRenewal } from "#domains/schedule/report.ts";
import { settleRenewal } from "#domains/schedule/settle.ts";
import { type RenewalStatus, renewalStatuses } from "#domains/schedule/states.ts";
import { switchRenewal } from "#domains/schedule/switch.ts";
import { parseDomainName } from "#lib/domain-name.ts";
import { limitOption, wholeNumber } from "#operator/arguments.ts";
import { asTable, commandGroup, onDatabase, operatorCommand, type Printable } from "#operator/command.ts";
import { OperatorError } from "#operator-error.ts";
import { getReseller } from "#resellers/create.ts";
import { statusOption } from "../../client/cli/arguments.ts";
import { CommandFailure, exitCodes } from "../../client/cli/failures.ts";
import { print, printFields, printTable } from "../../client/cli/output.ts";

const daysMax = 3_650;

export function addRenewalCommands(program: Command): void {
  const renewals = commandGroup(program, "renewals", "names whose terms end soon");
  addListCommand(renewals);
  operatorCommand(renewals, "show <name>", "show everything about a name's renewal, and what happens next")
    .addHelpText("after", "\nExample:\n  deedhouse renewals show hello.example")
    .action(onDatabase((context, name: string) => reportRenewal(context, parseDomainName(name)), printRenewal));
  operatorCommand(renewals, "run <name>", "take a renewal's next step now, before it is due")
    .addHelpText("after", "\nExample:\n  deedhouse renewals run hello.example")
    .action(
      onDatabase(async (context, text: string) => {
        const name = parseDomainName(text);
        await runRenewal(context, name);
        return { domain_name: name, next_step: "now" };
      }),
    );
  addSwitchCommand(renewals);
  addSettleCommand(renewals);
}

interface ListOptions {
  status?: RenewalStatus;
  reseller?: string;
  days?: number;
  limit: number;
}

function addListCommand(renewals: Command): void {
  operatorCommand(renewals, "list", "list open renewals, by the end of the term")
    .addOption(statusOption("renewals in this status, ended or not", renewalStatuses))
    .option("--reseller <account>", "only this account's")
    .option("--days <n>", "only renewals whose terms end within this many days", wholeNumber(0, daysMax))
    .addOption(limitOption())
    .addHelpText(
      "after",
      "\nExamples:\n  deedhouse renewals list --days 7\n  deedhouse renewals list --status Attention --reseller acme",
    )
    .action(
      onDatabase(
        async (context, { status, reseller, days, limit }: ListOptions) => {
          const resellerId = reseller === undefined ? undefined : await getReseller(context, reseller);
          return reportRenewals(context, { status, resellerId, days, limit });
        },
        asTable(
          "domain_name",
          "reseller",
          "term_ends_at",
          "will_renew",
          "status",
          "order_code",
          "alarm_since",
          "reason",
        ),
      ),
    );
}

function printRenewal({ history, attempts, ...renewal }: Printable<Awaited<ReturnType<typeof reportRenewal>>>): void {
  printFields(renewal);
  if (history.length > 0) print("");
  printTable(history, ["at", "event", "status", "phase", "note"]);
  if (attempts.length > 0) print("");
  printTable(attempts, ["cl_trid", "command", "committed_at", "answered_at", "result_code", "sv_trid"]);
}

function addSwitchCommand(renewals: Command): void {
  operatorCommand(renewals, "switch <name>", "switch a name's renewal on or off for its reseller")
    .option("--on", "renew the name")
    .option("--off", "let the name expire; a name that the registry no longer holds leaves the portfolio")
    .addHelpText("after", "\nExample:\n  deedhouse renewals switch gone.example --off")
    .action(
      onDatabase(async (context, text: string, { on = false, off = false }: { on?: boolean; off?: boolean }) => {
        if (on === off) throw new CommandFailure("give either --on or --off", exitCodes.usage);
        const name = parseDomainName(text);
        const change = { name, willRenew: on, note: "by the operator" };
        const result = await context.database.transaction((tx) => switchRenewal(context, tx, change));
        if (result === "unknown") throw new OperatorError("not-found", `no portfolio has ${name}`);
        if (result === "under-way") {
          throw new OperatorError(
            "refused",
            "the registry is already carrying out the previous instruction: see deedhouse renewals show",
          );
        }
        return { domain_name: name, will_renew: on };
      }),
    );
}

interface SettleOptions {
  renewed?: boolean;
  notRenewed?: boolean;
  note: string;
}

function addSettleCommand(renewals: Command): void {
  operatorCommand(renewals, "settle <name>", "say whether a renew was executed whose result the registry cannot show")
    .option("--renewed", "it was: the name is in its next term")
    .option("--not-renewed", "it was not: another renew is sent")
    .requiredOption("--note <text>", "how you know, for the renewal's history")
    .addHelpText(
      "after",
      "\nAsk the registry first: after --not-renewed a second renew is sent, and paid.\n\nExample:\n  deedhouse renewals settle hello.example --renewed --note 'on the invoice of May'",
    )
    .action(
      onDatabase(async (context, text: string, { renewed = false, notRenewed = false, note }: SettleOptions) => {
        if (renewed === notRenewed) throw new CommandFailure("give either --renewed or --not-renewed", exitCodes.usage);
        const name = parseDomainName(text);
        await settleRenewal(context, name, { isRenewed: renewed, note });
        return { domain_name: name, renewed };
      }),
    );
}
