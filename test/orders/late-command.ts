/** A command whose bytes are still on their way to the registry when its worker is killed. */
import type { TestContext } from "node:test";
import type { RegistryEntry } from "#registry/registries.ts";
import { startLateRelay } from "../harness/late-relay.ts";
import { holdAt } from "./hold.ts";
import { until } from "./judge.ts";
import { startWithWorkers } from "./worker-process.ts";

/** Starts a first worker, which reaches the registry through a network that can keep its bytes. */
export async function startWithLateNetwork(t: TestContext, profile: Partial<RegistryEntry> = {}) {
  const { gateway, start } = await startWithWorkers(t, {
    // With these times nothing but the command is sent while the network keeps bytes.
    profile: { queryTimeoutMs: 30_000, takeoverSettleMs: 6_000, pollIntervalMs: 600_000, ...profile },
  });
  const network = await startLateRelay(gateway.registry.port);
  t.after(() => network.close());
  const first = await start({ profile: { port: network.port } });
  return {
    gateway,
    start,
    network,
    /**
     * Kills the first worker after it has written a command, whose bytes the network keeps.
     * @param when SQL: which attempt NEW it is @param cause makes the worker send it
     */
    async killWithCommandOnItsWay<Result>(when: string, cause: () => Promise<Result>): Promise<Result> {
      const begun = await holdAt(t, gateway.databaseUrl, { table: "attempts", on: "INSERT", when });
      const result = await cause();
      await begun.reached();
      network.keep();
      await begun.release();
      await until("the command is on its way", () => network.keptBytes() > 0);
      await first.kill();
      return result;
    },
  };
}
