import { type Command, Option } from "commander";
import { changePack } from "#hosting/accounts/change-pack.ts";
import { requestRemoval } from "#hosting/accounts/delete.ts";
import { lockAccount, notChangeable, parseIdentifier } from "#hosting/accounts/find-account.ts";
import { changePassword } from "#hosting/accounts/password.ts";
import { findProgress, reportAccount, reportAccounts } from "#hosting/accounts/report.ts";
import { type HostingStatus, hostingStatuses } from "#hosting/accounts/states.ts";
import { resumeAccount, suspendAccount } from "#hosting/accounts/suspend.ts";
import { checkFtpPassword, loadCommonPasswords } from "#lib/ftp-password.ts";
import { bcryptCost, createPasswordQueue } from "#lib/queues/password-queue.ts";
import { limitOption, printableText } from "#operator/arguments.ts";
import { asTable, commandGroup, onDatabase, operatorCommand, type Printable } from "#operator/command.ts";
import type { OpenOperatorContext } from "#operator/context.ts";
import { addTimeoutOption, waitFor } from "#operator/wait-for.ts";
import { getReseller } from "#resellers/create.ts";
import { statusOption } from "../../../client/cli/arguments.ts";
import { confirm } from "../../../client/cli/confirm.ts";
import { CommandFailure, exitCodes } from "../../../client/cli/failures.ts";
import { print, printFields, printTable } from "../../../client/cli/output.ts";
import { obtainPassword, type PasswordOptions } from "../../../client/cli/password.ts";

/** These share the group with the reseller's commands, and use other names. */
export function addHostingCommands(program: Command): void {
  const hosting = commandGroup(program, "hosting", "hosting accounts of all resellers");
  addListCommand(hosting);
  operatorCommand(hosting, "show <identifier>", "show everything about an account, and what happens next")
    .addHelpText("after", "\nExample:\n  deedhouse operator hosting show hello.example")
    .action(onDatabase((context, identifier: string) => reportAccount(context, identifier), printAccount));
  addSuspendCommands(hosting);
  addPasswordCommand(hosting);
  addPackCommand(hosting);
  addRemoveCommand(hosting);
}

interface ListOptions {
  status?: HostingStatus;
  reseller?: string;
  node?: string;
  pending?: boolean;
  limit: number;
}

function addListCommand(hosting: Command): void {
  operatorCommand(hosting, "accounts", "list all resellers' accounts, newest first")
    .addOption(statusOption("only accounts in this status", hostingStatuses))
    .option("--reseller <account>", "only this reseller's")
    .option("--node <id>", "only accounts on this node")
    .option("--pending", "only accounts with a pending change")
    .addOption(limitOption())
    .addHelpText(
      "after",
      "\nExamples:\n  deedhouse operator hosting accounts --pending\n  deedhouse operator hosting accounts --node web-1 --status Suspended",
    )
    .action(
      onDatabase(
        async (context, { status, reseller, node, pending = false, limit }: ListOptions) => {
          const resellerId = reseller === undefined ? undefined : await getReseller(context, reseller);
          return reportAccounts(context, { status, resellerId, nodeId: node, isPending: pending, limit });
        },
        asTable(
          "identifier",
          "reseller",
          "servicepack_id",
          "status",
          "node",
          "changes_pending",
          "disk_used_bytes",
          "disk_quota_bytes",
          "alarm_since",
        ),
      ),
    );
}

function printAccount({ history, ...account }: Printable<Awaited<ReturnType<typeof reportAccount>>>): void {
  printFields(account);
  print("");
  printTable(history, ["at", "event", "status", "count", "last_at", "note"]);
}

interface WaitOptions {
  wait?: boolean;
  timeout: number;
}

/** A command that changes an account, and can wait until the change is in effect. */
function changeCommand(hosting: Command, usage: string, description: string, example: string): Command {
  const command = operatorCommand(hosting, usage, description)
    .option("--wait", "wait until it is in effect")
    .addHelpText("after", `\nExample:\n  deedhouse operator hosting ${example}`);
  return addTimeoutOption(command, "with --wait");
}

