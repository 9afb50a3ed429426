import type { Command } from "commander";
import type { Client } from "../sdk/client.ts";
import type { Clock } from "../sdk/clock.ts";
import type { Answer, Order, OrderStatus } from "../sdk/types.ts";
import { CommandFailure, exitCodes, guarded } from "./failures.ts";
import { addFollowOptions, type FollowOptions, follow } from "./follow.ts";
import { printFields, printJson } from "./output.ts";
import { addConnectionOptions, type ConnectionOptions, openClient } from "./settings.ts";

const meanings: Record<OrderStatus, string> = {
  NotProvisioned: "not started yet",
  Processing: "in progress",
  Pending: "at the registry",
  Errors: "not successful",
  Finished: "done",
  FailedValidation: "failed validation and is blocked",
  Cancelled: "cancelled",
};

export const orderStatuses = Object.keys(meanings) as OrderStatus[];

const unfinished: readonly OrderStatus[] = ["NotProvisioned", "Processing", "Pending"];

interface GetOrderOptions extends ConnectionOptions, FollowOptions {
  json?: boolean;
}

/** @returns the group */
export function addOrderCommands(program: Command, clock: Clock): Command {
  const orders = program.command("orders").description("your orders of domain names");
  const get = orders
    .command("get <order-code>")
    .description("show the status of an order")
    .option("--json", "print the API's JSON")
    .addHelpText(
      "after",
      "\nExample:\n  deedhouse orders get REG-8F3K2M1Q-7XW --wait\n\nTo list your orders: deedhouse orders list",
    );
  addConnectionOptions(addFollowOptions(get)).action(
    guarded(async (orderCode: string, options: GetOrderOptions) => {
      const client = await openClient(options, clock);
      const order = options.wait
        ? await followOrder(client, orderCode, options.timeout)
        : (await client.getOrder(orderCode)).data;
      if (options.json) printJson(order);
      else printFields(order);
      if (options.wait) checkFinished(order);
    }),
  );
  return orders;
}

/** What a finished order brought. With a domain, the text output shows that instead of the order. */
interface Brought {
  domain?: object;
}

/** Prints an order that was just accepted; with --wait, follows it and prints its end. */
export async function reportOrdered(
  client: Client,
  accepted: Answer<{ order_code: string }>,
  { wait, timeout, json }: FollowOptions & { json?: boolean },
  read?: (client: Client) => Promise<Brought>,
): Promise<void> {
  const { order_code: orderCode } = accepted.data;
  const print = json ? printJson : printFields;
  if (!wait) {
    print({ order_code: orderCode, location: accepted.location, check_after: accepted.checkAfterSeconds });
    return;
  }
  if (!json) printFields({ order_code: orderCode });
  const order = await followOrder(client, orderCode, timeout, accepted);
  const brought = order.status === "Finished" ? await read?.(client) : undefined;
  if (brought?.domain && !json) printFields(brought.domain);
  else if (json || order.status === "Finished") print({ ...order, ...brought });
  checkFinished(order);
}

/** For {@link reportOrdered}: the domain as it is after the order. */
export const readDomain = (domainName: string) => async (client: Client) => ({
  domain: (await client.getDomain(domainName)).data,
});

/**
 * Waits for an order and shows progress. Resolves with its final state, or the last state seen when the time ran out.
 * `accepted` is the answer that has just created the order, if there is one.
 */
function followOrder(client: Client, orderCode: string, timeoutMs: number, accepted?: Answer<unknown>): Promise<Order> {
  const checkAfterSeconds = accepted?.checkAfterSeconds;
  return follow<Order>({
    opening: accepted && `${orderCode} accepted`,
    run: (onStatus) => client.waitForOrder(orderCode, { timeoutMs, checkAfterSeconds, onStatus }),
    describe: ({ status }) => `${orderCode} ${status}: ${meanings[status] ?? "unknown status"}`,
    isSuccess: ({ status }) => status === "Finished",
  });
}

/** Throws `CommandFailure` unless the order is `Finished`: it ended in failure, or is still in progress. */
function checkFinished(order: Order): void {
  if (order.status === "Finished") return;
  const name = `order ${order.order_code}`;
  if (unfinished.includes(order.status)) {
    throw new CommandFailure(
      `${name} is still ${order.status}`,
      exitCodes.stillGoing,
      `Nothing is lost. Follow it with: deedhouse orders get ${order.order_code} --wait`,
    );
  }
  throw new CommandFailure(
    `${name} ended as ${order.status}: ${order.error_text ?? meanings[order.status]}`,
    exitCodes.endedInFailure,
  );
}
