/** Serves MCP on stdin and stdout. `deedhouse mcp` imports it where the packages of this folder are installed. */
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CommandFailure, exitCodes } from "../client/cli/failures.ts";
import type { ServeOptions } from "../client/cli/mcp.ts";
import type { Send } from "../client/sdk/transport.ts";
import manifest from "../package.json" with { type: "json" };
import { type Operation, readOperations } from "./document.ts";
import { createPaidOrders } from "./paid-orders.ts";
import { createMcpServer } from "./server.ts";

/** Returns when it has begun to serve; the process ends when its client closes stdin. @throws ApiError, ConnectionError */
export async function serve({
  send,
  url,
  apiKey,
  clock,
  folder,
  canWrite,
  paidOrdersPerDayMax,
}: ServeOptions): Promise<void> {
  const log = (line: string) => process.stderr.write(`deedhouse mcp: ${line}\n`);
  const operations = await fetchOperations(send, url);
  if (canWrite) checkPaidOrders(operations, url);
  const paidOrders = canWrite ? createPaidOrders({ folder, apiKey, perDayMax: paidOrdersPerDayMax, clock }) : undefined;
  const server = createMcpServer({ version: manifest.version, operations, send, clock, paidOrders, log });
  // Its message can quote what was sent.
  server.onerror = ({ name }) => log(`a message of the client was not understood: ${name}`);
  await server.connect(new StdioServerTransport());
  const mode = canWrite ? `writes after a dry run, ${paidOrdersPerDayMax} paid orders a day` : "read only";
  log(`serving the API at ${url} on stdin and stdout: ${mode}`);
}

/** The service's own description is always true for that service, also when it is older or newer than this program. */
async function fetchOperations(send: Send, url: string): Promise<Operation[]> {
  const { text } = await send({ method: "GET", path: "/openapi.json", isUnsigned: true });
  try {
    return readOperations(JSON.parse(text));
  } catch (error) {
    const reason = (error as Error).message;
    const advice = "Check that the URL is the API's.";
    throw new CommandFailure(
      `the description of the API at ${url} cannot be used: ${reason}`,
      exitCodes.refused,
      advice,
    );
  }
}

/** A service of an earlier release does not say which orders are paid, so the limit would hold for none. */
function checkPaidOrders(operations: readonly Operation[], url: string): void {
  if (operations.some(({ isPaidOrder }) => isPaidOrder)) return;
  const advice = "Start it without --write, or ask the operator for the current release.";
  const text = `the service at ${url} does not say which orders are paid`;
  throw new CommandFailure(text, exitCodes.refused, advice);
}
