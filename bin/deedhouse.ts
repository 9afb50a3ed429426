#!/usr/bin/env node
// The one entry point. Each role loads only what it needs: a process that serves requests should not carry the tool.
import { runRole } from "../src/role.ts";

const [role = "", ...rest] = process.argv.slice(2);

const roles: Record<string, () => Promise<void>> = {
  api: async () => {
    const [{ startApi }, { requireSoundConfig }] = await Promise.all([
      import("../src/api/role.ts"),
      import("../src/checks/check-start.ts"),
    ]);
    await runRole(async () => startApi(await requireSoundConfig("api")));
  },
  worker: async () => {
    const [{ startWorkerRole }, { requireSoundConfig }] = await Promise.all([
      import("../src/jobs/role.ts"),
      import("../src/checks/check-start.ts"),
    ]);
    await runRole(async () => startWorkerRole(await requireSoundConfig("worker")));
  },
  dns: async () => {
    const [{ startDnsRole }, { loadDnsConfig }] = await Promise.all([
      import("../src/zones/role.ts"),
      import("../src/config-dns.ts"),
    ]);
    await runRole(() => startDnsRole(loadDnsConfig()));
  },
  node: async () => {
    if (isAgent) return runAgent(rest.slice(1));
    const [{ startNodeRole }, { loadNodeConfig }] = await Promise.all([
      import("../src/nodes/agent/embedded-role.ts"),
      import("../src/config.ts"),
    ]);
    await runRole(() => startNodeRole(loadNodeConfig()));
  },
  "sandbox-registry": async () => {
    const { runSandboxRegistry } = await import("../sandbox/registry/main.ts");
    await runSandboxRegistry(rest);
  },
  // Imports what `deedhouse start` runs, and ends (src/start/compile.ts).
  compile: async () => {
    await Promise.all([
      import("../src/api/role.ts"),
      import("../src/jobs/role.ts"),
      import("../src/zones/role.ts"),
      import("../src/nodes/agent/embedded-role.ts"),
      import("../src/checks/check-start.ts"),
      import("../src/config.ts"),
      import("../sandbox/registry/main.ts"),
    ]);
  },
};

async function runAgent(args: string[]): Promise<void> {
  const { agentHelp, startAgentRole } = await import("../src/nodes/agent/role.ts");
  if (isHelp) process.stdout.write(agentHelp);
  else await runRole(() => startAgentRole(args));
}

// `node` alone and `node --agent` are roles; `node list` is a command about nodes. So it is with `dns` and `dns show`.
const isAgent = role === "node" && rest[0] === "--agent";
const isNodeCommand = ["node", "dns"].includes(role) && rest[0] !== undefined && !rest[0].startsWith("-");
const isHelp = rest.includes("--help") || rest.includes("-h");
const run =
  (isNodeCommand || (isHelp && !isAgent && role !== "sandbox-registry") ? undefined : roles[role]) ??
  (async () => (await import("../src/cli.ts")).runTool(process.argv));
await run();
