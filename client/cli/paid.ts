import { type Command, Option } from "commander";
import type { Clock } from "../sdk/clock.ts";
import { parseWholeNumber } from "./arguments.ts";
import { addChangeOptions, type ChangeOptions, orderChange, placeChange } from "./changes.ts";
import { confirm } from "./confirm.ts";
import { CommandFailure, exitCodes, guarded } from "./failures.ts";
import { readDomain } from "./orders.ts";
import { note } from "./output.ts";
import { setRenewal } from "./renewal.ts";
import { openClient } from "./settings.ts";

interface PaidOptions extends ChangeOptions {
  yes?: boolean;
}

/** Adds the commands about registered names that cost money or destroy. Each asks first. */
export function addPaidCommands(domains: Command, clock: Clock): void {
  addRenewCommand(domains.command("renew <domain-name>"), clock, () => {});
  addRenewCommand(domains.command("renew-now <domain-name>", { hidden: true }), clock, () =>
    note("deedhouse domains renew-now is now deedhouse domains renew."),
  );

  const remove = domains
    .command("delete <domain-name>")
    .description("delete one of your domain names; what uses it stops working")
    .addHelpText("after", "\nExample:\n  deedhouse domains delete example.com --wait");
  addPaidOptions(remove).action(
    guarded(async (name: string, options: PaidOptions) => {
      const loss = "Its web site and e-mail stop working, and a restore costs money.";
      if (!options.yes) await confirm(`Delete ${name}? ${loss}`);
      await orderChange(options, clock, (client, order) => client.deleteDomain(name, order));
    }),
  );

  const restore = domains
    .command("restore <domain-name>")
    .description("order a deleted domain name back, while its registry allows that")
    .addHelpText("after", "\nExample:\n  deedhouse domains restore example.com --wait");
  addPaidOptions(restore).action(
    guarded(async (name: string, options: PaidOptions) => {
      if (!options.yes) await confirm(`Restore ${name}? This costs money.`);
      await orderChange(options, clock, (client, order) => client.restoreDomain(name, order), readDomain(name));
    }),
  );
}

interface RenewOptions extends PaidOptions {
  years: number;
  expirationDate?: string;
  on?: boolean;
  off?: boolean;
}

function addRenewCommand(command: Command, clock: Clock, warn: () => void): void {
  const renew = command
    .description("renew one of your domain names now, before the schedule does")
    .option("--years <n>", "how many years", parseWholeNumber, 1)
    .option("--expiration-date <date>", "the date that the name expires now; by default, as the domain shows it")
    .addOption(new Option("--on").hideHelp())
    .addOption(new Option("--off").hideHelp())
    .addHelpText(
      "after",
      "\nExample:\n  deedhouse domains renew example.com --years 2 --wait\n\nWhether it renews at the end of its term: deedhouse domains renewal",
    );
  addPaidOptions(renew).action(
    guarded(async (name: string, options: RenewOptions) => {
      const { on = false, off = false } = options;
      if (on || off) return switchRenewal(name, options, clock);
      warn();
      const client = await openClient(options, clock);
      const expirationDate = options.expirationDate ?? (await client.getDomain(name)).data.expiration_date;
      const years = options.years === 1 ? "a year" : `${options.years} years`;
      if (!options.yes) await confirm(`Renew ${name} for ${years} from ${expirationDate}? This costs money.`);
      const term = { years: options.years, expirationDate };
      await placeChange(client, options, (_, order) => client.renewDomain(name, term, order), readDomain(name));
    }),
  );
}

/** `renew --on` and `--off` were the switch. They never renew a name, so a script that has them pays for nothing. */
async function switchRenewal(name: string, options: RenewOptions, clock: Clock): Promise<void> {
  const { on = false, off = false } = options;
  if (on && off) throw new CommandFailure("give either --on or --off", exitCodes.usage);
  const word = on ? "on" : "off";
  note(`deedhouse domains renew --${word} is now deedhouse domains renewal ${word}.`);
  await setRenewal(name, on, options, clock);
}

function addPaidOptions(command: Command): Command {
  return addChangeOptions(command.option("--yes", "do not ask for confirmation"));
}
