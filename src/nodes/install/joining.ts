/** The step that joins the gateway. */
import type { Clock } from "#lib/clock.ts";
import { loadAgentConfig } from "#nodes/agent/config.ts";
import { hasJoinedWith, join } from "#nodes/agent/join.ts";
import { parseJoinToken } from "#nodes/agent/join-token.ts";
import { type Machine, onMachine, readText } from "#nodes/install/machine.ts";
import { machinePaths } from "#nodes/install/machine-settings.ts";
import type { Step } from "#nodes/install/plan.ts";

/** Placeholder in plans that are shown before the machine has joined: the gateway sends the real one. */
const unknownSiteDomain = "site-domain.of.the.gateway.invalid";

/**
 * @param token the output of `deedhouse node token`; not needed once the machine has joined. With a token other than the one
 *   it joined with, the machine joins again: the gateway has a new address or key, or no longer knows the machine's key.
 */
export function joinStep(machine: Machine, token: string | undefined, clock: Clock): Step {
  return {
    async look() {
      const file = onMachine(machine, machinePaths.agent);
      const isThere = (await readText(machine, machinePaths.agent)) !== undefined;
      if (token === undefined) {
        if (isThere) return undefined;
        const advice = "give --token-file with the output of deedhouse node token <id>";
        throw new Error(`the machine has not joined a gateway yet: ${advice}`);
      }
      if (await hasJoinedWith(token, file)) return undefined;
      const again = isThere ? " again" : "";
      const summary = `join the gateway at ${parseJoinToken(token).url}${again} with the one-time token`;
      return {
        summary: `${summary}, and store a new key in ${machinePaths.agent}`,
        async apply() {
          await join(token, file, clock);
        },
      };
    },
  };
}

/** The domain of the sites' platform names. */
export async function siteDomainOf(machine: Machine): Promise<string> {
  if ((await readText(machine, machinePaths.agent)) === undefined) return unknownSiteDomain;
  return (await loadAgentConfig(onMachine(machine, machinePaths.agent))).siteDomain;
}
