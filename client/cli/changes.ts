/** What the commands share that order a change of a registered name. */
import type { Command } from "commander";
import type { Client } from "../sdk/client.ts";
import type { Clock } from "../sdk/clock.ts";
import { newIdempotencyKey } from "../sdk/sign.ts";
import type { Answer } from "../sdk/types.ts";
import { parseIdempotencyKey } from "./arguments.ts";
import { orderOnce } from "./failures.ts";
import { addFollowOptions, type FollowOptions } from "./follow.ts";
import { reportOrdered } from "./orders.ts";
import { addConnectionOptions, type ConnectionOptions, openClient } from "./settings.ts";

export interface ChangeOptions extends ConnectionOptions, FollowOptions {
  idempotencyKey?: string;
  json?: boolean;
}

export function addChangeOptions(command: Command): Command {
  command
    .option(
      "--idempotency-key <key>",
      "a repeat with the same key is the same order, never a second one",
      parseIdempotencyKey,
    )
    .option("--json", "print JSON: the order, and with --wait its end");
  return addConnectionOptions(addFollowOptions(command));
}

type Place = (client: Client, order: { idempotencyKey: string }) => Promise<Answer<{ order_code: string }>>;

/** Orders a change, and follows it with `--wait`. @param read with `--wait`: what the finished order brought */
export async function orderChange(
  options: ChangeOptions,
  clock: Clock,
  place: Place,
  read?: (client: Client) => Promise<object>,
): Promise<void> {
  await placeChange(await openClient(options, clock), options, place, read);
}

/** The same with a client that is open. */
export async function placeChange(
  client: Client,
  options: ChangeOptions,
  place: Place,
  read?: (client: Client) => Promise<object>,
): Promise<void> {
  const { idempotencyKey = newIdempotencyKey() } = options;
  const accepted = await orderOnce(idempotencyKey, () => place(client, { idempotencyKey }));
  await reportOrdered(client, accepted, options, read);
}
