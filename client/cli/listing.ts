import type { Command } from "commander";
import type { Page, PageOptions } from "../sdk/types.ts";
import { parseWholeNumber } from "./arguments.ts";
import { CommandFailure, exitCodes } from "./failures.ts";
import { note, printBytes, printJson, printTable } from "./output.ts";

export interface ListOptions {
  skip?: number;
  take?: number;
  all?: boolean;
  json?: boolean;
  csv?: boolean;
}

/** Adds paging and output options to a list command. */
export function addListOptions(command: Command): Command {
  return command
    .option("--skip <count>", "skip this many items", parseWholeNumber)
    .option("--take <count>", "the maximum number of items, at most 100 (default 25)", parseWholeNumber)
    .option("--all", "all items")
    .option("--json", "print the API's JSON");
}

/** Adds `--csv` to a command of a list that the service offers as CSV. */
export function addCsvOption(command: Command): Command {
  return command.option("--csv", "write the whole list as CSV, as it arrives");
}

/** Writes a whole list as CSV. A list that breaks off fails, after what has arrived. */
export async function printCsv(options: ListOptions, parts: AsyncIterable<Uint8Array>): Promise<void> {
  if (options.json || options.skip !== undefined || options.take !== undefined) {
    throw new CommandFailure("--csv is the whole list: leave out --json, --skip and --take", exitCodes.usage);
  }
  await printBytes(parts);
}

/** Prints one page, or with `--all` every item; says on stderr when there are more. */
export async function printList<T extends object>(
  options: ListOptions,
  columns: readonly string[],
  getPage: (page: PageOptions) => Promise<Page<T>>,
  getAll: () => AsyncIterable<T>,
): Promise<void> {
  let items: T[] = [];
  if (options.all) {
    for await (const item of getAll()) items.push(item);
  } else {
    const page = await getPage({ skip: options.skip, take: options.take });
    items = page.data;
    const shownTo = (page.skipped ?? 0) + items.length;
    if (page.total !== undefined && shownTo < page.total && items.length > 0) {
      note(`${items.length} of ${page.total}; continue with --skip ${shownTo}, or use --all`);
    }
  }
  if (options.json) printJson(items);
  else if (items.length > 0) printTable(items, columns);
  else note("Nothing to show.");
}
