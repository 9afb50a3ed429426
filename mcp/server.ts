/** The MCP server: lists the tools, runs reads at once, and writes after a dry run and its confirmation. */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, type CallToolResult, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";
import type { Clock } from "../client/sdk/clock.ts";
import type { Send } from "../client/sdk/transport.ts";
import { describeFailure, describeReply, mistakeOf, resultOf } from "./answers.ts";
import { callOf } from "./call.ts";
import type { Arguments } from "./confirmations.ts";
import { instructionsFor, isWrite, tokenName, toolOf } from "./descriptions.ts";
import type { Operation } from "./document.ts";
import type { PaidOrders } from "./paid-orders.ts";
import { createWriter } from "./writes.ts";

export interface McpServerOptions {
  version: string;
  operations: readonly Operation[];
  send: Send;
  clock: Clock;
  /** Where paid orders are counted; without it, nothing can be changed. */
  paidOrders: PaidOrders | undefined;
  /** A line for people, without arguments and answers. */
  log(line: string): void;
}

export function createMcpServer({ version, operations, send, clock, paidOrders, log }: McpServerOptions): Server {
  const writer = paidOrders && createWriter({ operations, send, clock, paidOrders, log });
  const listed = operations.filter((operation) => writer || !isWrite(operation));
  const tools = listed.map(toolOf);
  const validator = new AjvJsonSchemaValidator();
  const server = new Server(
    { name: "deedhouse", version },
    { capabilities: { tools: {} }, instructions: instructionsFor(writer !== undefined) },
  );

  async function call(name: string, given: Arguments, signal: AbortSignal): Promise<CallToolResult> {
    const operation = operations.find((one) => one.name === name);
    if (!operation) return mistakeOf("unknown_tool", `There is no tool ${name}. ${listNames(listed)}`);
    if (!isWrite(operation)) {
      return checkArguments(validator, operation, given) ?? (await read(operation, given, signal));
    }
    if (!writer) {
      const text = `${name} changes something, and this server only reads. The person who runs it can allow changes: deedhouse mcp --write`;
      return mistakeOf("read_only", text);
    }
    const { [tokenName]: token, ...asked } = given;
    const mistake = checkArguments(validator, operation, asked);
    if (mistake) return mistake;
    return token === undefined ? writer.runDry(operation, asked) : writer.confirm(operation, asked, String(token));
  }

  async function read(operation: Operation, given: Arguments, signal: AbortSignal): Promise<CallToolResult> {
    try {
      return resultOf(describeReply(operation, await send({ ...callOf(operation, given), signal })));
    } catch (error) {
      return describeFailure(error);
    }
  }

  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const result = await call(params.name, params.arguments ?? {}, signal);
    const name = operations.find((one) => one.name === params.name)?.name ?? "an unknown tool";
    log(`${name}: ${result.isError ? "an error" : "done"}`);
    return result;
  });
  return server;
}

const listNames = (operations: readonly Operation[]) => `There are: ${operations.map(({ name }) => name).join(", ")}`;

/** The service ignores fields that it does not know, so a mistyped one would be lost without a trace. */
function checkArguments(
  validator: AjvJsonSchemaValidator,
  { name, schema, places }: Operation,
  given: Arguments,
): CallToolResult | undefined {
  const unknown = Object.keys(given).filter((argument) => !places.has(argument));
  if (unknown.length > 0) {
    const known = `${name} has: ${[...places.keys()].join(", ") || "none"}`;
    return mistakeOf("wrong_arguments", `Nothing was sent. Unknown arguments: ${unknown.join(", ")}. ${known}`);
  }
  const { valid, errorMessage } = validator.getValidator(schema)(given);
  if (valid) return undefined;
  return mistakeOf("wrong_arguments", `Nothing was sent. ${errorMessage.replaceAll("data/", "")}`);
}
