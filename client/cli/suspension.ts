import { Argument, type Command, Option } from "commander";
import type { Client } from "../sdk/client.ts";
import type { Clock } from "../sdk/clock.ts";
import type { HostingAccount } from "../sdk/types.ts";
import { waitUntilFinal } from "../sdk/wait.ts";
import { CommandFailure, exitCodes, guarded } from "./failures.ts";
import { addFollowOptions, type FollowOptions, follow } from "./follow.ts";
import { printFields, printJson } from "./output.ts";
import { addConnectionOptions, type ConnectionOptions, openClient } from "./settings.ts";

interface SuspensionOptions extends ConnectionOptions, FollowOptions {
  reason?: string;
  json?: boolean;
}

/** The operator's own commands in the group `hosting` are `suspend` and `resume`. */
export function addSuspensionCommand(hosting: Command, clock: Clock): void {
  const set = hosting
    .command("suspension <identifier>")
    .description(
      "suspend an account, or lift your suspension: nobody can log in, the site answers 503, nothing is deleted",
    )
    .addArgument(new Argument("<on|off>", "on suspends it").choices(["on", "off"]))
    .addOption(new Option("--reason <text>", "with on: why, in one line; you and the operator read it"))
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  deedhouse hosting suspension example.com on --reason 'invoice 4711 is unpaid' --wait\n" +
        "  deedhouse hosting suspension example.com off --wait",
    );
  addConnectionOptions(addFollowOptions(set)).action(
    guarded(async (identifier: string, wanted: "on" | "off", options: SuspensionOptions) => {
      if (wanted === "off" && options.reason !== undefined) {
        throw new CommandFailure("--reason belongs to on", exitCodes.usage);
      }
      const client = await openClient(options, clock);
      if (wanted === "on") await client.suspendHostingAccount(identifier, { reason: options.reason });
      else await client.unsuspendHostingAccount(identifier);
      const account = options.wait
        ? await inEffect(client, clock, identifier, options.timeout)
        : (await client.getHostingAccount(identifier)).data;
      const { status, changes_pending, suspensions } = account;
      const shown = { identifier: account.identifier, status, changes_pending, suspensions };
      if (options.json) printJson(shown);
      else printFields(shown);
      checkDone(account, wanted, options.wait === true);
    }),
  );
}

function inEffect(client: Client, clock: Clock, identifier: string, timeoutMs: number): Promise<HostingAccount> {
  const describe = ({ status, changes_pending }: HostingAccount) =>
    changes_pending ? `${status}, the change is not in effect yet` : status;
  return follow<HostingAccount>({
    run: (onStatus) =>
      waitUntilFinal(
        (waitSeconds) => client.getHostingAccount(identifier, { waitSeconds }),
        describe,
        (account) => !account.changes_pending,
        { timeoutMs, onStatus },
        clock,
      ),
    describe: (account) => `${identifier} ${describe(account)}`,
    isSuccess: (account) => !account.changes_pending,
  });
}

function checkDone({ identifier, changes_pending, suspensions = [] }: HostingAccount, wanted: string, waits: boolean) {
  if (waits && changes_pending) {
    const advice = `Nothing is lost. Check later with: deedhouse hosting get ${identifier}`;
    throw new CommandFailure(`the change of ${identifier} is not in effect yet`, exitCodes.stillGoing, advice);
  }
  if (wanted === "off" && suspensions.some(({ by }) => by === "operator")) {
    const advice = "Your suspension is lifted. Only the operator can resume the account: ask them.";
    throw new CommandFailure(`${identifier} stays suspended by the operator`, exitCodes.endedInFailure, advice);
  }
}
