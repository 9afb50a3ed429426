// The real tool as a child process for tests, except that every sleep is a line on stderr and takes no time.

import { Command } from "commander";
import { addClientCommands } from "../cli/client-commands.ts";
import { instantClock } from "./instant-clock.ts";

const program = new Command("deedhouse");
addClientCommands(
  program,
  instantClock((delayMs) => process.stderr.write(`slept ${delayMs / 1000} s\n`)),
);
await program.parseAsync();
