/** `deedhouse node install`: runs on the machine that becomes a node, and needs no database. */
import { hostname } from "node:os";
import { createInterface } from "node:readline/promises";
import { type Command, InvalidArgumentError, Option } from "commander";
import { systemClock } from "#lib/clock.ts";
import type { MachineSettings } from "#nodes/install/machine-settings.ts";
import type { Change } from "#nodes/install/plan.ts";
import { wholeNumber } from "#operator/arguments.ts";
import { commandGroup } from "#operator/command.ts";
import { readGivenFile } from "#operator/given-file.ts";
import { CommandFailure, exitCodes, guarded } from "../../../client/cli/failures.ts";

const portMax = 65_535;

interface NodeInstallOptions {
  token?: string;
  tokenFile?: string;
  dryRun?: boolean;
  yes?: boolean;
  root: string;
  hostName: string;
  address?: string;
  publicAddress?: string;
  ftpPort?: number;
  passivePorts?: { from: number; to: number };
  httpPort?: number;
  httpsPort?: number;
  ftpCertificate?: string;
  siteCertificate?: string;
}

export function addNodeInstallCommand(program: Command): void {
  const port = wholeNumber(1, portMax);
  commandGroup(program, "node", "hosting nodes: the machines that accounts are on")
    .command("install")
    .description(
      "make this machine (Debian 12) a hosting node of ProFTPD and nginx; run it again to bring it up to date",
    )
    .addOption(
      new Option(
        "--token-file <file>",
        "what deedhouse node token <id> printed, good for one machine and 24 hours; - is standard input",
      ).conflicts("token"),
    )
    .option("--token <token>", "the token itself: others on the machine can see it while this runs")
    .option("--dry-run", "say what would be changed, and change nothing")
    .option("--yes", "do not ask")
    .option("--host-name <name>", "what customers call the FTP server, for its certificate", hostname())
    .option("--address <ip>", "listen there alone; 0.0.0.0 is everywhere, :: also by IPv6")
    .option("--public-address <ip>", "where customers reach the machine, if it is behind address translation")
    .option("--ftp-port <n>", "instead of 21", port)
    .option("--passive-ports <from-to>", "for FTP's data, one for each transfer; instead of 30000-30999", portRange)
    .option("--http-port <n>", "instead of 80", port)
    .option("--https-port <n>", "instead of 443", port)
    .option("--ftp-certificate <file>", "PEM with key and chain for FTP; without it, a self-signed one is made")
    .option("--site-certificate <file>", "PEM with key and chain for *.<site domain>; likewise")
    .addOption(new Option("--root <dir>", "set up the system whose files are there, without starting it").default("/"))
    .addHelpText(
      "after",
      "\nWhat is not said stays as it was the last time. Files that are replaced are kept below" +
        "\n/var/lib/deedhouse/backups. A token is needed once, and again when the gateway has another address or TLS key." +
        "\nSee docs/hosting.md for what is needed beforehand." +
        "\n\nExamples:" +
        "\n  deedhouse node install --token-file token.txt --dry-run" +
        "\n  deedhouse node install --token-file - --host-name ftp7.example.net --yes < token.txt" +
        "\n  deedhouse node install --yes     # after an upgrade",
    )
    .action(guarded(install));
}

function portRange(text: string): { from: number; to: number } {
  const [from = 0, to = 0] = (/^([0-9]{1,5})-([0-9]{1,5})$/.exec(text) ?? []).slice(1).map(Number);
  if (from >= 1024 && from <= to && to <= portMax) return { from, to };
  throw new InvalidArgumentError("It must be two ports from 1024 on, such as 30000-30999.");
}

async function install(options: NodeInstallOptions): Promise<void> {
  const { openMachine } = await import("#nodes/install/machine.ts");
  const { planOf, probeNode, thisProgram } = await import("#nodes/install/install-machine.ts");
  const { carryOut, pendingChanges } = await import("#nodes/install/plan.ts");
  try {
    const machine = openMachine(options.root);
    const { plan, settings } = await planOf(machine, {
      agent: thisProgram,
      changes: settingsOf(options),
      token: readToken(options),
      hostName: options.hostName,
      ftpCertificate: options.ftpCertificate,
      siteCertificate: options.siteCertificate,
      clock: systemClock,
    });
    const changes = await pendingChanges(plan);
    show(changes, options.dryRun === true);
    if (changes.length === 0) print("Nothing is to be changed: the machine is set up.");
    if (options.dryRun) return;
    if (changes.length > 0) {
      if (options.yes !== true) await confirm();
      await carryOut(plan, (summary) => print(`… ${summary}`));
    }
    if (!machine.isBooted) return print("Nothing was started, for systemd does not run there now.");
    await probeNode(machine, settings, systemClock);
    print(
      "Done: FTP and web answer as they should. Accounts are placed here as soon as the gateway hears of the agent.",
    );
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure((error as Error).message, exitCodes.refused);
  }
}

const print = (line: string) => void process.stdout.write(`${line}\n`);

function show(changes: readonly Change[], withDetail: boolean): void {
  for (const { summary, detail } of changes) {
    print(`• ${summary}`);
    if (withDetail && detail) print(detail.trimEnd().replaceAll(/^/gm, "    "));
  }
}

/** What was said, and nothing else: the rest stays. */
function settingsOf(options: NodeInstallOptions): Partial<MachineSettings> {
  const { address, publicAddress, ftpPort, passivePorts, httpPort, httpsPort } = options;
  const said = Object.entries({ address, publicAddress, ftpPort, passivePorts, httpPort, httpsPort });
  return Object.fromEntries(said.filter(([, value]) => value !== undefined));
}

const readToken = ({ token, tokenFile }: NodeInstallOptions) =>
  tokenFile === undefined ? token : readGivenFile(tokenFile).trim();

async function confirm(): Promise<void> {
  if (!process.stdin.isTTY) {
    throw new CommandFailure("nobody is there to be asked whether to go on", exitCodes.usage, "Say --yes.");
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question('Type "yes" to change this: ').finally(() => terminal.close());
  if (answer.trim() !== "yes") throw new CommandFailure("nothing was changed", exitCodes.refused);
}
