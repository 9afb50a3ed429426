import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import type { Client } from "../sdk/client.ts";
import type { Clock } from "../sdk/clock.ts";
import { ApiError } from "../sdk/errors.ts";
import { newIdempotencyKey } from "../sdk/sign.ts";
import type { PlacedChange, RecordSet, ZoneChange } from "../sdk/types.ts";
import { waitUntilFinal } from "../sdk/wait.ts";
import { parseIdempotencyKey, parseWholeNumber } from "./arguments.ts";
import { confirm } from "./confirm.ts";
import { CommandFailure, exitCodes, guarded, orderOnce } from "./failures.ts";
import { addFollowOptions, type FollowOptions, follow } from "./follow.ts";
import { addListOptions, type ListOptions, printList } from "./listing.ts";
import { note, print, printFields, printJson, printTable } from "./output.ts";
import { addConnectionOptions, type ConnectionOptions, openClient } from "./settings.ts";

const recordColumns = ["subname", "ttl", "type", "record", "managed_by"];
const changeColumns = ["change_id", "at", "status", "door", "by", "text"];

interface WriteOptions extends ConnectionOptions, FollowOptions {
  idempotencyKey?: string;
  ttl?: number;
  delegate?: boolean;
  yes?: boolean;
  json?: boolean;
}

/** Adds the group `dns`. */
export function addZoneCommands(program: Command, clock: Clock): void {
  const dns = program.command("dns").description("zones of your domain names, and their records");
  addShow(dns, clock);
  addCreate(dns, clock);
  addSet(dns, clock);
  addAdd(dns, clock);
  addRemove(dns, clock);
  addImport(dns, clock);
  addExport(dns, clock);
  addHistory(dns, clock);
}

function addShow(dns: Command, clock: Clock): void {
  const show = dns
    .command("show <domain-name>")
    .description("show a zone and its records")
    .option("--json", "print JSON: the zone, and its sets of records");
  addConnectionOptions(show).action(
    guarded(async (domainName: string, options: ConnectionOptions & { json?: boolean }) => {
      const client = await openClient(options, clock);
      const { data: zone } = await client.zones.get(domainName);
      const sets: RecordSet[] = [];
      for await (const set of client.zones.records.list(domainName)) sets.push(set);
      if (options.json) return printJson({ zone, records: sets });
      const { name_servers: servers, ...fields } = zone;
      printFields(fields);
      printTable(servers, ["name", "serial", "is_current", "problem"]);
      const rows = sets.flatMap(({ subname, ttl, type, records, managed_by: by }) =>
        records.map((record) => ({ subname, ttl, type, record, ...(by !== null && { managed_by: by }) })),
      );
      if (rows.length > 0) printTable(rows, recordColumns);
    }),
  );
}

function addCreate(dns: Command, clock: Clock): void {
  const create = dns
    .command("create <domain-name>")
    .description("make a zone for one of your domain names")
    .option("--delegate", "order our name servers for it, once they serve it");
  addWriteOptions(create).action(
    guarded(async (domainName: string, options: WriteOptions) => {
      const { delegate } = options;
      await change(domainName, options, clock, (client, more) =>
        client.zones.create(domainName, { delegate, ...more }),
      );
    }),
  );
}

function addSet(dns: Command, clock: Clock): void {
  const set = dns
    .command("set <domain-name> <subname> <type> <records...>")
    .description("set the records of one name and type; @ is the domain name itself")
    .option("--ttl <seconds>", "how long resolvers keep them (default 3600)", parseWholeNumber)
    .addHelpText(
      "after",
      `
Examples:
  deedhouse dns set example.com www A 192.0.2.1 192.0.2.2 --ttl 300 --wait
  deedhouse dns set example.com @ MX "10 mail.example.com"
  deedhouse dns set example.com @ TXT "v=spf1 -all"`,
    );
  addWriteOptions(set).action(
    guarded(async (domainName: string, subname: string, type: string, records: string[], options: WriteOptions) => {
      const wanted = { subname, type, records, ...(options.ttl !== undefined && { ttl: options.ttl }) };
      await change(domainName, options, clock, (client, more) => client.zones.records.set(domainName, wanted, more));
    }),
  );
}

function addAdd(dns: Command, clock: Clock): void {
  const add = dns
    .command("add <domain-name> <subname> <type> <records...>")
    .description("add records to those of one name and type");
  addWriteOptions(add).action(
    guarded(async (domainName: string, subname: string, type: string, records: string[], options: WriteOptions) => {
      await change(domainName, options, clock, async (client, more) => {
        const { present, ifChangeId } = await readSet(client, domainName, subname, type);
        const ttl = present && { ttl: present.ttl };
        const all = [...new Set([...(present?.records ?? []), ...records])];
        const wanted = { subname, type, records: all, ...ttl };
        return client.zones.records.set(domainName, wanted, { ...more, ifChangeId });
      });
    }),
  );
}

