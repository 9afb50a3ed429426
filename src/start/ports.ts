/** The ports of `deedhouse start`, and the check that they are free. */
import { once } from "node:events";
import { createServer } from "node:net";

/** The ports of each part, counted from the base; all 0 to use any free ports. */
export function portsFrom(base: number) {
  const at = (offset: number) => (base === 0 ? 0 : base + offset);
  return {
    api: at(0),
    ftp: at(21),
    postgres: at(32),
    registry: at(70),
    registryControl: at(71),
    thinRegistry: at(72),
    thinRegistryControl: at(73),
    dns: at(53),
    web: at(80),
    agents: at(43),
    apiStatus: at(90),
    workerStatus: at(91),
    nodeStatus: at(92),
    passive: base === 0 ? undefined : { from: base + 100, to: base + 199 },
  };
}
export type Ports = ReturnType<typeof portsFrom>;

const partNames = {
  api: "the API",
  ftp: "FTP",
  postgres: "PostgreSQL",
  registry: "the registry",
  registryControl: "the registry's control port",
  thinRegistry: "the thin registry",
  thinRegistryControl: "the thin registry's control port",
  dns: "the DNS",
  web: "web sites",
  agents: "the agents of hosting nodes",
  apiStatus: "the api's metrics",
  workerStatus: "the worker's metrics",
  nodeStatus: "the hosting node's metrics",
};
type Part = keyof typeof partNames;

/**
 * Checks the ports before anything starts, so that nothing needs to be stopped again.
 * @param isPostgresKept whether PostgreSQL needs no port, because our server already runs or another database is used
 * @throws Error with one sentence that names the ports that are not available
 */
export async function refuseTakenPorts(ports: Ports, isPostgresKept: boolean): Promise<void> {
  const refused: string[] = [];
  for (const part of Object.keys(partNames) as Part[]) {
    if (part === "postgres" && isPostgresKept) continue;
    const reason = await whyNotFree(ports[part]);
    if (reason !== undefined) refused.push(`${ports[part]} for ${partNames[part]} (${reason})`);
  }
  if (refused.length === 0) return;
  const what = refused.length === 1 ? "port" : "ports";
  throw new Error(
    `cannot use ${what} ${refused.join(", ")}: choose other ports with --port-base N, or 0 for any free ports`,
  );
}

async function whyNotFree(port: number): Promise<string | undefined> {
  const probe = createServer().listen(port, "127.0.0.1");
  try {
    await once(probe, "listening");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") return "another program uses it";
    return code === "EACCES" ? "only root may use it" : message;
  }
  probe.close();
  await once(probe, "close");
  return undefined;
}
