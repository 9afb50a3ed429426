import { type Command, InvalidArgumentError } from "commander";
import type { Clock } from "../sdk/clock.ts";
import type { DnssecRecords, DsRecord, KeyRecord, NameServer } from "../sdk/types.ts";
import { addChangeOptions, type ChangeOptions, orderChange } from "./changes.ts";
import { confirm } from "./confirm.ts";
import { CommandFailure, exitCodes, guarded } from "./failures.ts";

interface NameServerOptions extends ChangeOptions {
  none?: boolean;
  yes?: boolean;
}

interface DnssecOptions extends ChangeOptions {
  ds?: DsRecord[];
  dnskey?: KeyRecord[];
  none?: boolean;
}

/** The commands for a name's name servers and DNSSEC records, in the group `domains`. */
export function addDelegationCommands(domains: Command, clock: Clock): void {
  const nameServers = domains
    .command("nameservers <domain-name>")
    .argument("[hosts...]", "HOST, or HOST=ADDRESS,ADDRESS", collect(parseNameServer))
    .description("replace the name servers of one of your domain names")
    .option("--none", "remove all name servers")
    .option("--yes", "with --none: do not ask")
    .addHelpText(
      "after",
      `
Addresses belong to hosts below your own names. Without any, a host keeps those that it has.

Examples:
  deedhouse domains nameservers example.com ns1.dns-host.net ns2.dns-host.net --wait
  deedhouse domains nameservers example.com ns1.example.com=192.0.2.1,2001:db8::1 ns2.dns-host.net`,
    );
  addChangeOptions(nameServers).action(
    guarded(async (domainName: string, hosts: NameServer[] = [], options: NameServerOptions) => {
      const { none = false, yes } = options;
      if (none === hosts.length > 0) throw new CommandFailure("give either hosts or --none", exitCodes.usage);
      if (none && !yes) await confirm(`Remove all name servers of ${domainName}? It will not resolve any more.`);
      await orderChange(options, clock, (client, order) => client.setNameServers(domainName, hosts, order));
    }),
  );

  const dnssec = domains
    .command("dnssec <domain-name>")
    .description("replace the DNSSEC records of one of your domain names")
    .option(
      "--ds <record>",
      'a DS record: "KEY-TAG ALGORITHM DIGEST-TYPE DIGEST"; repeat it for more',
      collect(parseDs),
    )
    .option(
      "--dnskey <record>",
      'a DNSKEY record: "FLAGS PROTOCOL ALGORITHM PUBLIC-KEY"; repeat it for more',
      collect(parseKey),
    )
    .option("--none", "remove all records")
    .addHelpText(
      "after",
      `
Give keys where the registry makes the DS records itself; elsewhere the DS records of keys are computed.

Examples:
  deedhouse domains dnssec example.com --dnskey "257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=" --wait
  deedhouse domains dnssec example.com --none`,
    );
  addChangeOptions(dnssec).action(
    guarded(async (domainName: string, options: DnssecOptions) => {
      const records = recordsOf(options);
      await orderChange(options, clock, (client, order) => client.setDnssec(domainName, records, order));
    }),
  );
}

/** `HOST=ADDRESS,ADDRESS`, or a host alone. Throws commander's `InvalidArgumentError`. */
export function parseNameServer(text: string): NameServer {
  const [name = "", addresses, ...more] = text.split("=");
  if (name === "" || addresses === "" || more.length > 0) {
    throw new InvalidArgumentError("Give HOST, or HOST=ADDRESS,ADDRESS.");
  }
  return addresses === undefined ? { name } : { name, addresses: addresses.split(",") };
}

/** For an option or argument that may be repeated. */
export function collect<Item>(parse: (text: string) => Item) {
  return (text: string, earlier: Item[] = []): Item[] => earlier.concat([parse(text)]);
}

/** The last field may be folded, as tools print it. */
function fieldsOf(text: string, form: string): [number, number, number, string] {
  const [, first, second, third, last = ""] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S[\s\S]*?)\s*$/.exec(text) ?? [];
  if (last === "") throw new InvalidArgumentError(`Give "${form}".`);
  return [Number(first), Number(second), Number(third), last.replace(/\s+/g, "")];
}

function parseDs(text: string): DsRecord {
  const [key_tag, algorithm, digest_type, digest] = fieldsOf(text, "KEY-TAG ALGORITHM DIGEST-TYPE DIGEST");
  return { key_tag, algorithm, digest_type, digest };
}

function parseKey(text: string): KeyRecord {
  const [flags, protocol, algorithm, public_key] = fieldsOf(text, "FLAGS PROTOCOL ALGORITHM PUBLIC-KEY");
  // The service says which numbers are allowed.
  return { flags, protocol, algorithm, public_key } as KeyRecord;
}

function recordsOf({ ds, dnskey: keys, none = false }: DnssecOptions): DnssecRecords {
  if ([ds !== undefined, keys !== undefined, none].filter(Boolean).length !== 1) {
    throw new CommandFailure("give one of --ds, --dnskey and --none", exitCodes.usage);
  }
  return keys ? { keys } : { ds: ds ?? [] };
}
