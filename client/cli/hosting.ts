import { type Command, Option } from "commander";
import type { Client } from "../sdk/client.ts";
import type { Clock } from "../sdk/clock.ts";
import { newIdempotencyKey } from "../sdk/sign.ts";
import type { Answer, HostingAccount } from "../sdk/types.ts";
import { parseIdempotencyKey } from "./arguments.ts";
import { confirm } from "./confirm.ts";
import { CommandFailure, exitCodes, guarded, orderOnce } from "./failures.ts";
import { addFollowOptions, type FollowOptions, follow } from "./follow.ts";
import { addHostNameCommands } from "./host-names.ts";
import { addListOptions, type ListOptions, printList } from "./listing.ts";
import { print, printFields, printJson, printTable } from "./output.ts";
import { obtainPassword, type PasswordOptions } from "./password.ts";
import { addConnectionOptions, type ConnectionOptions, openClient } from "./settings.ts";
import { addSuspensionCommand } from "./suspension.ts";

const columns = ["identifier", "servicepack_id", "status", "created_at"];

interface CreateAccountOptions extends ConnectionOptions, FollowOptions, PasswordOptions {
  pack: string;
  idempotencyKey?: string;
  json?: boolean;
}

export function addHostingCommands(program: Command, clock: Clock): void {
  const hosting = program.command("hosting").description("your hosting accounts");

  const list = hosting
    .command("list")
    .description("list your hosting accounts")
    .addHelpText("after", "\nExamples:\n  deedhouse hosting list\n  deedhouse hosting list --all --json");
  addConnectionOptions(addListOptions(list)).action(
    guarded(async (options: ConnectionOptions & ListOptions) => {
      const client = await openClient(options, clock);
      await printList(options, columns, client.listHostingAccounts, client.allHostingAccounts);
    }),
  );

  const get = hosting
    .command("get <identifier>")
    .description("show one of your hosting accounts")
    .option("--json", "print the API's JSON")
    .addHelpText("after", "\nExample:\n  deedhouse hosting get example.com");
  addConnectionOptions(get).action(
    guarded(async (identifier: string, options: ConnectionOptions & { json?: boolean }) => {
      const { data } = await (await openClient(options, clock)).getHostingAccount(identifier);
      if (options.json) printJson(data);
      else printFields(data);
    }),
  );

  addCreateCommand(hosting, clock);
  addHistoryCommand(hosting, clock);
  addPasswordCommand(hosting, clock);
  addSuspensionCommand(hosting, clock);
  addDeleteCommand(hosting, clock);
  addHostNameCommands(hosting, clock);
}

function addHistoryCommand(hosting: Command, clock: Clock): void {
  const history = hosting
    .command("history <identifier>")
    .description("show what happened to an account, and what happens next")
    .option("--json", "print the API's JSON")
    .addHelpText("after", "\nExample:\n  deedhouse hosting history example.com");
  addConnectionOptions(history).action(
    guarded(async (identifier: string, options: ConnectionOptions & { json?: boolean }) => {
      const { data } = await (await openClient(options, clock)).getHostingHistory(identifier);
      if (options.json) return printJson(data);
      const { history: events, ...standing } = data;
      printFields(standing);
      print("");
      printTable(events, ["at", "text", "count", "last_at"]);
    }),
  );
}

function addPasswordOptions(command: Command): Command {
  return command
    .option("--password-file <file>", "read the FTP password from a file")
    .addOption(new Option("--password-stdin", "read the password from standard input").conflicts("passwordFile"))
    .addOption(
      new Option("--generate-password", "generate a password and show it once, on stderr").conflicts([
        "passwordFile",
        "passwordStdin",
      ]),
    );
}

