/** The command-line tool: what a reseller does (client/cli), what an operator does, and starting everything. */
import { Command } from "commander";
import { wholeNumber } from "#operator/arguments.ts";
import { addCommands, operatorCommands } from "#operator/commands.ts";
import { addClientCommands } from "../client/cli/client-commands.ts";
import { CommandFailure, exitCodes, guarded } from "../client/cli/failures.ts";
import manifest from "../package.json" with { type: "json" };

const portBaseDefault = 7400;
const portBaseMax = 65_000;

export async function runTool(argv: string[]): Promise<void> {
  const program = new Command("deedhouse").description("A reseller gateway for domain names and hosting accounts.");
  program.version(manifest.version, "--version", "print the version");
  addClientCommands(program);
  const words = argv.slice(2);
  const parts = [
    ...operatorCommands,
    { groups: ["start", ...roleDescriptions.keys()], load: async () => addProcesses },
  ];
  if (words[0] !== "--version") await addCommands(program, parts, words);
  await program.parseAsync(argv);
}

interface StartCommandOptions {
  data: string;
  portBase: number;
  rateLimit?: number;
  readyFile?: string;
}

/** The entry point runs these itself, and the sandbox registry's help too; here they stand for the help. */
const roleDescriptions = new Map([
  ["api", "run the API alone; configured by environment variables (docs/operating.md)"],
  ["worker", "run the worker alone; configured by environment variables (docs/operating.md)"],
  ["sandbox-registry", "run the sandbox registry alone; has its own --help"],
]);

function addProcesses(program: Command): void {
  addStartCommand(program);
  for (const [name, description] of roleDescriptions) program.command(name).description(description);
}

function addStartCommand(program: Command): void {
  program
    .command("start")
    .description("start everything on this machine, in the foreground")
    .option("--data <dir>", "folder for everything that must outlive a restart", "data")
    .option(
      "--port-base <n>",
      "first of the ports that are used; 0 takes any free ones",
      wholeNumber(0, portBaseMax),
      portBaseDefault,
    )
    .option("--rate-limit <n>", "requests per minute of the sandbox's reseller", wholeNumber(1, 1_000_000_000))
    .option(
      "--ready-file <path>",
      "write how everything is reached, as JSON with the sandbox's secrets, once it answers",
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
