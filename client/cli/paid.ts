import type { Command } from "commander";
import type { Clock } from "../sdk/clock.ts";
import { parseWholeNumber } from "./arguments.ts";
import { addChangeOptions, type ChangeOptions, orderChange, placeChange } from "./changes.ts";
import { confirm } from "./confirm.ts";
import { guarded } from "./failures.ts";
import { readDomain } from "./orders.ts";
import { openClient } from "./settings.ts";

interface PaidOptions extends ChangeOptions {
  yes?: boolean;
}

/** Adds the commands about registered names that cost money or destroy. Each asks first. */
export function addPaidCommands(domains: Command, clock: Clock): void {
  const renew = domains
    .command("renew-now <domain-name>")
    .description("order another term for one of your domain names, before the schedule does")
    .option("--years <n>", "how many years", parseWholeNumber, 1)
    .option("--expiration-date <date>", "the date that the name expires now; by default, as the domain shows it")
    .addHelpText("after", "\nExample:\n  deedhouse domains renew-now example.com --years 2 --wait");
  addPaidOptions(renew).action(
    guarded(async (name: string, options: PaidOptions & { years: number; expirationDate?: string }) => {
      const client = await openClient(options, clock);
      const expirationDate = options.expirationDate ?? (await client.getDomain(name)).data.expiration_date;
      const years = options.years === 1 ? "a year" : `${options.years} years`;
      if (!options.yes) await confirm(`Renew ${name} for ${years} from ${expirationDate}? This costs money.`);
      const term = { years: options.years, expirationDate };
      await placeChange(client, options, (_, order) => client.renewDomain(name, term, order), readDomain(name));
    }),
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

function addPaidOptions(command: Command): Command {
  return addChangeOptions(command.option("--yes", "do not ask for confirmation"));
}
