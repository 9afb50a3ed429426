import type { Command } from "commander";
import type { Clock } from "../sdk/clock.ts";
import { newIdempotencyKey } from "../sdk/sign.ts";
import type { PageOptions, RenewalStatus } from "../sdk/types.ts";
import { parseIdempotencyKey, statusOption } from "./arguments.ts";
import { CommandFailure, exitCodes, guarded, orderOnce } from "./failures.ts";
import { addFollowOptions, type FollowOptions } from "./follow.ts";
import { addListOptions, type ListOptions, printList } from "./listing.ts";
import { checkFinished, followOrder } from "./orders.ts";
import { printFields, printJson } from "./output.ts";
import { addConnectionOptions, type ConnectionOptions, openClient } from "./settings.ts";

const columns = ["domain_name", "expiration_date", "will_renew", "status"];
const renewalColumns = ["domain_name", "expiration_date", "will_renew", "status", "due_at", "renewed_until"];
const renewalStatuses: RenewalStatus[] = ["Scheduled", "Processing", "Attention", "Lapsing", "Renewed", "Ended"];

interface RegisterOptions extends ConnectionOptions, FollowOptions {
  idempotencyKey?: string;
  json?: boolean;
}

export function addDomainCommands(program: Command, clock: Clock): void {
  const domains = program.command("domains").description("your domain names");

  const list = domains
    .command("list")
    .description("list your domain names")
    .addHelpText("after", "\nExamples:\n  deedhouse domains list --take 100\n  deedhouse domains list --all --json");
  addConnectionOptions(addListOptions(list)).action(
    guarded(async (options: ConnectionOptions & ListOptions) => {
      const client = await openClient(options, clock);
      await printList(options, columns, client.listDomains, client.allDomains);
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

  addRenewCommands(domains, clock);

  const register = domains
    .command("register <domain-name>")
    .description("order the registration of a free domain name")
    .option(
      "--idempotency-key <key>",
      "a repeat with the same key is the same order, never a second one",
      parseIdempotencyKey,
    )
    .option("--json", "print JSON: the order, and with --wait its domain")
    .addHelpText("after", "\nExample:\n  deedhouse domains register example.com --wait --timeout 10m");
  addConnectionOptions(addFollowOptions(register)).action(
    guarded(async (domainName: string, options: RegisterOptions) => registerDomain(domainName, options, clock)),
  );
}

interface RenewOptions extends ConnectionOptions {
  on?: boolean;
  off?: boolean;
  json?: boolean;
}

interface ListRenewalsOptions extends ConnectionOptions, ListOptions {
  status?: RenewalStatus;
}

function addRenewCommands(domains: Command, clock: Clock): void {
  const renew = domains
    .command("renew <domain-name>")
    .description("switch the renewal of one of your domain names on or off")
    .option("--on", "renew the name at the end of its term")
    .option("--off", "let the name expire at the end of its term")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  deedhouse domains renew example.com --off");
  addConnectionOptions(renew).action(
    guarded(async (domainName: string, { on = false, off = false, json, ...options }: RenewOptions) => {
      if (on === off) throw new CommandFailure("give either --on or --off", exitCodes.usage);
      const client = await openClient(options, clock);
      await client.setWillRenew(domainName, on);
      const change = { domain_name: domainName, will_renew: on };
      if (json) printJson(change);
      else printFields(change);
    }),
  );

  const renewals = domains
    .command("renewals")
    .description("list your domain names that renew or end soon, and recent results")
    .addOption(statusOption("only renewals in this status", renewalStatuses))
    .addHelpText(
      "after",
      "\nExamples:\n  deedhouse domains renewals\n  deedhouse domains renewals --status Lapsing --all",
    );
  addConnectionOptions(addListOptions(renewals)).action(
    guarded(async ({ status, ...options }: ListRenewalsOptions) => {
      const client = await openClient(options, clock);
      const getPage = (page: PageOptions) => client.listRenewals({ ...page, status });
      await printList(options, renewalColumns, getPage, () => client.allRenewals({ status }));
    }),
  );
}

async function registerDomain(domainName: string, options: RegisterOptions, clock: Clock): Promise<void> {
  const client = await openClient(options, clock);
  const { idempotencyKey = newIdempotencyKey() } = options;
  const accepted = await orderOnce(idempotencyKey, () => client.registerDomain(domainName, { idempotencyKey }));
  const { order_code: orderCode } = accepted.data;
  if (!options.wait) {
    const order = { order_code: orderCode, location: accepted.location, check_after: accepted.checkAfterSeconds };
    if (options.json) printJson(order);
    else printFields(order);
    return;
  }
  if (!options.json) printFields({ order_code: orderCode });
  const order = await followOrder(client, orderCode, options.timeout, accepted);
  const domain = order.status === "Finished" ? (await client.getDomain(domainName)).data : undefined;
  if (options.json) printJson({ ...order, domain });
  else if (domain) printFields(domain);
  checkFinished(order);
}
