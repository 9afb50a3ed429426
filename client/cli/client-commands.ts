import { type Command, Help, type Option } from "commander";
import { type Clock, systemClock } from "../sdk/clock.ts";
import { addDomainCommands } from "./domains.ts";
import { exitCodesHelp, exitOnUsageError } from "./failures.ts";
import { addHostingCommands } from "./hosting.ts";
import { addOrderCommands } from "./orders.ts";
import { addPackCommands } from "./packs.ts";

/**
 * Adds what a reseller does, `domains`, `orders`, `hosting` and `packs`, to the program; run it with `parseAsync`.
 * Makes mistakes in the command line exit with 2 throughout the program, so call it before adding other commands:
 * a command takes this over from its parent when it is added.
 */
export function addClientCommands(program: Command, clock: Clock = systemClock): void {
  program
    .exitOverride(exitOnUsageError)
    .configureHelp({ optionDescription })
    .showHelpAfterError("Add --help to see how it is used.")
    .addHelpText("after", exitCodesHelp);
  addDomainCommands(program, clock);
  addOrderCommands(program, clock);
  addHostingCommands(program, clock);
  addPackCommands(program, clock);
}

/** Commander's own text, and whether the command can do without the option. */
function optionDescription(option: Option): string {
  const text = new Help().optionDescription(option);
  return option.mandatory ? `${text} (required)` : text;
}