function addRemove(dns: Command, clock: Clock): void {
  const remove = dns
    .command("rm <domain-name> <subname> <type>")
    .argument("[records...]", "those that go; by default all of this name and type")
    .description("remove records of one name and type");
  addWriteOptions(remove).action(
    guarded(async (domainName: string, subname: string, type: string, records: string[], options: WriteOptions) => {
      await change(domainName, options, clock, async (client, more) => {
        if (records.length === 0) return client.zones.records.remove(domainName, subname, type, more);
        const { present, ifChangeId } = await readSet(client, domainName, subname, type);
        const missing = records.find((record) => !present?.records.includes(record));
        if (!present || missing !== undefined) {
          throw new CommandFailure(`there is no such record: ${missing ?? records[0]}`, exitCodes.usage);
        }
        const rest = present.records.filter((record) => !records.includes(record));
        const sets = [{ subname, type, ttl: present.ttl, records: rest }];
        return client.zones.records.change(domainName, sets, { ...more, ifChangeId });
      });
    }),
  );
}

/** A set, with the version of the zone that has it; what is written over a newer one is refused. */
async function readSet({ zones }: Client, domainName: string, subname: string, type: string) {
  const { data: changes } = await zones.changes(domainName).page({ take: 1 });
  const present = await zones.records.get(domainName, subname, type).then(
    ({ data }) => data,
    (error: unknown) => {
      if (error instanceof ApiError && error.errorCode === "record_not_found") return undefined;
      throw error;
    },
  );
  return { present, ifChangeId: changes[0]?.change_id };
}

function addImport(dns: Command, clock: Clock): void {
  const command = dns
    .command("import <domain-name> <file>")
    .description("replace all records of a zone by those of a zone file")
    .option("--yes", "do not ask");
  addWriteOptions(command).action(
    guarded(async (domainName: string, file: string, options: WriteOptions) => {
      const text = await readZoneFile(file);
      if (!options.yes) await confirm(`Replace all records of ${domainName} by those of ${file}?`);
      await change(domainName, options, clock, (client, more) =>
        client.zones.records.importFile(domainName, text, more),
      );
    }),
  );
}

async function readZoneFile(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new CommandFailure(`${file} cannot be read: ${(error as Error).message}`, exitCodes.usage);
  }
}

function addExport(dns: Command, clock: Clock): void {
  const command = dns.command("export <domain-name>").description("print a zone as a zone file");
  addConnectionOptions(command).action(
    guarded(async (domainName: string, options: ConnectionOptions) => {
      const { data } = await (await openClient(options, clock)).zones.records.exportFile(domainName);
      print(data.trimEnd());
    }),
  );
}

function addHistory(dns: Command, clock: Clock): void {
  const history = dns.command("history <domain-name>").description("list the changes of a zone, the newest first");
  addConnectionOptions(addListOptions(history)).action(
    guarded(async (domainName: string, options: ConnectionOptions & ListOptions) => {
      const list = (await openClient(options, clock)).zones.changes(domainName);
      if (options.json) return printList(options, changeColumns, list);
      const { data } = await list.page(options);
      const rows = data.map((row) => ({ ...row, text: textOf(row) }));
      if (rows.length > 0) printTable(rows, changeColumns);
      else note("Nothing to show.");
    }),
  );
}

/** "+ www A 192.0.2.1, - www A 192.0.2.2" */
function textOf({ added, removed }: ZoneChange): string {
  const lines = (sign: string, sets: ZoneChange["added"]) =>
    sets.flatMap(({ subname, type, records }) => records.map((record) => `${sign} ${subname} ${type} ${record}`));
  return [...lines("-", removed), ...lines("+", added)].join(", ");
}

function addWriteOptions(command: Command): Command {
  command
    .option("--idempotency-key <key>", "a repeat with the same key is the same change", parseIdempotencyKey)
    .option("--json", "print JSON");
  return addConnectionOptions(addFollowOptions(command));
}

type Place = (client: Client, more: { idempotencyKey: string }) => Promise<PlacedChange>;

/** Makes a change, and with `--wait` waits until the name servers have it. */
async function change(domainName: string, options: WriteOptions, clock: Clock, place: Place): Promise<void> {
  const client = await openClient(options, clock);
  const { idempotencyKey = newIdempotencyKey() } = options;
  const placed = await orderOnce(idempotencyKey, () => place(client, { idempotencyKey }));
  const { change_id: changeId } = placed.data;
  const output = options.json ? printJson : printFields;
  if (!options.wait) return output({ change_id: changeId, location: placed.location });
  const done = await follow<ZoneChange>({
    opening: `change ${changeId} accepted`,
    run: (onStatus) =>
      waitUntilFinal(
        (waitSeconds) => client.zones.getChange(domainName, changeId, { waitSeconds }),
        ({ status }) => status,
        ({ status }) => status === "Served",
        { timeoutMs: options.timeout, checkAfterSeconds: placed.checkAfterSeconds, onStatus },
        clock,
      ),
    describe: ({ status }) => `change ${changeId} ${status}`,
    isSuccess: ({ status }) => status === "Served",
  });
  output(options.json ? done : { change_id: done.change_id, status: done.status, served_at: done.served_at });
  if (done.status !== "Served") {
    throw new CommandFailure(`change ${changeId} is still ${done.status}`, exitCodes.stillGoing, "Nothing is lost.");
  }
}
