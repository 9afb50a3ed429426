/** The official SDK's client, connected to a server of ours. */

import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport, type StdioServerParameters } from "@modelcontextprotocol/sdk/client/stdio.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { createMcpServer, type McpServerOptions } from "./server.ts";

const entry = fileURLToPath(new URL("../bin/deedhouse.ts", import.meta.url));

/** The first text of an answer as JSON, and the others as they are. */
export interface ToolAnswer {
  isError: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: a test compares what it needs
  answer: any;
  notes: string[];
}

export interface Session extends AsyncDisposable {
  client: Client;
  call(name: string, args?: Record<string, unknown>): Promise<ToolAnswer>;
  /** What the process has written to stderr. */
  stderr(): string;
  /** Ends the process as a crash does. */
  kill(): Promise<void>;
}

/** Starts `deedhouse mcp`. */
export const startSession = (args: readonly string[], env: Record<string, string>): Promise<Session> =>
  connect({ command: process.execPath, args: [entry, "mcp", ...args], env });

/** Starts a server as a client's configuration says. */
export async function connect(server: StdioServerParameters): Promise<Session> {
  const transport = new StdioClientTransport({ ...server, stderr: "pipe" });
  let written = "";
  transport.stderr?.on("data", (chunk) => {
    written += chunk;
  });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  return {
    ...callsOf(client),
    stderr: () => written,
    async kill() {
      const ended = new Promise<void>((resolve) => {
        client.onclose = resolve;
      });
      process.kill(transport.pid!, "SIGKILL");
      await ended;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** A server in this process, so that a test can move its clock. */
export async function startInProcess(options: McpServerOptions) {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await createMcpServer(options).connect(ours);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(theirs);
  return callsOf(client);
}

function callsOf(client: Client) {
  return {
    client,
    async call(name: string, args: Record<string, unknown> = {}): Promise<ToolAnswer> {
      const { content, isError } = (await client.callTool({ name, arguments: args })) as CallToolResult;
      const [first = "", ...notes] = content.map((part) => (part.type === "text" ? part.text : ""));
      return { isError: isError ?? false, answer: JSON.parse(first), notes };
    },
  };
}
