/** Whether a name renews at the end of its term. */
import { Argument, type Command } from "commander";
import type { Clock } from "../sdk/clock.ts";
import { guarded } from "./failures.ts";
import { printFields, printJson } from "./output.ts";
import { addConnectionOptions, type ConnectionOptions, openClient } from "./settings.ts";

interface RenewalOptions extends ConnectionOptions {
  json?: boolean;
}

/** Adds `domains renewal on|off`. */
export function addRenewalCommand(domains: Command, clock: Clock): void {
  const renewal = domains
    .command("renewal")
    .description("switch the automatic renewal of one of your domain names on or off")
    .addArgument(
      new Argument("<on-or-off>", "on: renew at the end of the term; off: let the name expire").choices(["on", "off"]),
    )
    .argument("<domain-name>")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExample:\n  deedhouse domains renewal off example.com\n\nTo renew a name now: deedhouse domains renew",
    );
  addConnectionOptions(renewal).action(
    guarded((wanted: "on" | "off", domainName: string, options: RenewalOptions) =>
      setRenewal(domainName, wanted === "on", options, clock),
    ),
  );
}

export async function setRenewal(
  domainName: string,
  willRenew: boolean,
  { json, ...options }: RenewalOptions,
  clock: Clock,
): Promise<void> {
  await (await openClient(options, clock)).setWillRenew(domainName, willRenew);
  const change = { domain_name: domainName, will_renew: willRenew };
  if (json) printJson(change);
  else printFields(change);
}
