import type { TestContext } from "node:test";
import { sharedTlsFolder } from "../../../test/harness/shared-tls.ts";
import { type SandboxRegistry, type SandboxRegistryOptions, startSandboxRegistry } from "../server.ts";
import { contactCreateFrame, type LoginChanges } from "./frames.ts";
import { RawClient } from "./raw-client.ts";

/** Two registrars, for tests with another registrar. */
export const registrars = [
  { id: "gate-one", password: "secret-1" },
  { id: "gate-two", password: "secret-2" },
];

/** Starts a registry for a test, which closes it. */
export async function startFor(
  context: TestContext,
  options: Partial<SandboxRegistryOptions> = {},
): Promise<SandboxRegistry> {
  const tlsDir = options.dataDir || options.clientCertificates ? undefined : sharedTlsFolder;
  const registry = await startSandboxRegistry({ suffixes: ["test", "co.test"], registrars, tlsDir, ...options });
  context.after(() => registry.close());
  return registry;
}

/** Starts a registry with a client that is logged in, and a contact "reg-1" for names. */
export async function startWithClient(
  context: TestContext,
  options: Partial<SandboxRegistryOptions> = {},
  changes: LoginChanges = {},
): Promise<{ registry: SandboxRegistry; client: RawClient }> {
  const registry = await startFor(context, options);
  const client = await RawClient.login(registry, "gate-one", "secret-1", changes);
  context.after(() => client.close());
  if (options.dataModel !== "thin") await client.ask(contactCreateFrame("reg-1"));
  return { registry, client };
}
