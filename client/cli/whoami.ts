import type { Command } from "commander";
import type { Clock } from "../sdk/clock.ts";
import type { Account } from "../sdk/types.ts";
import { guarded } from "./failures.ts";
import { print, printFields, printJson, printTable } from "./output.ts";
import { addConnectionOptions, type ConnectionOptions, openClient, serviceUrl } from "./settings.ts";

/** Adds `whoami`: the first call with a new key. */
export function addWhoamiCommand(program: Command, clock: Clock): void {
  const whoami = program
    .command("whoami")
    .description("show your account, your key and its scopes, your limits, and the suffixes on offer")
    .option("--json", "print the API's JSON")
    .addHelpText("after", "\nExample:\n  deedhouse whoami");
  addConnectionOptions(whoami).action(
    guarded(async (options: ConnectionOptions & { json?: boolean }) => {
      const { data } = await (await openClient(options, clock)).getAccount();
      if (options.json) printJson(data);
      else printAccount(data, await serviceUrl(options));
    }),
  );
}

function printAccount({ name, kind, key, limits, suffixes }: Account, url: string): void {
  printFields({ service: url, account: name, kind, key });
  print("");
  printFields(limits);
  print("");
  printTable(suffixes.map(rowOf), ["suffix", "years", "renews_by", "restore", "contacts", "name_servers", "rules"]);
}

function rowOf(suffix: Account["suffixes"][number]) {
  const { years_min: min, years_max: max, years_default: usual, restore_days: days } = suffix;
  const rules = [
    suffix.idn ? "IDN" : "ASCII only",
    suffix.dnssec === "none" ? "no DNSSEC" : `DNSSEC as ${suffix.dnssec}`,
    ...(suffix.premium ? ["premium names"] : []),
    ...(suffix.renews_on_request ? [] : ["no renewal by hand"]),
    ...(suffix.locks_new_names ? ["new names are locked"] : []),
  ];
  return {
    suffix: suffix.suffix,
    years: `${min === max ? min : `${min} to ${max}`}, usually ${usual}`,
    renews_by: suffix.renewal_years === 1 ? "1 year" : `${suffix.renewal_years} years`,
    restore: days === 0 ? "no" : `${days} days`,
    contacts: suffix.contacts.join(" ") || "none",
    name_servers: `${suffix.name_servers_min} to ${suffix.name_servers_max}`,
    rules: rules.join("; "),
  };
}
