/** What the commands share that order a change of a registered name. */
import type { Command } from "commander";
import type { Client } from "../sdk/client.ts";
import type { Clock } from "../sdk/clock.ts";
import { newIdempotencyKey } from "../sdk/sign.ts";
import type { Answer } from "../sdk/types.ts";
import { parseIdempotencyKey } from "./arguments.ts";
import { orderOnce } from "./failures.ts";
import { addFollowOptions, type FollowOptions } from "./follow.ts";
import { checkFinished, followOrder } from "./orders.ts";
import { printFields, printJson } from "./output.ts";
import { addConnectionOptions, type ConnectionOptions, openClient } from "./settings.ts";

export interface ChangeOptions extends ConnectionOptions, FollowOptions {
  idempotencyKey?: string;
  json?: boolean;
}

export function addChangeOptions(command: Command): Command {
  command
    .option("--idempotency-key <key>", "a repeat with the same key is the same order", parseIdempotencyKey)
    .option("--json", "print JSON: the order");
  return addConnectionOptions(addFollowOptions(command));
}

/** Orders a change, and follows it with `--wait`. @param read with `--wait`: what the finished order brought, printed with it */
export async function orderChange(
  options: ChangeOptions,
  clock: Clock,
  place: (client: Client, order: { idempotencyKey: string }) => Promise<Answer<{ order_code: string }>>,
  read?: (client: Client) => Promise<object>,
): Promise<void> {
  const client = await openClient(options, clock);
  const { idempotencyKey = newIdempotencyKey(), json } = options;
  const accepted = await orderOnce(idempotencyKey, () => place(client, { idempotencyKey }));
  const { order_code: orderCode } = accepted.data;
  const print = json ? printJson : printFields;
  if (!options.wait) {
    print({ order_code: orderCode, location: accepted.location, check_after: accepted.checkAfterSeconds });
    return;
  }
  const order = await followOrder(client, orderCode, options.timeout, accepted);
  const brought = order.status === "Finished" ? await read?.(client) : undefined;
  print({ ...order, ...brought });
  checkFinished(order);
}
