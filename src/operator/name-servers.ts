/** `deedhouse nameservers` and `deedhouse zones`: the name servers that take zones from here. */
import { isIP } from "node:net";
import { type Command, InvalidArgumentError, Option } from "commander";
import { wholeNumber } from "#operator/arguments.ts";
import { asTable, commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import { OperatorError } from "#operator-error.ts";
import { adoptZones, openFeed } from "#zones/servers/adopt.ts";
import { catalogName, readCatalog } from "#zones/servers/catalog.ts";
import { compareZones } from "#zones/servers/compare.ts";
import { addServer, describeServers, findServer, removeNameServer, renewKey } from "#zones/servers/manage.ts";
import { bindConfig, knotConfig } from "#zones/servers/print-config.ts";
import { exitCodes } from "../../client/cli/failures.ts";
import { print, printFields } from "../../client/cli/output.ts";

const portMax = 65_535;
const port = wholeNumber(1, portMax);
const dnsPort = 53;
const gatewayPort = 7_453;

interface AddOptions {
  name: string;
  address: string;
  port: number;
  public: boolean;
}

interface ConfigOptions {
  for: "knot" | "bind";
  gateway: string;
  gatewayPort: number;
  directory?: string;
}

export function addNameServerCommands(program: Command): void {
  const servers = commandGroup(program, "nameservers", "the name servers that take zones from here");
  operatorCommand(servers, "add <id>", "add a name server, with a key of its own")
    .requiredOption("--name <name>", "its name, as domains delegate to it")
    .requiredOption("--address <ip>", "its address; its key is valid from there only")
    .option("--port <n>", "where it answers", port, dnsPort)
    .option("--not-public", "nobody asks it: changes are served without it")
    .addHelpText("after", "\nExample:\n  deedhouse nameservers add ns1 --name ns1.dns-host.net --address 192.0.2.53")
    .action(
      onDatabase((context, id: string, options: Omit<AddOptions, "public"> & { notPublic?: boolean }) => {
        const { name: hostName, address, port: at, notPublic } = options;
        return addServer(context, { id, hostName, address, port: at, isPublic: notPublic !== true });
      }),
    );
  operatorCommand(servers, "list", "list the name servers, and whether they get zones")
    .addHelpText("after", "\nExample:\n  deedhouse nameservers list")
    .action(
      onDatabase(
        describeServers,
        asTable("id", "name", "address", "port", "is_public", "status", "seen_at", "problem"),
      ),
    );
  addConfigCommand(servers);
  operatorCommand(servers, "key <id>", "make a new key; the old one is valid until it is dropped")
    .option("--drop-old", "drop all keys but the newest")
    .addHelpText("after", "\nExamples:\n  deedhouse nameservers key ns1\n  deedhouse nameservers key ns1 --drop-old")
    .action(
      onDatabase((context, id: string, { dropOld = false }: { dropOld?: boolean }) => renewKey(context, id, dropOld)),
    );
  operatorCommand(servers, "remove <id>", "remove a name server: it gets nothing any more, and keeps what it has")
    .addHelpText("after", "\nExample:\n  deedhouse nameservers remove ns1")
    .action(onDatabase((context, id: string) => removeNameServer(context, id)));
  addZoneCommands(program);
}

function address(text: string): string {
  if (isIP(text) === 0) throw new InvalidArgumentError("It must be an address such as 192.0.2.1.");
  return text;
}

function folder(text: string): string {
  if (!/^\/[A-Za-z0-9._/-]{1,200}$/.test(text)) throw new InvalidArgumentError("It must be an absolute path.");
  return text;
}

function addConfigCommand(servers: Command): void {
  operatorCommand(servers, "config <id>", "print the whole configuration of a name server, with its key")
    .addOption(new Option("--for <program>", "the program").choices(["knot", "bind"]).makeOptionMandatory())
    .requiredOption("--gateway <ip>", "where deedhouse dns is, as the name server reaches it", address)
    .option("--gateway-port <n>", "its port", port, gatewayPort)
    .option("--directory <dir>", "where it keeps zones, instead of /var/lib/knot or /var/cache/bind", folder)
    .addHelpText("after", "\nExample:\n  deedhouse nameservers config ns1 --for knot --gateway 192.0.2.1 > knot.conf")
    .action(
      onDatabase(
        async (context, id: string, options: ConfigOptions) => {
          const server = await findServer(context, id);
          const catalog = await readCatalog(context);
          const { for: program, gateway, gatewayPort: at, directory } = options;
          const isKnot = program === "knot";
          const configured = {
            address: server.address,
            port: server.port,
            gateway: { address: gateway, port: at },
            keys: server.newestKeys,
            catalog: catalogName(catalog!.label),
            directory: directory ?? (isKnot ? "/var/lib/knot" : "/var/cache/bind"),
          };
          return { config: isKnot ? knotConfig(configured) : bindConfig(configured) };
        },
        ({ config }) => print(config.trimEnd()),
      ),
    );
}

function addZoneCommands(program: Command): void {
  const zones = commandGroup(program, "zones", "the zones at the name servers");
  operatorCommand(zones, "compare [name]", "transfer zones from the name servers, and compare them with the database")
    .option("--all", "all zones")
    .addHelpText("after", "\nExits with 1 if something differs.\nExample:\n  deedhouse zones compare hello.example")
    .action(
      onDatabase(
        async (context, name: string | undefined, { all = false }: { all?: boolean }) => {
          if ((name === undefined) !== all) throw new OperatorError("refused", "name a zone, or give --all");
          const result = await compareZones(context, name ?? null);
          if (result.found.length > 0) process.exitCode = exitCodes.unexpected;
          return result;
        },
        (result) => {
          printFields({ zones: result.zones, differences: result.found.length });
          if (result.found.length > 0) asTable("server", "zone", "problem")(result.found);
        },
      ),
    );
  operatorCommand(
    zones,
    "adopt",
    "after a restore of the database: take over what a name server has, and feed them again",
  )
    .option("--from <id>", "the name server whose zones are compared, and taken over")
    .option("--give-up", "take over nothing: what the database has replaces what the name servers have")
    .option("--yes", "do it; without it, the differences are shown")
    .addHelpText("after", "\nExamples:\n  deedhouse zones adopt --from ns1\n  deedhouse zones adopt --from ns1 --yes")
    .action(
      onDatabase(
        async (context, { from, giveUp = false, yes = false }: { from?: string; giveUp?: boolean; yes?: boolean }) => {
          if ((from === undefined) !== giveUp) throw new OperatorError("refused", "give --from ID, or --give-up");
          const found = from === undefined ? [] : await adoptZones(context, from, !yes);
          const opened = yes ? await openFeed(context) : [];
          return { found, opened, status: yes ? "done" : "nothing was changed: --yes does it" };
        },
        ({ found, opened, status }) => {
          if (found.length > 0) asTable("zone", "status", "only_there", "only_here")(found);
          printFields({ zones: found.length, opened: opened.join(", "), status });
        },
      ),
    );
}
