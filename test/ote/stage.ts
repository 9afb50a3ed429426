/** A sandbox registry for a certification test, with two accounts, and the tool that takes the test. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { StepResult, WalkReport } from "#ote/report.ts";
import type { RegistryEntry } from "#registry/registries.ts";
import type { Hold } from "../../sandbox/registry/holds.ts";
import {
  type SandboxRegistry,
  type SandboxRegistryOptions,
  startSandboxRegistry,
} from "../../sandbox/registry/server.ts";
import { type Ended, type LaunchedTool, launchTool } from "../harness/running-system.ts";

export const first = { id: "gate-one", password: "secret-One-1" };
export const second = { id: "gate-two", password: "secret-Two-2" };

export interface Stage {
  registry: SandboxRegistry;
  folder: string;
  profilesFile: string;
  /** Starts `deedhouse ote nic`; the second account's password is on its standard input. */
  launch(...args: string[]): LaunchedTool;
  run(...args: string[]): Promise<Ended>;
  /** The report of a run with `--json`. */
  report(...args: string[]): Promise<WalkReport & { exitCode: number | null }>;
}

/** @param own the sandbox settings that differ @param profile the profile settings that differ */
export async function startStage(
  context: TestContext,
  own: Partial<SandboxRegistryOptions> = {},
  profile: Partial<RegistryEntry> = {},
): Promise<Stage> {
  const registry = await startSandboxRegistry({ suffixes: ["test", "example"], registrars: [first, second], ...own });
  context.after(() => registry.close());
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-ote-"));
  context.after(() => rm(folder, { recursive: true }));
  const profilesFile = join(folder, "registries.json");
  const entry: RegistryEntry = {
    id: "nic",
    host: "127.0.0.1",
    servername: "localhost",
    port: registry.port,
    caFile: registry.caFile,
    registrarId: first.id,
    password: first.password,
    suffixes: ["test", "example"],
    commandsPerSecond: 1_000,
    ...(own.dataModel && { dataModel: own.dataModel }),
    ...(own.hostModel && { hostModel: own.hostModel }),
    ...profile,
  };
  await writeFile(profilesFile, JSON.stringify([entry]));
  const launch = (...args: string[]) =>
    launchTool(["ote", "nic", "--registries", profilesFile, ...args], { input: `${second.password}\n` });
  const run = (...args: string[]) => launch(...args).ended;
  return {
    registry,
    folder,
    profilesFile,
    launch,
    run,
    async report(...args) {
      const { code, stdout, stderr } = await run("--json", ...args);
      if (stdout === "") throw new Error(stderr);
      return { ...(JSON.parse(stdout) as WalkReport), exitCode: code };
    },
  };
}

/** Waits until a frame is held. @throws when the tool ends before that */
export async function heldFor(tool: Promise<unknown>, hold: Hold): Promise<void> {
  const tooEarly = tool.then((ended) => {
    throw new Error(`it ended before: ${JSON.stringify(ended)}`);
  });
  await Promise.race([hold.reached(1), tooEarly]);
}

export function ofOutcome({ results }: Pick<WalkReport, "results">, outcome: StepResult["outcome"]): StepResult[] {
  return results.filter((result) => result.outcome === outcome);
}

/** The objects at the registry: none, after a run. */
export function holdingsOf({ store }: SandboxRegistry): string[] {
  const rows = [...store.domains.values(), ...store.hosts.values()];
  return [...rows.map(({ name }) => name), ...store.contacts.values().map(({ id }) => id)];
}
