import type { Command } from "commander";
import type { Client } from "../sdk/client.ts";
import type { Clock } from "../sdk/clock.ts";
import { newIdempotencyKey } from "../sdk/sign.ts";
import type { Answer } from "../sdk/types.ts";
import { parseIdempotencyKey, parseWholeNumber } from "./arguments.ts";
import { confirm } from "./confirm.ts";
import { guarded, orderOnce } from "./failures.ts";
import { addFollowOptions, type FollowOptions } from "./follow.ts";
import { reportOrdered } from "./orders.ts";
import { addConnectionOptions, type ConnectionOptions, openClient } from "./settings.ts";

interface PaidOptions extends ConnectionOptions, FollowOptions {
  yes?: boolean;
  idempotencyKey?: string;
  json?: boolean;
}

interface Asked {
  /** What it costs or destroys. */
  question: string;
  order(idempotencyKey: string): Promise<Answer<{ order_code: string }>>;
  /** Shows the domain at the end, if the name is in the portfolio then. */
  shows?: string;
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
      await place(client, options, {
        question: `Renew ${name} for ${years} from ${expirationDate}? This costs money.`,
        order: (idempotencyKey) =>
          client.renewDomain(name, { years: options.years, expirationDate }, { idempotencyKey }),
        shows: name,
      });
    }),
  );

  const remove = domains
    .command("delete <domain-name>")
    .description("delete one of your domain names; what uses it stops working")
    .addHelpText("after", "\nExample:\n  deedhouse domains delete example.com --wait");
  addPaidOptions(remove).action(
    guarded(async (name: string, options: PaidOptions) => {
      const client = await openClient(options, clock);
      await place(client, options, {
        question: `Delete ${name}? Its web site and e-mail stop working, and a restore costs money.`,
        order: (idempotencyKey) => client.deleteDomain(name, { idempotencyKey }),
      });
    }),
  );

  const restore = domains
    .command("restore <domain-name>")
    .description("order a deleted domain name back, while its registry allows that")
    .addHelpText("after", "\nExample:\n  deedhouse domains restore example.com --wait");
  addPaidOptions(restore).action(
    guarded(async (name: string, options: PaidOptions) => {
      const client = await openClient(options, clock);
      await place(client, options, {
        question: `Restore ${name}? This costs money.`,
        order: (idempotencyKey) => client.restoreDomain(name, { idempotencyKey }),
        shows: name,
      });
    }),
  );
}

function addPaidOptions(command: Command): Command {
  command
    .option("--yes", "do not ask for confirmation")
    .option(
      "--idempotency-key <key>",
      "a repeat with the same key is the same order, never a second one",
      parseIdempotencyKey,
    )
    .option("--json", "print JSON: the order, and with --wait its end");
  return addConnectionOptions(addFollowOptions(command));
}

async function place(client: Client, options: PaidOptions, { question, order, shows }: Asked): Promise<void> {
  if (!options.yes) await confirm(question);
  const { idempotencyKey = newIdempotencyKey() } = options;
  await reportOrdered(client, await orderOnce(idempotencyKey, () => order(idempotencyKey)), options, shows);
}
