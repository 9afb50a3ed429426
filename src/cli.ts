/** The command-line tool: a reseller's commands (client/cli), an operator's commands, and starting everything. */
import { Command } from "commander";
import { wholeNumber } from "#operator/arguments.ts";
import { addCommands, operatorCommands, readWords, wordsSinceSplit } from "#operator/commands.ts";
import { addClientCommands } from "../client/cli/client-commands.ts";
import { CommandFailure, exitCodes, guarded } from "../client/cli/failures.ts";
import { note } from "../client/cli/output.ts";
import manifest from "../package.json" with { type: "json" };

const portBaseDefault = 7400;
const portBaseMax = 65_000;

export async function runTool(argv: string[]): Promise<void> {
  const program = new Command("deedhouse").description("A reseller gateway for domain names and hosting accounts.");
  program.version(manifest.version, "--version", "print the version");
  addClientCommands(program);
  program.commandsGroup("For the operator, on the gateway's server (--data, or DATABASE_URL):");
  const words = readWords(argv.slice(2));
  const parts = [
    ...operatorCommands,
    { groups: ["start", ...roleDescriptions.keys()], load: async () => addProcesses },
  ];
  if (words[0] !== "--version") await addCommands(program, parts, words);
  const now = wordsSinceSplit(program, words);
  if (now) note(`deedhouse ${words.slice(0, 2).join(" ")} is now deedhouse ${now.slice(0, 3).join(" ")}.`);
  await program.parseAsync(now ?? words, { from: "user" });
}

interface StartCommandOptions {
  data: string;
  portBase: number;
  rateLimit?: number;
  readyFile?: string;
}

/** bin/deedhouse runs these itself, and the sandbox registry's help; they are listed here for the help. */
const roleDescriptions = new Map([
  ["api", "run the API alone; configured by environment variables (docs/operating.md)"],
  ["worker", "run the worker alone; configured by environment variables (docs/operating.md)"],
  ["sandbox-registry", "run the sandbox registry alone; see its --help"],
]);

function addProcesses(program: Command): void {
  program.commandsGroup("To run the gateway:");
  addStartCommand(program);
  for (const [name, description] of roleDescriptions) {
    const command = program.command(name).description(description);
    if (name === "api")
      command.option("--threads <n>", "threads that answer requests, instead of DEEDHOUSE_API_THREADS");
  }
}

function addStartCommand(program: Command): void {
  program
    .command("start")
    .description("start everything on this server, in the foreground")
    .option("--data <dir>", "folder for everything that must survive a restart", "data")
    .option(
      "--port-base <n>",
      "first of the ports to use; 0 takes any free ports",
      wholeNumber(0, portBaseMax),
      portBaseDefault,
    )
    .option("--rate-limit <n>", "requests per minute of the sandbox's reseller", wholeNumber(1, 1_000_000_000))
    .option(
      "--ready-file <path>",
      "write a JSON file with all addresses and the sandbox's secrets once everything answers",
    )
    .addHelpText(
      "after",
      "\nWith DATABASE_URL set, that database is used and no PostgreSQL is started." +
        "\n\nExample:\n  npm start -- --data /srv/deedhouse --port-base 8400",
    )
    .action(
      guarded(async ({ data, portBase, rateLimit, readyFile }: StartCommandOptions) => {
        const { start } = await import("#start/start.ts");
        await start({ dataDir: data, portBase, rateLimit, readyFile }).catch((error: Error) => {
          throw new CommandFailure(error.message, exitCodes.unexpected);
        });
      }),
    );
}
