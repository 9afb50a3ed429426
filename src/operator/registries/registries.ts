import type { Command } from "commander";
import { pauseCreates, resumeCreatesPausedFor, setMaintenance } from "#domains/registry/pause.ts";
import { listRegistries, reportRegistry } from "#domains/registry/report.ts";
import { pointInTime, printableText } from "#operator/arguments.ts";
import { asTable, commandGroup, onDatabase, operatorCommand, type Printable } from "#operator/command.ts";
import type { OpenOperatorContext } from "#operator/context.ts";
import { OperatorError } from "#operator-error.ts";
import { CommandFailure, exitCodes } from "../../../client/cli/failures.ts";
import { print, printFields, printTable } from "../../../client/cli/output.ts";

export function addRegistryCommands(program: Command): void {
  const registry = commandGroup(program, "registry", "the registries");
  operatorCommand(registry, "list", "list the registries and their state")
    .addHelpText("after", "\nExample:\n  deedhouse registry list")
    .action(
      onDatabase(
        listRegistries,
        asTable("registry", "owner", "circuit", "paused", "maintenance", "live_orders", "open_messages"),
      ),
    );
  operatorCommand(registry, "show <id>", "show a registry's state, and its live orders by state")
    .addHelpText("after", "\nExample:\n  deedhouse registry show sandbox")
    .action(onDatabase((context, id: string) => getRegistry(context, id), printRegistry));
  addPauseCommands(registry);
  addMaintenanceCommand(registry);
}

async function getRegistry(context: OpenOperatorContext, id: string) {
  const report = await reportRegistry(context, id);
  if (!report) throw unknownRegistry(id);
  return report;
}

export function unknownRegistry(id: string): OperatorError {
  return new OperatorError("not-found", `no registry ${id} is known: deedhouse registry list lists the known ones`);
}

function printRegistry({ orders, ...registry }: Printable<Awaited<ReturnType<typeof getRegistry>>>): void {
  printFields(registry);
  if (orders.length === 0) return;
  print("");
  printTable(orders, ["state", "orders", "oldest"]);
}

function addPauseCommands(registry: Command): void {
  operatorCommand(registry, "pause <id>", "pause registrations at a registry until it is resumed")
    .requiredOption("--reason <text>", "the reason, for the record", printableText)
    .addHelpText(
      "after",
      "\nNew registrations are answered with 503. Accepted orders wait before their create is sent;" +
        "\norders that were sent are still resolved." +
        "\n\nExample:\n  deedhouse registry pause sandbox --reason 'prices change tonight'",
    )
    .action(
      onDatabase(async (context, id: string, { reason }: { reason: string }) => {
        await getRegistry(context, id);
        await pauseCreates(context, id, "operator", reason);
        return { registry: id, status: "paused" };
      }),
    );
  operatorCommand(registry, "resume <id>", "resume registrations at a paused registry")
    .addHelpText("after", "\nExample:\n  deedhouse registry resume sandbox")
    .action(
      onDatabase(async (context, id: string) => {
        if (!(await resumeCreatesPausedFor(context, id, "any"))) {
          throw new OperatorError("not-found", `creates at ${id} are not paused`);
        }
        return { registry: id, status: "resumed" };
      }),
    );
}

interface MaintenanceOptions {
  from?: Date;
  to?: Date;
  end?: boolean;
}

function addMaintenanceCommand(registry: Command): void {
  operatorCommand(registry, "maintenance <id>", "record a maintenance that a registry has announced, or its end")
    .option("--from <time>", "when it begins, as 2027-01-31T18:00:00Z", pointInTime)
    .option("--to <time>", "when it ends", pointInTime)
    .option("--end", "the maintenance is over or cancelled")
    .addHelpText(
      "after",
      "\nDuring the maintenance, new registrations are answered with 503 and its end as retry-after; accepted orders wait, and" +
        "\nnothing counts as a failure." +
        "\n\nExamples:\n  deedhouse registry maintenance sandbox --from 2027-01-31T18:00:00Z --to 2027-01-31T20:00:00Z" +
        "\n  deedhouse registry maintenance sandbox --end",
    )
    .action(
      onDatabase(async (context, id: string, { from, to, end = false }: MaintenanceOptions) => {
        if (end === (from !== undefined || to !== undefined)) {
          throw new CommandFailure("give either --from and --to, or --end", exitCodes.usage);
        }
        const previous = await setMaintenance(context, id, end ? undefined : maintenanceOf(context, from, to));
        if (previous === "unknown") throw unknownRegistry(id);
        if (!end) return { registry: id, maintenance: `${from?.toISOString()} to ${to?.toISOString()}` };
        if (!previous) throw new OperatorError("not-found", `no maintenance of ${id} is planned`);
        return { registry: id, maintenance: "none planned" };
      }),
    );
}

function maintenanceOf({ clock }: OpenOperatorContext, from: Date | undefined, until: Date | undefined) {
  if (!from || !until) throw new CommandFailure("a maintenance needs --from and --to", exitCodes.usage);
  if (from >= until) throw new CommandFailure("--to must be later than --from", exitCodes.usage);
  if (until <= clock.now()) throw new CommandFailure("--to is already over", exitCodes.usage);
  return { from, until };
}
