import type { Command } from "commander";
import type { OperatorOptions } from "#operator/command.ts";
import { checkService, type Finding } from "../../../client/cli/check-service.ts";
import { CommandFailure, exitCodes, guarded } from "../../../client/cli/failures.ts";
import { printJson, printTable } from "../../../client/cli/output.ts";
import { addConnectionOptions, type ConnectionOptions, hasConnection } from "../../../client/cli/settings.ts";

export function addDoctorCommand(program: Command): void {
  const doctor = program
    .command("doctor")
    .helpGroup("For both:")
    .description("check everything that usually goes wrong, and say what to do")
    .option("--data <dir>", "the data folder of deedhouse start")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nResellers: whether the service answers, whether the clocks agree, and whether key and secret are accepted." +
        "\nOperators: the database, workers, registries, hosting nodes and alarms, on the server of deedhouse start, with --data" +
        "\nor with DATABASE_URL. Exit code 1 when something is wrong." +
        "\n\nExamples:\n  deedhouse doctor --profile live\n  deedhouse doctor --data /srv/deedhouse --json",
    );
  addConnectionOptions(doctor).action(guarded(runDoctor));
}

interface DoctorOptions extends ConnectionOptions, Partial<OperatorOptions> {}

const dataDirDefault = "data";

async function runDoctor({ data, json, ...options }: DoctorOptions): Promise<void> {
  const [findsService, { findDatabase }] = await Promise.all([hasConnection(options), import("#operator/context.ts")]);
  const findings = findsService ? await checkService(options) : [];
  const isHere = data !== undefined || canFind(() => findDatabase(dataDirDefault));
  if (isHere) {
    const { checkInstallation } = await import("#operator/doctor/check-installation.ts");
    findings.push(...(await checkInstallation(data ?? dataDirDefault)));
  }
  if (findings.length === 0) {
    const advice =
      "Resellers: give --profile, or --url, --key and --secret-file.\nOperators: give --data DIR, or set DATABASE_URL.";
    throw new CommandFailure("there is nothing to check", exitCodes.usage, advice);
  }
  if (json) printJson(findings);
  else printTable(findings.flatMap(asRows), ["result", "check", "finding"]);
  if (findings.some(({ result }) => result === "fault")) process.exitCode = exitCodes.unexpected;
}

function canFind(find: () => string): boolean {
  try {
    return find() !== "";
  } catch (error) {
    if (error instanceof CommandFailure) return false;
    throw error;
  }
}

const asRows = ({ check, result, text, advice }: Finding) => [
  { result, check, finding: text },
  ...(advice === undefined ? [] : [{ result: "", check: "", finding: `→ ${advice}` }]),
];
