/** `deedhouse node install`: runs on the machine that becomes a node, without a database. */
import { hostname } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import { systemClock } from "#lib/clock.ts";
import type { MachineSettings } from "#nodes/install/machine-settings.ts";
import type { Change } from "#nodes/install/plan.ts";
import { wholeNumber } from "#operator/arguments.ts";
import { commandGroup } from "#operator/command.ts";
import { readGivenFile } from "#operator/given-file.ts";
import { ask } from "../../../client/cli/confirm.ts";
import { CommandFailure, exitCodes, guarded } from "../../../client/cli/failures.ts";
import { print } from "../../../client/cli/output.ts";

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
  commandGroup(program, "node", "hosting nodes: the machines of hosting accounts")
    .command("install")
    .description(
      "set up this machine (Debian 12) as a hosting node of ProFTPD and nginx; a repeat brings it up to date",
    )
    .addOption(
      new Option(
        "--token-file <file>",
        "the output of deedhouse node token <id>, valid for one machine and 24 hours; - is standard input",
      ).conflicts("token"),
    )
    .option("--token <token>", "the token itself; other users of the machine can see it while this runs")
    .option("--dry-run", "show the changes without making them")
    .option("--yes", "do not ask for confirmation")
    .option("--host-name <name>", "the FTP server's name for customers and for its certificate", hostname())
    .option("--address <ip>", "listen on this address only; 0.0.0.0 is any, :: includes IPv6")
    .option("--public-address <ip>", "the machine's address for customers, if it is behind NAT")
    .option("--ftp-port <n>", "instead of 21", port)
    .option("--passive-ports <from-to>", "FTP data ports, one per transfer, instead of 30000-30999", portRange)
    .option("--http-port <n>", "instead of 80", port)
    .option("--https-port <n>", "instead of 443", port)
    .option("--ftp-certificate <file>", "PEM with key and chain for FTP; without it, a self-signed one is made")
    .option("--site-certificate <file>", "PEM with key and chain for *.<site domain>; likewise")
    .addOption(new Option("--root <dir>", "set up the system in this folder, without starting it").default("/"))
    .addHelpText(
      "after",
      "\nOptions that are left out keep their last values. Replaced files are kept below" +
        "\n/var/lib/deedhouse/backups. A token is needed once, and again when the gateway's address or TLS key changes." +
        "\ndocs/hosting.md lists the prerequisites." +
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
    if (changes.length === 0) print("Nothing to change: the machine is set up.");
    if (options.dryRun) return;
    if (changes.length > 0) {
      if (options.yes !== true) await confirm();
      await carryOut(plan, (summary) => print(`… ${summary}`));
    }
    if (!machine.isBooted) return print("Nothing was started, because systemd is not running there.");
    await probeNode(machine, settings, systemClock);
    print("Done: FTP and web work. The gateway places accounts here as soon as the agent connects to it.");
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure((error as Error).message, exitCodes.refused);
  }
}

function show(changes: readonly Change[], withDetail: boolean): void {
  for (const { summary, detail } of changes) {
    print(`• ${summary}`);
    if (withDetail && detail) print(detail.trimEnd().replaceAll(/^/gm, "    "));
  }
}

/** Only the options that were given: the other settings stay. */
function settingsOf(options: NodeInstallOptions): Partial<MachineSettings> {
  const { address, publicAddress, ftpPort, passivePorts, httpPort, httpsPort } = options;
  const said = Object.entries({ address, publicAddress, ftpPort, passivePorts, httpPort, httpsPort });
  return Object.fromEntries(said.filter(([, value]) => value !== undefined));
}

const readToken = ({ token, tokenFile }: NodeInstallOptions) =>
  tokenFile === undefined ? token : readGivenFile(tokenFile).trim();

async function confirm(): Promise<void> {
  if ((await ask('Type "yes" to make these changes: ')) !== "yes")
    throw new CommandFailure("nothing was changed", exitCodes.refused);
}
