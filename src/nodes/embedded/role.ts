import type { NodeConfig } from "#config.ts";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import { startEmbeddedNode } from "#nodes/embedded/node.ts";
import type { Role } from "#role.ts";

/** The role `node`. */
export async function startNodeRole(config: NodeConfig): Promise<Role> {
  const { controlToken, passiveFrom, passiveTo, logLevel, ...rest } = config;
  const { close, ...ready } = await startEmbeddedNode({
    ...rest,
    controlToken: new Secret(controlToken),
    passivePorts: passiveFrom === 0 ? undefined : { from: passiveFrom, to: passiveTo },
    clock: systemClock,
    random: systemRandom,
    log: createLog("node", logLevel),
  });
  return { ready, close };
}
