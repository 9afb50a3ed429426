/** The step in which the machine becomes known to its gateway. */
import type { Clock } from "#lib/clock.ts";
import { loadAgentConfig } from "../agent/config.ts";
import { join } from "../agent/join.ts";
import { parseJoinToken } from "../agent/join-token.ts";
import { type Machine, onMachine, readText } from "./machine.ts";
import { machinePaths } from "./machine-settings.ts";
import type { Step } from "./plan.ts";

/** Stands in what is shown beforehand for what the gateway tells a machine that joins. */
const unknownSiteDomain = "site-domain.of.the.gateway.invalid";

/** @param token what `deedhouse node token` printed; not needed once the machine has joined */
export function joinStep(machine: Machine, token: string | undefined, clock: Clock): Step {
  return {
    async look() {
      if ((await readText(machine, machinePaths.agent)) !== undefined) return undefined;
      if (token === undefined) {
        throw new Error(
          "the machine has not joined a gateway yet: give --token, which deedhouse node token <id> prints",
        );
      }
      const { url } = parseJoinToken(token);
      return {
        summary: `join the gateway at ${url} with the one-time token, and keep a key of our own in ${machinePaths.agent}`,
        async apply() {
          await join(token, onMachine(machine, machinePaths.agent), clock);
        },
      };
    },
  };
}

/** Under which domain the sites are. */
export async function siteDomainOf(machine: Machine): Promise<string> {
  if ((await readText(machine, machinePaths.agent)) === undefined) return unknownSiteDomain;
  return (await loadAgentConfig(onMachine(machine, machinePaths.agent))).siteDomain;
}
