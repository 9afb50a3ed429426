import { type Command, Option } from "commander";
import type { Clock } from "../sdk/clock.ts";
import { rejectReasons } from "../sdk/transfers.ts";
import type { RejectReason } from "../sdk/types.ts";
import { addChangeOptions, type ChangeOptions, orderChange } from "./changes.ts";
import { confirm } from "./confirm.ts";
import { CommandFailure, exitCodes, guarded } from "./failures.ts";
import { printFields, printJson } from "./output.ts";
import { openClient } from "./settings.ts";

interface AuthCodeOptions extends ChangeOptions {
  show?: boolean;
}

interface TransferOutOptions extends ChangeOptions {
  approve?: boolean;
  reject?: RejectReason;
  yes?: boolean;
}

/** The commands for names that go to another registrar, in the group `domains`. */
export function addTransferCommands(domains: Command, clock: Clock): void {
  addLockCommand(domains, clock, "lock", true);
  addLockCommand(domains, clock, "unlock", false);

  const authCode = domains
    .command("auth-code <domain-name>")
    .description("order the code with which another registrar can request a name's transfer")
    .option("--show", "order nothing, and show the code that was ordered before")
    .addHelpText(
      "after",
      "\nExamples:\n  deedhouse domains auth-code example.com --wait\n  deedhouse domains auth-code example.com --show",
    );
  addChangeOptions(authCode).action(
    guarded(async (domainName: string, options: AuthCodeOptions) => {
      if (options.show) {
        const { data } = await (await openClient(options, clock)).getAuthCode(domainName);
        if (options.json) printJson(data);
        else printFields(data);
        return;
      }
      await orderChange(
        options,
        clock,
        (client, order) => client.orderAuthCode(domainName, order),
        async (client) => (await client.getAuthCode(domainName)).data,
      );
    }),
  );

  const transferOut = domains
    .command("transfer-out <domain-name>")
    .description("answer another registrar's request to transfer one of your domain names")
    .option("--approve", "give the name away at once")
    .addOption(new Option("--reject <reason>", "keep the name").choices(rejectReasons))
    .option("--yes", "with --approve: do not ask")
    .addHelpText(
      "after",
      "\nExample:\n  deedhouse domains transfer-out example.com --reject registrant-objects --wait",
    );
  addChangeOptions(transferOut).action(
    guarded(async (domainName: string, options: TransferOutOptions) => {
      const { approve = false, reject: reason, yes } = options;
      if (approve === (reason !== undefined)) {
        throw new CommandFailure("give either --approve or --reject with a reason", exitCodes.usage);
      }
      if (approve && !yes) await confirm(`Give ${domainName} to the registrar that requests it? You lose the name.`);
      await orderChange(options, clock, (client, order) =>
        client.answerTransfer(
          domainName,
          reason === undefined ? { answer: "approve" } : { answer: "reject", reason },
          order,
        ),
      );
    }),
  );
}

function addLockCommand(domains: Command, clock: Clock, name: "lock" | "unlock", isLocked: boolean): void {
  const command = domains
    .command(`${name} <domain-name>`)
    .description(isLocked ? "keep other registrars from transferring a name away" : "allow a name's transfer")
    .addHelpText("after", `\nExample:\n  deedhouse domains ${name} example.com --wait`);
  addChangeOptions(command).action(
    guarded(async (domainName: string, options: ChangeOptions) => {
      await orderChange(options, clock, (client, order) => client.setTransferLock(domainName, isLocked, order));
    }),
  );
}
