import type { Command } from "commander";
import type { Clock } from "../sdk/clock.ts";
import type { OrderKind, OrderStatus, PageOptions } from "../sdk/types.ts";
import { statusOption } from "./arguments.ts";
import { guarded } from "./failures.ts";
import { addCsvOption, addListOptions, type ListOptions, printCsv, printList } from "./listing.ts";
import { orderStatuses } from "./orders.ts";
import { addConnectionOptions, type ConnectionOptions, openClient } from "./settings.ts";

const orderColumns = ["order_code", "kind", "domain_name", "status", "created_at", "ended_at", "error_text"];
const eventColumns = ["at", "event", "order.order_code", "order.kind", "order.status", "text"];

interface ListOrdersOptions extends ConnectionOptions, ListOptions {
  domainName?: string;
  /** As it was given: the service says which kinds there are. */
  kind?: OrderKind;
  status?: OrderStatus;
}

/** The lists of a reseller's orders, in the group `domains`: `orders list` is an operator's, of all resellers. */
export function addOrderLists(domains: Command, clock: Clock): void {
  const orders = domains
    .command("orders")
    .description("list the orders of your domain names, the newest first")
    .option("--domain-name <name>", "only orders about this name")
    .option("--kind <kind>", "only orders of this kind: create, renew, transfer-lock, …")
    .addOption(statusOption("only orders in this status", orderStatuses))
    .addHelpText(
      "after",
      "\nExamples:\n  deedhouse domains orders --status Errors\n  deedhouse domains orders --domain-name example.com --all",
    );
  addConnectionOptions(addCsvOption(addListOptions(orders))).action(
    guarded(async ({ domainName, kind, status, ...options }: ListOrdersOptions) => {
      const client = await openClient(options, clock);
      const filter = { domainName, kind, status };
      if (options.csv) return printCsv(options, client.exportOrders(filter));
      const getPage = (page: PageOptions) => client.listOrders({ ...page, ...filter });
      await printList(options, orderColumns, getPage, () => client.allOrders(filter));
    }),
  );

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
