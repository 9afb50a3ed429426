/** `deedhouse reconcile domains`: compares many names with their registries. */
import type { Command } from "commander";
import { findSuspects } from "#domains/compare/adopt.ts";
import { findRegistryOf, namesOf } from "#domains/compare/report.ts";
import { listRegistries } from "#domains/registry/report.ts";
import { parseDomainName } from "#lib/domain-name.ts";
import { asTable, commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import type { OpenOperatorContext } from "#operator/context.ts";
import { askOwner, type OwnersAnswer, requireOwner } from "#operator/domains/ask.ts";
import { readGivenFile } from "#operator/given-file.ts";
import { addTimeoutOption } from "#operator/wait-for.ts";
import { CommandFailure, exitCodes } from "../../../client/cli/failures.ts";

/** Questions that are open at the same time: enough that the owner never waits for the next one. */
const questionsMax = 8;

interface ReconcileOptions {
  all?: boolean;
  registry?: string;
  names?: string;
  repair?: boolean;
  timeout: number;
}

export function addReconcileCommands(program: Command): void {
  const reconcile = commandGroup(program, "reconcile", "compare this database with what it is about");
  const domains = operatorCommand(reconcile, "domains", "compare names with their registries, and list each difference")
    .option("--all", "all names of all portfolios; default: those with a recent order or a renewal that is due")
    .option("--registry <id>", "only this registry's names")
    .option("--names <file>", "the names of this file instead, one per line; - is standard input")
    .option("--repair", "take over what the registries show")
    .addHelpText(
      "after",
      "\nThe worker asks, within a tenth of a registry's commandsPerSecond and while its sessions are idle. The same comparison" +
        "\nruns every night, and takes over what it finds. --repair changes only this database, never a registry." +
        "\n\nNames that a registry holds for us and that no portfolio has are listed too, as far as messages, orders for a person" +
        "\nand --names name them: deedhouse operator domains adopt gives one to an account." +
        "\n\nExit code 1 when there are differences that were not taken over." +
        "\n\nExamples:\n  deedhouse reconcile domains" +
        "\n  deedhouse reconcile domains --all --repair --timeout 600" +
        "\n  deedhouse reconcile domains --names invoice.txt",
    );
  addTimeoutOption(domains, "for each answer").action(
    onDatabase(
      (context, options: ReconcileOptions) => reconcileNames(context, options),
      asTable("domain_name", "account", "difference", "here", "registry", "repaired"),
    ),
  );
}

/** A name to compare. */
interface Candidate {
  name: string;
  registryId: string | null;
  /** Where a name comes from that no portfolio may have. */
  source?: string;
}

interface Row {
  domain_name: string;
  difference: string;
  here?: string;
  registry?: string;
  repaired: boolean;
}

async function reconcileNames(context: OpenOperatorContext, options: ReconcileOptions): Promise<Row[]> {
  const { repair: takesOver = false, timeout } = options;
  const candidates =
    options.names === undefined ? portfolioNames(context, options) : givenNames(context, options.names);
  const rows: Row[] = [];
  const work = async () => {
    for (let next = await candidates.next(); !next.done; next = await candidates.next()) {
      const { name, registryId } = next.value;
      const answer = await askOwner(context, { registryId, name, takesOver, isPaced: true }, timeout);
      rows.push(...rowsOf(next.value, answer));
    }
  };
  await Promise.all(Array.from({ length: questionsMax }, work));
  if (rows.some(({ repaired }) => !repaired)) process.exitCode = exitCodes.unexpected;
  return rows.toSorted((one, other) => (one.domain_name < other.domain_name ? -1 : 1));
}

async function* portfolioNames(
  context: OpenOperatorContext,
  { all = false, registry: only }: ReconcileOptions,
): AsyncGenerator<Candidate> {
  const registries = await listRegistries(context);
  const ids = registries.map(({ registry }) => registry).filter((id) => only === undefined || id === only);
  if (ids.length === 0) {
    const advice = "deedhouse registry list lists the known ones.";
    throw new CommandFailure(`there is no registry ${only ?? "here"}`, exitCodes.notFound, advice);
  }
  for (const registryId of ids) {
    await requireOwner(context, registryId);
    for await (const name of namesOf(context, registryId, { all })) yield { name, registryId };
  }
  for (const suspect of await findSuspects(context)) if (ids.includes(suspect.registryId)) yield suspect;
}

async function* givenNames(context: OpenOperatorContext, path: string): AsyncGenerator<Candidate> {
  const lines = readGivenFile(path).split(/\r?\n/);
  const names = lines.map((line) => line.trim()).filter((line) => line !== "");
  await requireOwner(context, null);
  for (const name of new Set(names.map(parseDomainName))) {
    const registryId = await findRegistryOf(context, name);
    yield registryId === undefined ? { name, registryId: null, source: "the file" } : { name, registryId };
  }
}

/** A row per difference. */
function rowsOf({ name, source = "the portfolio" }: Candidate, answer: OwnersAnswer): Row[] {
  const row = (difference: string, more: Partial<Row> = {}): Row[] => [
    { domain_name: name, difference, repaired: false, ...more },
  ];
  switch (answer.is) {
    case "unknown":
    case "held-back":
      return row("not compared", { registry: answer.reason });
    case "held-by-us": {
      const { in_portfolio, differences, is_taken_over, shown } = answer;
      const until = shown.ex_date === null ? "" : ` until ${shown.ex_date}`;
      if (!in_portfolio) return row("no owner", { here: `found in ${source}`, registry: `held for us${until}` });
      return differences.flatMap(({ field, here, registry }) =>
        row(field, { here, registry, repaired: is_taken_over }),
      );
    }
    default:
      // What nobody has here, and the registry does not hold for us, is as it should be.
      if (source !== "the portfolio") return [];
      return row("gone", { registry: answer.reason, repaired: answer.departure === "left" });
  }
}
