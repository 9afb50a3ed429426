/** Making a machine a node, from what its operator said to the look at what came of it. */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { join } from "node:path";
import { type Clock, sleep } from "#lib/clock.ts";
import { checkFitness } from "#nodes/install/fitness.ts";
import { agentService, type InstallOptions, installPlan } from "#nodes/install/install-plan.ts";
import { type Machine, onMachine, readText } from "#nodes/install/machine.ts";
import {
  defaultMachineSettings,
  localEndpoints,
  type MachineSettings,
  machinePaths,
  readMachineSettings,
} from "#nodes/install/machine-settings.ts";
import type { Step } from "#nodes/install/plan.ts";
import { probeMachine } from "#nodes/install/probe-machine.ts";

/** This program, with the Node that runs it: what an agent is started with. */
export const thisProgram: InstallOptions["agent"] = {
  node: process.execPath,
  entry: join(import.meta.dirname, "..", "..", "..", "bin", "deedhouse.ts"),
};

export interface Wishes extends Omit<InstallOptions, "settings"> {
  /** What shall be otherwise than it is. */
  changes: Partial<MachineSettings>;
}

/**
 * What is to be done on the machine.
 * @throws Error that says why the machine can't be a node, or what is wrong with what was said
 */
export async function planOf(
  machine: Machine,
  { changes, ...wishes }: Wishes,
): Promise<{ plan: Step[]; settings: MachineSettings }> {
  await checkFitness(machine);
  const kept = await readMachineSettings(onMachine(machine, machinePaths.settings));
  const settings = { ...defaultMachineSettings, ...kept, ...changes };
  for (const address of [settings.address, settings.publicAddress]) {
    if (address !== undefined && isIP(address) === 0) throw new Error(`${address} is not an IP address`);
  }
  // Its unit's PrivateTmp shows it an empty one.
  const hidden = Object.values(wishes.agent).find((path) => /^\/(var\/)?tmp\//.test(path));
  if (hidden !== undefined) throw new Error(`the agent cannot run ${hidden}: put it elsewhere, such as /opt/deedhouse`);
  return { plan: installPlan(machine, { ...wishes, settings }), settings };
}

/** @throws Error that says what to look at */
export async function probeNode(machine: Machine, settings: MachineSettings, clock: Clock): Promise<void> {
  const pem = (await readText(machine, machinePaths.ftpCertificate)) ?? "";
  const { ftp, web } = localEndpoints(settings);
  await probeMachine(ftp, web, new X509Certificate(pem).toString(), clock);
  await watchAgent(machine);
}

const agentLooks = 4;
/** An agent that ends at once is started again after two seconds: one of the looks finds it away. */
const agentLookPauseMs = 1_000;

async function watchAgent(machine: Machine): Promise<void> {
  for (let look = 0; look < agentLooks; look++) {
    if (look > 0) await sleep(agentLookPauseMs);
    const { stdout } = await machine.run("systemctl", ["is-active", agentService]);
    if (stdout.trim() === "active") continue;
    throw new Error(`the agent is "${stdout.trim()}": look at journalctl -u ${agentService}`);
  }
}
