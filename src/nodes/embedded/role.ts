import { isIP } from "node:net";
import type { NodeConfig } from "#config.ts";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import { isLoopback } from "#nodes/embedded/ftp/address.ts";
import { startEmbeddedNode } from "#nodes/embedded/node.ts";
import type { Role } from "#role.ts";

/** The role `node`. */
export async function startNodeRole(config: NodeConfig): Promise<Role> {
  const { controlToken, passiveFrom, passiveTo, logLevel, ...rest } = config;
  const log = createLog("node", logLevel);
  const { close, ...ready } = await startEmbeddedNode({
    ...rest,
    controlToken: new Secret(controlToken),
    passivePorts: passiveFrom === 0 ? undefined : { from: passiveFrom, to: passiveTo },
    clock: systemClock,
    random: systemRandom,
    log,
  });
  const isLocal = rest.host === "localhost" || (isIP(rest.host) !== 0 && isLoopback(rest.host));
  if (isLocal) log.info({ host: rest.host, ...ready }, "FTP and web serve this machine only");
  else
    log.warn(
      { host: rest.host, ...ready },
      "FTP and web serve other machines: this kind of node is meant for small machines",
    );
  return { ready, close };
}