async function reportChange(
  context: OpenOperatorContext,
  { id, identifier }: { id: number; identifier: string },
  { wait = false, timeout }: WaitOptions,
) {
  const look = async () => {
    const { status, changes_pending, reseller_suspended_at: since } = await findProgress(context, id);
    return { identifier, status, changes_pending, ...(since && { suspended_by_its_reseller_since: since }) };
  };
  if (!wait) return look();
  const settled = await waitFor(context, timeout, async () => {
    const seen = await look();
    return seen.changes_pending ? undefined : seen;
  });
  if (settled) return settled;
  const advice = `Nothing is lost. To see what it waits for: deedhouse operator hosting show ${identifier}`;
  throw new CommandFailure(`the change of ${identifier} is not in effect yet`, exitCodes.stillGoing, advice);
}

interface SuspendOptions extends WaitOptions {
  reason: string;
}

function addSuspendCommands(hosting: Command): void {
  changeCommand(
    hosting,
    "suspend <identifier>",
    "suspend an account: FTP is closed, open sessions end, the site answers 503",
    "suspend hello.example --reason 'sends phishing, ticket 4711' --wait",
  )
    .requiredOption("--reason <text>", "the reason, for operators; the reseller does not see it", printableText)
    .action(
      onDatabase(async (context, identifier: string, options: SuspendOptions) =>
        reportChange(context, await suspendAccount(context, identifier, options.reason), options),
      ),
    );
  changeCommand(
    hosting,
    "resume <identifier>",
    "lift your suspension; the reseller's own one stays",
    "resume hello.example --wait",
  ).action(
    onDatabase(async (context, identifier: string, options: WaitOptions) =>
      reportChange(context, await resumeAccount(context, identifier), options),
    ),
  );
}

function addPasswordCommand(hosting: Command): void {
  changeCommand(
    hosting,
    "set-password <identifier>",
    "change an account's FTP password; open sessions end",
    "set-password hello.example --generate-password",
  )
    .option("--password-file <file>", "read the password from a file")
    .addOption(new Option("--password-stdin", "read the password from standard input").conflicts("passwordFile"))
    .addOption(
      new Option("--generate-password", "generate a password and show it once, on stderr").conflicts([
        "passwordFile",
        "passwordStdin",
      ]),
    )
    .action(
      onDatabase(async (context, text: string, options: PasswordOptions & WaitOptions) => {
        const identifier = parseIdentifier(text);
        const password = await obtainPassword(options, identifier);
        const verdict = checkFtpPassword(password, identifier, await loadCommonPasswords());
        if (!verdict.ok) throw new CommandFailure(`the password ${verdict.reason}`, exitCodes.usage);
        const queue = createPasswordQueue({ waitingMax: 1, cost: bcryptCost, random: context.random });
        const hash = await queue.hash("operator", verdict.password);
        const account = await context.database.transaction(async (tx) => {
          const locked = await lockAccount(tx, identifier);
          const isAccepted = await changePassword(context, tx, locked, hash, "by the operator");
          if (!isAccepted) throw notChangeable(locked);
          return locked;
        });
        return reportChange(context, account, options);
      }),
    );
}

function addPackCommand(hosting: Command): void {
  changeCommand(
    hosting,
    "pack <identifier> <pack>",
    "change an account's service pack, or give it the newest version of its pack",
    "pack hello.example 14491 --wait",
  ).action(
    onDatabase(async (context, identifier: string, packId: string, options: WaitOptions) => {
      const account = await changePack(context, identifier, parsePackId(packId));
      return { ...(await reportChange(context, account, options)), servicepack: account.pack.name };
    }),
  );
}

function parsePackId(text: string): number {
  if (/^[1-9][0-9]{0,14}$/.test(text)) return Number(text);
  throw new CommandFailure(
    "a service pack is given by its number: see deedhouse operator packs versions",
    exitCodes.usage,
  );
}

interface RemoveOptions extends WaitOptions {
  yes?: boolean;
}

function addRemoveCommand(hosting: Command): void {
  changeCommand(
    hosting,
    "remove <identifier>",
    "delete an account; its node keeps the files in a trash folder for 30 days",
    "remove hello.example --yes --wait",
  )
    .option("--yes", "do not ask for confirmation")
    .action(
      onDatabase(async (context, text: string, options: RemoveOptions) => {
        const identifier = parseIdentifier(text);
        if (!options.yes) await confirm(`Delete ${identifier} with its site and its files?`);
        const account = await context.database.transaction(async (tx) => {
          const locked = await lockAccount(tx, identifier);
          await requestRemoval(context, tx, locked.id, "by the operator");
          return locked;
        });
        return reportChange(context, account, options);
      }),
    );
}
