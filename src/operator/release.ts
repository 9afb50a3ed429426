import type { Command } from "commander";
import { asTable, onDatabase, operatorCommand } from "#operator/command.ts";
import { listProcesses } from "#watch/processes.ts";

export function addReleaseCommand(program: Command): void {
  operatorCommand(program, "release", "list the processes and the release of each")
    .addHelpText(
      "after",
      "\nEach api and worker says every 20 s that it runs. One that stops is removed at once, one that was killed after a day." +
        "\n\nExample:\n  deedhouse release",
    )
    .action(onDatabase(listProcesses, asTable("host", "role", "pid", "release", "started_at", "seen_at", "running")));
}