function addPasswordCommand(hosting: Command, clock: Clock): void {
  const set = hosting
    .command("password <identifier>")
    .description("change the FTP password; open FTP sessions end")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nWithout a password option, the command asks for a password.\n\nExample:\n  deedhouse hosting password example.com --generate-password",
    );
  addConnectionOptions(addPasswordOptions(set)).action(
    guarded(async (identifier: string, options: ConnectionOptions & PasswordOptions & { json?: boolean }) => {
      const client = await openClient(options, clock);
      await client.setHostingPassword(identifier, await obtainPassword(options, identifier));
      const done = { identifier, password: "set: it takes effect within seconds" };
      if (options.json) printJson(done);
      else printFields(done);
    }),
  );
}

function addDeleteCommand(hosting: Command, clock: Clock): void {
  const remove = hosting
    .command("delete <identifier>")
    .description("delete an account, with its site and its files")
    .option("--yes", "do not ask for confirmation")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  deedhouse hosting delete example.com --yes");
  addConnectionOptions(remove).action(
    guarded(async (identifier: string, options: ConnectionOptions & { yes?: boolean; json?: boolean }) => {
      const client = await openClient(options, clock);
      if (!options.yes) await confirm(`Delete ${identifier} with its site and its files?`);
      await client.deleteHostingAccount(identifier);
      const done = { identifier, status: "being deleted" };
      if (options.json) printJson(done);
      else printFields(done);
    }),
  );
}

function addCreateCommand(hosting: Command, clock: Clock): void {
  const create = hosting
    .command("create <identifier>")
    .description("order a hosting account, with an FTP login and a web site")
    .requiredOption("--pack <id>", "service pack, see: deedhouse packs list");
  addPasswordOptions(create)
    .option(
      "--idempotency-key <key>",
      "a repeat with the same key is the same order, never a second one",
      parseIdempotencyKey,
    )
    .option("--json", "print JSON: the order, or with --wait the account")
    .addHelpText(
      "after",
      "\nWithout a password option, the command asks for a password.\n\nExamples:\n" +
        "  deedhouse hosting create example.com --pack 1 --wait\n" +
        "  deedhouse hosting create example.com --pack 1 --password-stdin < password.txt",
    );
  addConnectionOptions(addFollowOptions(create)).action(
    guarded(async (identifier: string, options: CreateAccountOptions) => createAccount(identifier, options, clock)),
  );
}

async function createAccount(identifier: string, options: CreateAccountOptions, clock: Clock): Promise<void> {
  const client = await openClient(options, clock);
  const password = await obtainPassword(options, identifier);
  const { idempotencyKey = newIdempotencyKey() } = options;
  const newAccount = { identifier, servicePackId: options.pack, password };
  const accepted = await orderOnce(idempotencyKey, () => client.createHostingAccount(newAccount, { idempotencyKey }));
  if (!options.wait) {
    const order = { ...accepted.data, location: accepted.location, check_after: accepted.checkAfterSeconds };
    if (options.json) printJson(order);
    else printFields(order);
    return;
  }
  const account = await followAccount(client, accepted, options.timeout);
  if (options.json) printJson(account);
  else printFields(account);
  checkReady(account);
}

function followAccount(
  client: Client,
  accepted: Answer<{ identifier: string }>,
  timeoutMs: number,
): Promise<HostingAccount> {
  const { data, checkAfterSeconds } = accepted;
  return follow<HostingAccount>({
    opening: `${data.identifier} accepted`,
    run: (onStatus) => client.waitForHostingAccount(data.identifier, { timeoutMs, checkAfterSeconds, onStatus }),
    describe: ({ status }) => `${data.identifier} ${status}`,
    isSuccess: ({ status }) => status === "Ready",
  });
}

function checkReady(account: HostingAccount): void {
  if (account.status === "Ready") return;
  const name = `account ${account.identifier}`;
  if (account.status === "Provisioning") {
    throw new CommandFailure(
      `${name} is still ${account.status}`,
      exitCodes.stillGoing,
      `Nothing is lost. Check later with: deedhouse hosting get ${account.identifier}`,
    );
  }
  throw new CommandFailure(
    `${name} ended as ${account.status}${account.error_text ? `: ${account.error_text}` : ""}`,
    exitCodes.endedInFailure,
  );
}
