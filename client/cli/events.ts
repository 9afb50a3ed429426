import { type Command, InvalidArgumentError, Option } from "commander";
import type { Clock } from "../sdk/clock.ts";
import type { EventOptions, ServiceEvent } from "../sdk/types.ts";
import { parseDurationMs, parseWholeNumber } from "./arguments.ts";
import { guarded } from "./failures.ts";
import { note, print, printJson, printTable, safeJson, safeLine } from "./output.ts";
import { addConnectionOptions, type ConnectionOptions, openClient } from "./settings.ts";

interface EventsOptions extends ConnectionOptions {
  types?: string;
  json?: boolean;
}

interface ListEventsOptions extends EventsOptions {
  after?: string;
  take?: number;
}

/** Where to begin, and the time if that was given. */
interface Begin {
  after: string;
  time?: string;
}

interface FollowEventsOptions extends EventsOptions {
  since?: Begin;
  after?: Begin;
}

/** Adds the group `events`. */
export function addEventCommands(program: Command, clock: Clock): void {
  const group = program.command("events").description("what has happened to your names, orders and hosting accounts");

  const list = addTypesOption(group.command("list").description("list events, the oldest first"))
    .option("--after <id>", "only events after this one, or since a time (default: from the oldest, 90 days back)")
    .option("--take <count>", "the maximum number of events, at most 1000 (default 100)", parseWholeNumber)
    .option("--json", "print the API's JSON")
    .addHelpText("after", "\nExample:\n  deedhouse events list --types 'domain.*,order.failed'");
  addConnectionOptions(list).action(
    guarded(async ({ take, json, ...options }: ListEventsOptions) => {
      const client = await openClient(options, clock);
      const { data: events, next } = await client.listEvents({ after: options.after, ...typesOf(options), take });
      if (json) printJson(events);
      else if (events.length > 0) printTable(events.map(rowOf), ["created_at", "type", "about", "id"]);
      else note("Nothing to show.");
      note(`Continue with --after ${next}`);
    }),
  );

  const follow = addTypesOption(group.command("follow").description("print events as they happen, a line each"))
    .option(
      "--since <when>",
      "begin in the past: a time, how long ago (2h), or the id of an event (default: now)",
      (when) => beginOf(when, clock),
    )
    .addOption(new Option("--after <id>").hideHelp().argParser((when) => beginOf(when, clock)))
    .option("--json", "print each event as a line of JSON")
    .addHelpText(
      "after",
      "\nIt ends with Ctrl-C.\n\nExamples:\n  deedhouse events follow --types 'hosting.*' --json\n  deedhouse events follow --since 2h",
    );
  addConnectionOptions(follow).action(
    guarded(async ({ json, since, after: begin = since ?? { after: "now" }, ...options }: FollowEventsOptions) => {
      const client = await openClient(options, clock);
      for await (const event of client.followEvents({ after: begin.after, ...typesOf(options) })) {
        // The service begins a little before a time.
        if (begin.time && event.created_at < begin.time) continue;
        const { created_at, type, about, id } = rowOf(event);
        print(json ? safeJson(event) : [created_at, type, about, id].map(safeLine).join("  "));
      }
    }),
  );
}

const addTypesOption = (command: Command): Command =>
  command.option("--types <types>", "types or families such as domain.*, with commas (default: all)");

const typesOf = ({ types }: EventsOptions): EventOptions => ({ types: types?.split(",") });

/** Throws commander's `InvalidArgumentError`. */
function beginOf(when: string, clock: Clock): Begin {
  if (when.startsWith("evt_")) return { after: when };
  const time = /^[0-9]+[smhd]$/.test(when) ? clock.now().getTime() - parseDurationMs(when) : Date.parse(when);
  if (Number.isNaN(time)) {
    throw new InvalidArgumentError(
      "Give a time such as 2027-01-31T12:00:00Z, how long ago such as 2h, or an event's id.",
    );
  }
  const text = new Date(time).toISOString();
  return { after: text, time: text };
}

function rowOf({ created_at, type, id, data }: ServiceEvent) {
  const { domain_name, identifier, order_code } = data;
  const about = [domain_name ?? identifier, order_code].filter((word) => word !== undefined).join(" ");
  return { created_at, type, about, id };
}
