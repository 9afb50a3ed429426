import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import { ignoreMissing } from "#nodes/atomic-file.ts";
import type { Machine } from "#nodes/install/machine.ts";
import type { Step } from "#nodes/install/plan.ts";
import { createProftpdNode } from "#nodes/proftpd-nginx/node.ts";
import { nodePaths, type ProftpdNodeSettings } from "#nodes/proftpd-nginx/settings.ts";

/**
 * Creates the files of a node without accounts: ProFTPD does not start without its login file (seen with 1.3.8), and the agent
 * that maintains it may start later.
 */
export function firstFilesStep(machine: Machine, settings: () => Promise<ProftpdNodeSettings>, clock: Clock): Step {
  return {
    async look() {
      const there = await settings();
      const known = inTree(machine, there);
      if (await stat(nodePaths(known).logins).catch(ignoreMissing)) return undefined;
      return {
        summary: `create the files of a node without accounts below ${there.stateFolder}`,
        async apply() {
          const nowhere = { host: "127.0.0.1", port: 0 };
          const log = createLog("install", "silent");
          const options = { settings: known, ftp: nowhere, web: nowhere, clock, random: systemRandom, log };
          await (await createProftpdNode(options)).close();
        },
      };
    },
  };
}

function inTree({ root }: Machine, settings: ProftpdNodeSettings): ProftpdNodeSettings {
  const { rootFolder, stateFolder, runFolder, logFolder } = settings;
  return {
    ...settings,
    rootFolder: join(root, rootFolder),
    stateFolder: join(root, stateFolder),
    runFolder: join(root, runFolder),
    logFolder: join(root, logFolder),
  };
}
