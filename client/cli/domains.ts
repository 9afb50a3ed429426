import { type Command, Option } from "commander";
import type { Clock } from "../sdk/clock.ts";
import { newIdempotencyKey } from "../sdk/sign.ts";
import type { NameServer, PageOptions, RenewalStatus } from "../sdk/types.ts";
import { parseIdempotencyKey, parseWholeNumber, statusOption } from "./arguments.ts";
import { addContactsCommand, type ContactFiles, contactOption, readContactFiles } from "./contacts.ts";
import { addDelegationCommands, collect, parseNameServer } from "./delegation.ts";
import { CommandFailure, exitCodes, guarded, orderOnce } from "./failures.ts";
import { addFollowOptions, type FollowOptions } from "./follow.ts";
import { addCsvOption, addListOptions, type ListOptions, printCsv, printList } from "./listing.ts";
import { addHistoryList } from "./order-lists.ts";
import { readDomain, reportOrdered } from "./orders.ts";
import { printFields, printJson, printTable } from "./output.ts";
import { addPaidCommands } from "./paid.ts";
import { addRenewalCommand } from "./renewal.ts";
import { addConnectionOptions, type ConnectionOptions, openClient } from "./settings.ts";
import { addTransferCommands } from "./transfers.ts";

const columns = ["domain_name", "state", "expiration_date", "will_renew"];
const availabilityColumns = ["domain_name", "availability", "premium.amount", "premium.currency", "reason"];
const departureColumns = ["domain_name", "left_at", "reason", "gaining_registrar", "restorable_until"];
const renewalColumns = ["domain_name", "expiration_date", "will_renew", "status", "due_at", "renewed_until"];
const renewalStatuses: RenewalStatus[] = ["Scheduled", "Processing", "Attention", "Lapsing", "Renewed", "Ended"];

interface ListDomainsOptions extends ConnectionOptions, ListOptions {
  prefix?: string;
  expiresBefore?: string;
  willRenew?: "true" | "false";
}

interface RegisterOptions extends ConnectionOptions, FollowOptions, ContactFiles {
  file?: string;
  retryFailed?: boolean;
  years?: number;
  nameServer?: NameServer[];
  renew: boolean;
  allocationToken?: string;
  dryRun?: boolean;
  idempotencyKey?: string;
  json?: boolean;
}

export function addDomainCommands(program: Command, clock: Clock): void {
  const domains = program.command("domains").description("your domain names");

  const list = domains
    .command("list")
    .description("list your domain names")
    .option("--prefix <text>", "only names that begin like this")
    .option("--expires-before <date>", "only names that expire before this date or time: 2027-01-31")
    .addOption(
      new Option("--will-renew <answer>", "only names that will renew, or will not").choices(["true", "false"]),
    )
    .addHelpText(
      "after",
      "\nExamples:\n  deedhouse domains list --all --json\n" +
        "  deedhouse domains list --expires-before 2027-01-31 --will-renew false\n" +
        "  deedhouse domains list --csv > domains.csv",
    );
  addConnectionOptions(addCsvOption(addListOptions(list))).action(
    guarded(async ({ prefix, expiresBefore, willRenew, ...options }: ListDomainsOptions) => {
      const client = await openClient(options, clock);
      const filter = { namePrefix: prefix, expiresBefore, willRenew: willRenew && willRenew === "true" };
      if (options.csv) return printCsv(options, client.exportDomains(filter));
      const getPage = (page: PageOptions) => client.listDomains({ ...page, ...filter });
      await printList(options, columns, getPage, () => client.allDomains(filter));
    }),
  );

  const get = domains
    .command("get <domain-name>")
    .description("show one of your domain names")
    .option("--json", "print the API's JSON")
    .addHelpText("after", "\nExample:\n  deedhouse domains get example.com");
  addConnectionOptions(get).action(
    guarded(async (domainName: string, options: ConnectionOptions & { json?: boolean }) => {
      const { data } = await (await openClient(options, clock)).getDomain(domainName);
      if (options.json) printJson(data);
      else printFields(data);
    }),
  );

  addAvailabilityCommand(domains, clock);

  const departures = domains
    .command("departures")
    .description("list the domain names that have left your portfolio, the newest departure first")
    .addHelpText("after", "\nExamples:\n  deedhouse domains departures\n  deedhouse domains departures --all --json");
  addConnectionOptions(addCsvOption(addListOptions(departures))).action(
    guarded(async (options: ConnectionOptions & ListOptions) => {
      const client = await openClient(options, clock);
      if (options.csv) return printCsv(options, client.exportDepartures());
      await printList(options, departureColumns, client.listDepartures, client.allDepartures);
    }),
  );

  addRenewalCommand(domains, clock);
  addRenewalList(domains, clock);
  addDelegationCommands(domains, clock);
  addContactsCommand(domains, clock);
  addPaidCommands(domains, clock);
  addTransferCommands(domains, clock);
  addHistoryList(domains, clock);

  addRegisterCommand(domains, clock);
}

