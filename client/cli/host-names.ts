import type { Command } from "commander";
import type { Clock } from "../sdk/clock.ts";
import { guarded } from "./failures.ts";
import { printFields, printJson, printTable } from "./output.ts";
import { addConnectionOptions, type ConnectionOptions, openClient } from "./settings.ts";

type Options = ConnectionOptions & { json?: boolean };

const columns = ["host_name", "status", "record.name", "record.value", "reason"];

/** The commands for an account's host names, in the group `hosting`. */
export function addHostNameCommands(hosting: Command, clock: Clock): void {
  const list = hosting
    .command("host-names <identifier>")
    .description("list the host names of an account's site, and those that wait for proof")
    .option("--json", "print the API's JSON")
    .addHelpText("after", "\nExample:\n  deedhouse hosting host-names example.com");
  addConnectionOptions(list).action(
    guarded(async (identifier: string, options: Options) => {
      const { data } = await (await openClient(options, clock)).listHostNames(identifier);
      if (options.json) printJson(data);
      else printTable(data, columns);
    }),
  );

  const add = hosting
    .command("add-host-name <identifier> <host-name>")
    .description("add a host name to an account's site; a repeat checks its TXT record at once")
    .option("--json", "print the API's JSON")
    .addHelpText("after", "\nExample:\n  deedhouse hosting add-host-name example.com www.example.com");
  addConnectionOptions(add).action(
    guarded(async (identifier: string, hostName: string, options: Options) => {
      const client = await openClient(options, clock);
      await client.addHostName(identifier, hostName);
      const { data } = await client.getHostName(identifier, hostName);
      if (options.json) printJson(data);
      else printFields(data);
    }),
  );

  const remove = hosting
    .command("remove-host-name <identifier> <host-name>")
    .description("remove a host name from an account's site")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  deedhouse hosting remove-host-name example.com www.example.com");
  addConnectionOptions(remove).action(
    guarded(async (identifier: string, hostName: string, options: Options) => {
      await (await openClient(options, clock)).removeHostName(identifier, hostName);
      const done = { host_name: hostName, status: "being taken away" };
      if (options.json) printJson(done);
      else printFields(done);
    }),
  );
}
