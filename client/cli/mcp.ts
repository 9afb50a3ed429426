import { existsSync } from "node:fs";
import { dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import type { Clock } from "../sdk/clock.ts";
import type { Send } from "../sdk/transport.ts";
import { parseWholeNumber } from "./arguments.ts";
import { CommandFailure, exitCodes, guarded } from "./failures.ts";
import { addConnectionOptions, type ConnectionOptions, openSender, profilesPath } from "./settings.ts";

const paidOrdersPerDayDefault = 10;

interface McpOptions extends ConnectionOptions {
  write?: boolean;
  paidOrdersPerDay: number;
}

/** What the package of the MCP server gets from the tool. */
export interface ServeOptions {
  send: Send;
  url: string;
  apiKey: string;
  clock: Clock;
  /** Where the profiles are; the paid orders of the day are counted next to them. */
  folder: string;
  canWrite: boolean;
  paidOrdersPerDayMax: number;
}

/** Its packages are not part of the tool, and neither are its types. */
interface McpPackage {
  serve(options: ServeOptions): Promise<void>;
}

export function addMcpCommand(program: Command, clock: Clock): void {
  const mcp = program
    .command("mcp")
    .description("serve the API to an assistant as tools, by the Model Context Protocol on stdin and stdout")
    .option("--write", "offer tools that change something; each runs dry first and needs a confirmation")
    .option(
      "--paid-orders-per-day <n>",
      "how many registrations, renewals and restores it may place in a day (UTC)",
      parseWholeNumber,
      paidOrdersPerDayDefault,
    )
    .addHelpText(
      "after",
      "\nThe dry runs are a help, not a security boundary: what the key may do is. Give it a key with as few scopes as it needs." +
        "\n\nExamples:\n  deedhouse mcp --profile reader\n  deedhouse mcp --profile live --write --paid-orders-per-day 3",
    );
  addConnectionOptions(mcp).action(
    guarded(async (options: McpOptions) => {
      const { serve } = await loadPackage();
      const opened = await openSender(options, clock);
      await serve({
        ...opened,
        clock,
        folder: dirname(profilesPath()),
        canWrite: options.write ?? false,
        paidOrdersPerDayMax: options.paidOrdersPerDay,
      });
    }),
  );
}

/** The address is computed, because the packages that it imports are there only where they are installed. */
async function loadPackage(): Promise<McpPackage> {
  const folder = new URL("../../mcp/", import.meta.url);
  if (!existsSync(new URL("node_modules/@modelcontextprotocol/sdk", folder))) {
    const path = relative(process.cwd(), fileURLToPath(folder));
    const advice = `Install them: npm ci --prefix ${path}`;
    throw new CommandFailure("the packages of the MCP server are not installed", exitCodes.usage, advice);
  }
  return import(new URL("main.ts", folder).href);
}
