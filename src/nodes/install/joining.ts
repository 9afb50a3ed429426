/** The step in which the machine becomes known to its gateway. */
import type { Clock } from "#lib/clock.ts";
import { loadAgentConfig } from "#nodes/agent/config.ts";
import { hasJoinedWith, join } from "#nodes/agent/join.ts";
import { parseJoinToken } from "#nodes/agent/join-token.ts";
import { type Machine, onMachine, readText } from "#nodes/install/machine.ts";
import { machinePaths } from "#nodes/install/machine-settings.ts";
import type { Step } from "#nodes/install/plan.ts";

/** Stands in what is shown beforehand for what the gateway tells a machine that joins. */
const unknownSiteDomain = "site-domain.of.the.gateway.invalid";

/**
 * @param token what `deedhouse node token` printed; not needed once the machine has joined. With another one than it joined
 *   with it joins anew: its gateway has another address or key by now, or does not know the machine's any more.
 */
export function joinStep(machine: Machine, token: string | undefined, clock: Clock): Step {
  return {
    async look() {
      const file = onMachine(machine, machinePaths.agent);
      const isThere = (await readText(machine, machinePaths.agent)) !== undefined;
      if (token === undefined) {
        if (isThere) return undefined;
        const advice = "give --token-file with what deedhouse node token <id> prints";
        throw new Error(`the machine has not joined a gateway yet: ${advice}`);
      }
      if (await hasJoinedWith(token, file)) return undefined;
      const again = isThere ? " anew" : "";
      const summary = `join the gateway at ${parseJoinToken(token).url}${again} with the one-time token`;
      return {
        summary: `${summary}, and keep a key of our own in ${machinePaths.agent}`,
        async apply() {
          await join(token, file, clock);
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
