import type { Clock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import type { Random } from "#lib/random.ts";
import type { AgentNode } from "../agent-node.ts";
import type { Endpoint } from "../driver.ts";
import type { ProftpdNodeSettings } from "./settings.ts";

export interface ProftpdNodeOptions {
  settings: ProftpdNodeSettings;
  /** Where customers find the FTP server. */
  ftp: Endpoint;
  /** Where sites answer, over plain HTTP. */
  web: Endpoint;
  clock: Clock;
  random: Random;
  log: Log;
}

/**
 * The accounts of a node of ProFTPD and nginx, which run already or will be started: works on files and processes of this
 * machine, as root. One at a time per `stateFolder`.
 * @throws when not root, or a record cannot be read
 */
export async function createProftpdNode(_options: ProftpdNodeOptions): Promise<AgentNode> {
  throw new Error("not yet");
}
