import type { Command } from "commander";
import type { Clock } from "../sdk/clock.ts";
import type { OrderKind, OrderStatus, PageOptions } from "../sdk/types.ts";
import { statusOption } from "./arguments.ts";
import { guarded } from "./failures.ts";
import { addCsvOption, addListOptions, type ListOptions, printCsv, printList } from "./listing.ts";
import { orderStatuses } from "./orders.ts";
import { note } from "./output.ts";
import { addConnectionOptions, type ConnectionOptions, openClient } from "./settings.ts";

const orderColumns = ["order_code", "kind", "domain_name", "status", "created_at", "ended_at", "error_text"];
const eventColumns = ["at", "event", "order.order_code", "order.kind", "order.status", "text"];

interface ListOrdersOptions extends ConnectionOptions, ListOptions {
  domainName?: string;
  /** As it was given: the service says which kinds there are. */
  kind?: OrderKind;
  status?: OrderStatus;
}

/** Adds `orders list`. */
export function addOrderList(orders: Command, clock: Clock): void {
  addList(orders.command("list"), clock, () => {});
}

/** Adds the list of a domain name's history, and that of orders under its earlier name. */
export function addHistoryList(domains: Command, clock: Clock): void {
  addList(domains.command("orders", { hidden: true }), clock, () =>
    note("deedhouse domains orders is now deedhouse orders list."),
  );
  addHistory(domains, clock);
}

function addList(command: Command, clock: Clock, warn: () => void): void {
  const list = command
    .description("list the orders of your domain names, the newest first")
    .option("--domain-name <name>", "only orders about this name")
    .option("--kind <kind>", "only orders of this kind: create, renew, transfer-lock, …")
    .addOption(statusOption("only orders in this status", orderStatuses))
    .addHelpText(
      "after",
      "\nExamples:\n  deedhouse orders list --status Errors\n  deedhouse orders list --domain-name example.com --all" +
        "\n\nThe operator's list, of all accounts: deedhouse operator orders list",
    );
  addConnectionOptions(addCsvOption(addListOptions(list))).action(
    guarded(async ({ domainName, kind, status, ...options }: ListOrdersOptions) => {
      warn();
      const client = await openClient(options, clock);
      const filter = { domainName, kind, status };
      if (options.csv) return printCsv(options, client.exportOrders(filter));
      const getPage = (page: PageOptions) => client.listOrders({ ...page, ...filter });
      await printList(options, orderColumns, getPage, () => client.allOrders(filter));
    }),
  );
}

function addHistory(domains: Command, clock: Clock): void {
  const history = domains
    .command("history <domain-name>")
    .description("list what happened to a domain name that is yours, or was, the newest first")
    .addHelpText("after", "\nExample:\n  deedhouse domains history example.com --all");
  addConnectionOptions(addListOptions(history)).action(
    guarded(async (domainName: string, options: ConnectionOptions & ListOptions) => {
      const client = await openClient(options, clock);
      const getPage = (page: PageOptions) => client.listDomainHistory(domainName, page);
      await printList(options, eventColumns, getPage, () => client.allDomainHistory(domainName));
    }),
  );
}
