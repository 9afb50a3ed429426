/** What the registry shows of hosts. */
import type { Ask } from "#domains/registry/ask.ts";
import { type HostInfo, hostInfo } from "#registry/epp/commands/host/info.ts";

export type SeenHosts = { is: "hosts"; hosts: HostInfo[] } | { is: "unknown"; reason: string };

/** Hosts that do not exist are left out. Never throws. @param names in lower case, as the hosts then have them */
export async function lookAtHosts(ask: Ask, names: readonly string[]): Promise<SeenHosts> {
  const hosts: HostInfo[] = [];
  try {
    for (const name of names) {
      const { code, data } = await ask(hostInfo(name));
      if (code === 2303) continue;
      if (code !== 1000 || !data) return { is: "unknown", reason: `info about ${name} was answered with ${code}` };
      const isPending = data.statuses.some((status) => status.startsWith("pending"));
      if (isPending) return { is: "unknown", reason: `a change of ${name} is pending` };
      hosts.push({ ...data, name });
    }
  } catch (error) {
    return { is: "unknown", reason: error instanceof Error ? error.message : String(error) };
  }
  return { is: "hosts", hosts };
}
