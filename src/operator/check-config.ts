import type { Command } from "commander";
import { asFailure } from "#operator/command.ts";
import { CommandFailure, exitCodes, guarded } from "../../client/cli/failures.ts";
import { printFields, printJson } from "../../client/cli/output.ts";

export function addCheckConfigCommand(program: Command): void {
  program
    .command("check-config")
    .description(
      "say everything that keeps api and worker from starting with these settings; starts nothing (operator)",
    )
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nChecks the settings in the environment, the files that they name, the schema and the master key of the database," +
        "\nas api and worker do before they listen. Exit code 2 when something is wrong or unsafe, 8 when only the" +
        "\ndatabase does not answer." +
        "\n\nA shell reads the settings of a service with: set -a; . /etc/deedhouse/deedhouse.env" +
        "\n\nExample:\n  deedhouse check-config --json",
    )
    .action(
      guarded(async ({ json }: { json?: boolean }) => {
        const { checkStart } = await import("#checks/check-start.ts");
        const { config, mistakes, unavailable } = await checkStart("api");
        const found = [...mistakes, ...(unavailable ? [unavailable.message] : [])];
        if (json) printJson({ mistakes: found });
        if (mistakes.length > 0 && json) process.exitCode = exitCodes.usage;
        else if (mistakes.length > 0) {
          throw new CommandFailure(["these settings are wrong or unsafe:", ...found].join("\n  "), exitCodes.usage);
        } else if (unavailable) throw asFailure(unavailable);
        else if (!json) printFields({ settings: "sound: api and worker can start", deployment: config.deployment });
      }),
    );
}
