/** Makes a machine a node: from the operator's options to the check of the result. */
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

/** This program and its Node: the command line of the agent. */
export const thisProgram: InstallOptions["agent"] = {
  node: process.execPath,
  entry: join(import.meta.dirname, "..", "..", "..", "bin", "deedhouse.ts"),
};

export interface InstallRequest extends Omit<InstallOptions, "settings"> {
  /** Settings that the operator changes. */
  changes: Partial<MachineSettings>;
}

/**
 * Plans the installation.
 * @throws Error that says why the machine cannot become a node, or which option is invalid
 */
export async function planOf(
  machine: Machine,
  { changes, ...request }: InstallRequest,
): Promise<{ plan: Step[]; settings: MachineSettings }> {
  await checkFitness(machine);
  const kept = await readMachineSettings(onMachine(machine, machinePaths.settings));
  const settings = { ...defaultMachineSettings, ...kept, ...changes };
  for (const address of [settings.address, settings.publicAddress]) {
    if (address !== undefined && isIP(address) === 0) throw new Error(`${address} is not an IP address`);
  }
  // With PrivateTmp in its unit, the agent sees an empty /tmp.
  const hidden = Object.values(request.agent).find((path) => /^\/(var\/)?tmp\//.test(path));
  if (hidden !== undefined) throw new Error(`the agent cannot run ${hidden}: put it elsewhere, such as /opt/deedhouse`);
  return { plan: installPlan(machine, { ...request, settings }), settings };
}

/** @throws Error that says what to look at */
export async function probeNode(machine: Machine, settings: MachineSettings, clock: Clock): Promise<void> {
  const pem = (await readText(machine, machinePaths.ftpCertificate)) ?? "";
  const { ftp, web } = localEndpoints(settings);
  await probeMachine(ftp, web, new X509Certificate(pem).toString(), clock);
  await watchAgent(machine);
}

const agentChecks = 4;
/** systemd restarts an agent that fails after two seconds, so one of the checks finds it stopped. */
const agentCheckPauseMs = 1_000;

async function watchAgent(machine: Machine): Promise<void> {
  for (let check = 0; check < agentChecks; check++) {
    if (check > 0) await sleep(agentCheckPauseMs);
    const { stdout } = await machine.run("systemctl", ["is-active", agentService]);
    if (stdout.trim() === "active") continue;
    throw new Error(`the agent is "${stdout.trim()}": look at journalctl -u ${agentService}`);
  }
}
