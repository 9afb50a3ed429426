import { type Command, Help, type Option } from "commander";
import { type Clock, systemClock } from "../sdk/clock.ts";
import { addDomainCommands } from "./domains.ts";
import { addEventCommands } from "./events.ts";
import { exitCodesHelp, exitOnUsageError } from "./failures.ts";
import { addHostingCommands } from "./hosting.ts";
import { addMcpCommand } from "./mcp.ts";
import { addOrderList } from "./order-lists.ts";
import { addOrderCommands } from "./orders.ts";
import { note, print } from "./output.ts";
import { addPackCommands } from "./packs.ts";
import { addProfileCommands } from "./profile-commands.ts";
import { addSignatureCommands } from "./signature.ts";
import { addWebhookCommands } from "./webhooks.ts";
import { addWhoamiCommand } from "./whoami.ts";
import { addZoneCommands } from "./zones.ts";

/**
 * Adds a reseller's commands (`whoami`, `domains`, `orders`, `dns`, `hosting`, `events`, `webhooks`, `packs`, `profile`, `signature` and `mcp`) to the
 * program; run it with `parseAsync`.
 * Makes command-line mistakes exit with 2 throughout the program. Call it before adding other commands, because a
 * command inherits this setting from its parent when it is added.
 */
export function addClientCommands(program: Command, clock: Clock = systemClock): void {
  program
    .exitOverride(exitOnUsageError)
    .configureOutput({ writeOut: (text) => print(text.trimEnd()), writeErr: (text) => note(text.trimEnd()) })
    .configureHelp({ optionDescription })
    .showHelpAfterError("Add --help for usage.")
    .addHelpText("after", exitCodesHelp)
    .commandsGroup("For resellers, over the API (--url, or a profile):");
  addWhoamiCommand(program, clock);
  addDomainCommands(program, clock);
  addOrderList(addOrderCommands(program, clock), clock);
  addZoneCommands(program, clock);
  addHostingCommands(program, clock);
  addEventCommands(program, clock);
  addWebhookCommands(program, clock);
  addPackCommands(program, clock);
  addProfileCommands(program);
  addSignatureCommands(program, clock);
  addMcpCommand(program, clock);
}

/** Commander's own text, and whether the option is required. */
function optionDescription(option: Option): string {
  const text = new Help().optionDescription(option);
  return option.mandatory ? `${text} (required)` : text;
}
