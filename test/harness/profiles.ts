/** Profiles of the servers in tests. */
import { readFileSync } from "node:fs";
import type { NodePlace } from "#hosting/nodes/nodes.ts";
import type { TestNode, TestNodePorts } from "#nodes/test-embedded-node.ts";
import { completeProfile, type RegistryEntry, type RegistryProfile } from "#registry/registries.ts";
import type { SandboxRegistry } from "../../sandbox/registry/server.ts";

export const registrarId = "deedhouse";
export const registrarPassword = "sandbox-pw-1";

/** A sandbox registry's profile with short times. @param own the settings that differ */
export function registryProfile(registry: SandboxRegistry, own: Partial<RegistryProfile> = {}): RegistryProfile {
  const { timeouts, flavour, queryTimeoutMs = 2_000, transformTimeoutMs = 1_000 } = own;
  const entry: RegistryEntry = {
    id: "sandbox",
    host: "127.0.0.1",
    servername: "localhost",
    port: registry.port,
    caFile: registry.caFile,
    registrarId,
    password: registrarPassword,
    suffixes: ["example", "test"],
    sessionsMax: 4,
    commandsPerSecond: 1_000,
    queryTimeoutMs,
    transformTimeoutMs,
    pollIntervalMs: 200,
    reconcileIntervalMs: 60_000,
    backoffFirstMs: 100,
    backoffMaxMs: 500,
    takeoverSettleMs: 0,
    // A lock is an order of its own: its tests switch it on.
    lockNewNames: false,
    transferProhibitedDays: 0,
    ...(timeouts && { timeouts }),
    // It decides defaults of other fields.
    ...(flavour && { flavour }),
  };
  return { ...completeProfile(entry, (path) => readFileSync(path, "utf8")), settleMs: 500, ...withoutTimeouts(own) };
}

/** The timeouts are complete only together with the two settings of their own. */
function withoutTimeouts({ timeouts: _timeouts, ...own }: Partial<RegistryProfile>): Partial<RegistryProfile> {
  return own;
}

/** The address of a test's node. @param ports replacements for its ports, such as relays */
export function nodePlace(
  node: TestNode,
  id = "embedded",
  { ftpPort, webPort }: TestNodePorts = node.ports,
): NodePlace {
  return {
    id,
    kind: "embedded",
    ftp: { host: "127.0.0.1", port: ftpPort },
    web: { host: "127.0.0.1", port: webPort, isHttps: false },
    settings: {},
  };
}

/** Enough capacity for any test that is not about capacity. */
export const nodeRoom = { capacityBytes: 1_000_000_000_000, accountsMax: 10_000, tags: [] };
