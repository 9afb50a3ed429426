/** What all operator's commands share. */
import type { Command } from "commander";
import { operatorEnvironment } from "#config.ts";
import { DatabaseUnavailable, UnfitDatabase } from "#db/errors.ts";
import { InvalidDomainName } from "#lib/domain-name.ts";
import { InvalidHostIdentifier } from "#lib/host-identifier.ts";
import type { OpenOperatorContext } from "#operator/context.ts";
import { OperatorError } from "#operator-error.ts";
import { CommandFailure, exitCodes, guarded } from "../../client/cli/failures.ts";
import { printFields, printJson, printTable } from "../../client/cli/output.ts";

/** What stands before a group of the operator's whose name is also one of the reseller's. */
export const operatorWord = "operator";
/** Groups that both have: a reseller's commands concern its account, the operator's all accounts. */
export const sharedGroups: readonly string[] = ["domains", "hosting", "orders", "packs"];

export function findCommand(parent: Command | undefined, name: string | undefined): Command | undefined {
  return parent?.commands.find((command) => command.name() === name);
}

/** Finds a group of the operator's commands, or creates it. */
export function commandGroup(program: Command, name: string, description: string): Command {
  const parent = sharedGroups.includes(name)
    ? ensureGroup(program, operatorWord, `of all accounts: ${sharedGroups.join(", ")}`)
    : program;
  return ensureGroup(parent, name, description);
}

const ensureGroup = (parent: Command, name: string, description: string): Command =>
  findCommand(parent, name) ?? parent.command(name).description(description);

/** Options of every operator's command. */
export interface OperatorOptions {
  data: string;
  json?: boolean;
}

export function operatorCommand(group: Command, usage: string, description: string): Command {
  return group
    .command(usage)
    .description(`${description} (operator)`)
    .option("--data <dir>", "the data folder of deedhouse start", "data")
    .option("--json", "print JSON");
}

/**
 * The action of a command: runs it on the database and prints the result. A failure becomes one sentence and an exit
 * code.
 * @param work receives commander's arguments: the command's arguments, then its options
 * @param print writes the result for people; its times are text, and null values are left out
 */
export function onDatabase<Args extends unknown[], Result extends object>(
  work: (context: OpenOperatorContext, ...args: Args) => Promise<Result>,
  print: (result: Printable<Result> & object) => void = printFields,
) {
  return guarded(async (...args: Args) => {
    // Commander passes the command itself last.
    const options = (args.at(-1) as Command).opts<OperatorOptions>();
    // Loaded here, so that help and the reseller's commands do not wait for it.
    const { openOperatorContext } = await import("#operator/context.ts");
    try {
      await using context = openOperatorContext(options.data);
      const result = await work(context, ...args);
      if (options.json) printJson(result);
      else print(printable(result));
    } catch (error) {
      throw asFailure(error);
    }
  });
}

/** A result as in JSON, without null values. */
export type Printable<Value> = Value extends Date
  ? string
  : Value extends null
    ? undefined
    : Value extends object
      ? { [Key in keyof Value]: Printable<Value[Key]> }
      : Value;

function printable<Result extends object>(result: Result): Printable<Result> & object {
  return JSON.parse(JSON.stringify(result), (_key, value: unknown) => value ?? undefined);
}

/** Prints a list of results as a table. */
export const asTable =
  (...columns: string[]) =>
  (rows: readonly object[]) =>
    printTable(rows, columns);

/** Turns an error that the operator can act on into a failure of the tool; any other error stays as it is. */
export function asFailure(error: unknown): unknown {
  if (error instanceof UnfitDatabase) return new CommandFailure(error.message, exitCodes.refused);
  if (error instanceof DatabaseUnavailable) {
    const isGiven = operatorEnvironment().databaseUrl !== undefined;
    const advice = isGiven
      ? "Check that PostgreSQL is running and that DATABASE_URL is its address."
      : "Check that deedhouse start is running on this folder.";
    return new CommandFailure(error.message, exitCodes.unavailable, advice);
  }
  if (error instanceof InvalidDomainName || error instanceof InvalidHostIdentifier) {
    return new CommandFailure(error.message, exitCodes.usage);
  }
  if (!(error instanceof OperatorError)) return error;
  return new CommandFailure(error.message, error.kind === "not-found" ? exitCodes.notFound : exitCodes.refused);
}
