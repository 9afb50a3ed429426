#!/usr/bin/env node
// The one entry point. Each role loads only what it needs: a process that serves requests should not carry the tool.
import { runRole } from "../src/role.ts";

const [role = "", ...rest] = process.argv.slice(2);

const roles: Record<string, () => Promise<void>> = {
  api: async () => {
    const [{ startApi }, { loadConfig }] = await Promise.all([
      import("../src/api/role.ts"),
      import("../src/config.ts"),
    ]);
    await runRole(() => startApi(loadConfig()));
  },
  worker: async () => {
    const [{ startWorkerRole }, { loadConfig }] = await Promise.all([
      import("../src/jobs/role.ts"),
      import("../src/config.ts"),
    ]);
    await runRole(() => startWorkerRole(loadConfig()));
  },
  node: async () => {
    const [{ startNodeRole }, { loadNodeConfig }] = await Promise.all([
      import("../src/nodes/embedded/role.ts"),
      import("../src/config.ts"),
    ]);
    await runRole(() => startNodeRole(loadNodeConfig()));
  },
  "sandbox-registry": async () => {
    const { runSandboxRegistry } = await import("../sandbox/registry/main.ts");
    await runSandboxRegistry(rest);
  },
};

// `node` alone is a role; `node list` is a command about nodes.
const isNodeCommand = role === "node" && rest[0] !== undefined && !rest[0].startsWith("-");
const isHelp = rest.includes("--help") || rest.includes("-h");
const run =
  (isNodeCommand || (isHelp && role !== "sandbox-registry") ? undefined : roles[role]) ??
  (async () => (await import("../src/cli.ts")).runTool(process.argv));
await run();