function addRegisterCommand(domains: Command, clock: Clock): void {
  const register = domains
    .command("register [domain-name]")
    .description("order the registration of a free domain name, or of every name in a file")
    .option("--file <file>", "one name on each line; the same command continues where it was stopped")
    .option("--retry-failed", "with --file: order names again whose orders have failed")
    .option("--years <number>", "for how many years; by default the suffix's usual period", parseWholeNumber)
    .option("--name-server <host>", "HOST, or HOST=ADDRESS,ADDRESS; repeat it for more", collect(parseNameServer))
    .addOption(contactOption("registrant"))
    .addOption(contactOption("admin"))
    .addOption(contactOption("tech"))
    .addOption(contactOption("billing"))
    .option("--no-renew", "let the name expire at the end of its term")
    .option("--allocation-token <token>", "the token with which the registry allocates the name")
    .option("--dry-run", "make every check, show what would be ordered, and order nothing")
    .option(
      "--idempotency-key <key>",
      "a repeat with the same key is the same order, never a second one",
      parseIdempotencyKey,
    )
    .option("--json", "print JSON: the order, and with --wait its domain")
    .addHelpText(
      "after",
      "\nExamples:\n  deedhouse domains register example.com --wait --timeout 10m\n  deedhouse domains register example.com --years 2 --name-server ns1.dns-host.net --dry-run\n  deedhouse domains register --file names.txt --wait --timeout 2h" +
        "\n\nWith --file, what became of each name is kept in FILE.orders. Orders are placed at the pace of the rate limit, and" +
        "\nnothing is ordered twice, however often the command is stopped and repeated.",
    );
  addConnectionOptions(addFollowOptions(register)).action(
    guarded(async (domainName: string | undefined, options: RegisterOptions) => {
      if ((domainName === undefined) === (options.file === undefined)) {
        throw new CommandFailure("give either a domain name or --file", exitCodes.usage);
      }
      if (domainName !== undefined) await registerDomain(domainName, options, clock);
      else await registerNames(options, clock);
    }),
  );
}

function addAvailabilityCommand(domains: Command, clock: Clock): void {
  const availability = domains
    .command("availability <domain-names...>")
    .description("say which names can be registered, at most 50; each counts as a request")
    .option("--json", "print the API's JSON")
    .addHelpText("after", "\nExample:\n  deedhouse domains availability example.com example.net");
  addConnectionOptions(availability).action(
    guarded(async (domainNames: string[], options: ConnectionOptions & { json?: boolean }) => {
      const { data } = await (await openClient(options, clock)).checkAvailability(domainNames);
      if (options.json) printJson(data);
      else printTable(data, availabilityColumns);
    }),
  );
}

interface ListRenewalsOptions extends ConnectionOptions, ListOptions {
  status?: RenewalStatus;
}

function addRenewalList(domains: Command, clock: Clock): void {
  const renewals = domains
    .command("renewals")
    .description("list your domain names that renew or end soon, and recent results")
    .addOption(statusOption("only renewals in this status", renewalStatuses))
    .addHelpText(
      "after",
      "\nExamples:\n  deedhouse domains renewals\n  deedhouse domains renewals --status Lapsing --all",
    );
  addConnectionOptions(addCsvOption(addListOptions(renewals))).action(
    guarded(async ({ status, ...options }: ListRenewalsOptions) => {
      const client = await openClient(options, clock);
      if (options.csv) return printCsv(options, client.exportRenewals({ status }));
      const getPage = (page: PageOptions) => client.listRenewals({ ...page, status });
      await printList(options, renewalColumns, getPage, () => client.allRenewals({ status }));
    }),
  );
}

async function readWanted(options: RegisterOptions) {
  const { years, nameServer: nameServers, renew, allocationToken } = options;
  const contacts = await readContactFiles(options);
  return { years, nameServers, willRenew: renew ? undefined : false, allocationToken, contacts };
}

async function registerNames({ file = "", ...options }: RegisterOptions, clock: Clock): Promise<void> {
  if (options.dryRun || options.idempotencyKey !== undefined) {
    throw new CommandFailure("--dry-run and --idempotency-key are for one name", exitCodes.usage);
  }
  const { registerFile } = await import("./register-file/register-file.ts");
  const client = await openClient(options, clock);
  await registerFile(client, clock, await readWanted(options), { ...options, file });
}

async function registerDomain(domainName: string, options: RegisterOptions, clock: Clock): Promise<void> {
  const client = await openClient(options, clock);
  const { idempotencyKey = newIdempotencyKey() } = options;
  const wanted = { ...(await readWanted(options)), idempotencyKey };
  if (options.dryRun) {
    const { data } = await client.checkRegistration(domainName, wanted);
    if (options.json) printJson(data);
    else printFields(data);
    return;
  }
  const accepted = await orderOnce(idempotencyKey, () => client.registerDomain(domainName, wanted));
  await reportOrdered(client, accepted, options, readDomain(domainName));
}
