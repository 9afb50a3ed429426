import { type Command, Option } from "commander";
import { parseDomainName } from "#lib/domain-name.ts";
import { limitOption } from "#operator/arguments.ts";
import { asTable, commandGroup, onDatabase, operatorCommand, type Printable } from "#operator/command.ts";
import { getReseller } from "#resellers/create.ts";
import { getLeavingZone, listZones, reportZone, withdrawZone } from "#zones/operate.ts";
import { type ZoneState, zoneStates } from "#zones/states.ts";
import { confirm } from "../../client/cli/confirm.ts";
import { print, printFields, printTable } from "../../client/cli/output.ts";

interface ListOptions {
  state?: ZoneState;
  reseller?: string;
  limit: number;
}

export function addZoneCommands(program: Command): void {
  const zones = commandGroup(program, "zones", "the zones of all accounts");
  operatorCommand(zones, "list", "list zones, those that wait for name servers first")
    .addOption(new Option("--state <state>", "only zones in this state").choices(zoneStates))
    .option("--reseller <account>", "only this account's")
    .addOption(limitOption())
    .addHelpText("after", "\nExample:\n  deedhouse zones list --state Leaving")
    .action(
      onDatabase(
        async (context, { state, reseller, limit }: ListOptions) => {
          const resellerId = reseller === undefined ? undefined : await getReseller(context, reseller);
          return listZones(context, { state, resellerId, limit });
        },
        asTable("domain_name", "reseller", "state", "serial", "record_count", "served_at", "ends_at"),
      ),
    );
  operatorCommand(zones, "show <name>", "show everything about the zone of a name, also after its end")
    .addHelpText("after", "\nExample:\n  deedhouse zones show hello.example")
    .action(onDatabase((context, name: string) => reportZone(context, parseDomainName(name)), printZone));
  operatorCommand(zones, "withdraw <name>", "end the zone of a name that has left its portfolio, before its time")
    .option("--yes", "do not ask for confirmation")
    .addHelpText(
      "after",
      "\nFor a zone that is Leaving: it is served so that the site survives the move of its name, or until the name cannot be" +
        "\nrestored any more. Without it, the name does not resolve if it still delegates here.\n\nExample:\n  deedhouse zones withdraw gone.example --yes",
    )
    .action(
      onDatabase(async (context, text: string, { yes = false }: { yes?: boolean }) => {
        const name = parseDomainName(text);
        const { reseller } = await getLeavingZone(context, name);
        if (!yes) await confirm(`End the zone of ${name}, which was ${reseller}'s?`);
        await withdrawZone(context, name);
        return { domain_name: name, state: "Withdrawn" };
      }),
    );
}

function printZone({
  name_servers,
  records,
  changes,
  delegation,
  ...zone
}: Printable<Awaited<ReturnType<typeof reportZone>>>): void {
  printFields({ ...zone, delegation: delegation?.join(" ") });
  print("");
  printTable(name_servers, ["name", "serial", "problem"]);
  if (records.length > 0) print("");
  printTable(records, ["subname", "ttl", "type", "content", "managed_by"]);
  if (changes.length > 0) print("");
  printTable(changes, ["change_id", "serial", "at", "by", "door", "served_at"]);
}
