import type { Command } from "commander";
import type { Clock } from "../sdk/clock.ts";
import type { EventOptions, ServiceEvent } from "../sdk/types.ts";
import { parseWholeNumber } from "./arguments.ts";
import { guarded } from "./failures.ts";
import { note, print, printJson, printTable, safeJson, safeLine } from "./output.ts";
import { addConnectionOptions, type ConnectionOptions, openClient } from "./settings.ts";

interface EventsOptions extends ConnectionOptions {
  after?: string;
  types?: string;
  take?: number;
  json?: boolean;
}

/** Adds the group `events`. */
export function addEventCommands(program: Command, clock: Clock): void {
  const group = program.command("events").description("what has happened to your names, orders and hosting accounts");

  const list = addEventOptions(group.command("list").description("list events, the oldest first"))
    .option("--take <count>", "the maximum number of events, at most 1000 (default 100)", parseWholeNumber)
    .option("--json", "print the API's JSON")
    .addHelpText("after", "\nExample:\n  deedhouse events list --types 'domain.*,order.failed'");
  addConnectionOptions(list).action(
    guarded(async ({ take, json, ...options }: EventsOptions) => {
      const client = await openClient(options, clock);
      const { data: events, next } = await client.listEvents({ ...selectionOf(options), take });
      if (json) printJson(events);
      else if (events.length > 0) printTable(events.map(rowOf), ["created_at", "type", "about", "id"]);
      else note("Nothing to show.");
      note(`Continue with --after ${next}`);
    }),
  );

  const follow = addEventOptions(group.command("follow").description("print events as they happen, a line each"))
    .option("--json", "print each event as a line of JSON")
    .addHelpText("after", "\nIt ends with Ctrl-C.\n\nExample:\n  deedhouse events follow --types 'hosting.*' --json");
  addConnectionOptions(follow).action(
    guarded(async ({ json, ...options }: EventsOptions) => {
      const client = await openClient(options, clock);
      for await (const event of client.followEvents(selectionOf(options))) {
        const { created_at, type, about, id } = rowOf(event);
        print(json ? safeJson(event) : [created_at, type, about, id].map(safeLine).join("  "));
      }
    }),
  );
}

const addEventOptions = (command: Command): Command =>
  command
    .option("--after <id>", "only events after this one (default: from the oldest, 90 days back)")
    .option("--types <types>", "types or families such as domain.*, with commas (default: all)");

const selectionOf = ({ after, types }: EventsOptions): EventOptions => ({ after, types: types?.split(",") });

function rowOf({ created_at, type, id, data }: ServiceEvent) {
  const { domain_name, identifier, order_code } = data;
  const about = [domain_name ?? identifier, order_code].filter((word) => word !== undefined).join(" ");
  return { created_at, type, about, id };
}
