import type { Command } from "commander";
import type { Clock } from "../sdk/clock.ts";
import { guarded } from "./failures.ts";
import { note, printJson, printTable } from "./output.ts";
import { addConnectionOptions, type ConnectionOptions, openClient } from "./settings.ts";

const columns = ["id", "name", "kind", "disk_quota_bytes"];

export function addPackCommands(program: Command, clock: Clock): void {
  const packs = program.command("packs").description("service packs: the kinds of hosting accounts");
  const list = packs
    .command("list")
    .description("list the service packs that are offered to you")
    .option("--json", "print the API's JSON")
    .addHelpText("after", "\nExample:\n  deedhouse packs list");
  addConnectionOptions(list).action(
    guarded(async (options: ConnectionOptions & { json?: boolean }) => {
      const { data } = await (await openClient(options, clock)).listServicePacks();
      if (options.json) printJson(data);
      else if (data.length > 0) printTable(data, columns);
      else note("Nothing to show.");
    }),
  );
}
