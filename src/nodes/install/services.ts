/** Steps for systemd's services. */
import { stat } from "node:fs/promises";
import { ignoreMissing } from "#nodes/atomic-file.ts";
import { type Machine, mustRun, onMachine } from "#nodes/install/machine.ts";
import type { Change, Step } from "#nodes/install/plan.ts";

export interface ServiceStep {
  unit: string;
  /** Files that the service reads at its start. It is restarted if one of them has changed since. */
  reads: { path: string; step: Step }[];
}

/** Ensures that the service runs with its current configuration, now and after a reboot. */
export function serviceStep(machine: Machine, service: ServiceStep): Step {
  const { unit } = service;
  return {
    async look(): Promise<Change | undefined> {
      const { stdout } = await machine.run("systemctl", ["is-enabled", unit]);
      const isEnabled = stdout.trim() === "enabled";
      if (!machine.isBooted) return isEnabled ? undefined : enableLater(machine, unit);
      const state = await readState(machine, unit);
      if (!state.isActive) return start(machine, unit, "start");
      if (await isOutdated(machine, service, state)) return start(machine, unit, "restart");
      return isEnabled ? undefined : start(machine, unit, "enable");
    },
  };
}

interface State {
  isActive: boolean;
  /** systemd has not loaded the current unit files. */
  isStale: boolean;
  activeSinceSeconds: number;
}

async function readState(machine: Machine, unit: string): Promise<State> {
  const properties = "--property=ActiveState,NeedDaemonReload,ActiveEnterTimestamp";
  const { stdout } = await machine.run("systemctl", ["show", unit, properties, "--timestamp=unix"]);
  const shown = new Map(stdout.split("\n").map((line) => [line.split("=")[0], line.slice(line.indexOf("=") + 1)]));
  return {
    isActive: shown.get("ActiveState") === "active",
    isStale: shown.get("NeedDaemonReload") === "yes",
    activeSinceSeconds: Number(shown.get("ActiveEnterTimestamp")?.replace("@", "")),
  };
}

async function isOutdated(machine: Machine, { reads }: ServiceStep, state: State): Promise<boolean> {
  if (state.isStale) return true;
  for (const { path, step } of reads) {
    if (await step.look()) return true;
    const found = await stat(onMachine(machine, path)).catch(ignoreMissing);
    if (found && Math.floor(found.mtimeMs / 1000) > state.activeSinceSeconds) return true;
  }
  return false;
}

function start(machine: Machine, unit: string, verb: "start" | "restart" | "enable"): Change {
  const commands = [["daemon-reload"], ["enable", unit], ...(verb === "enable" ? [] : [["restart", unit]])];
  return {
    summary: `${verb} ${unit}`,
    detail: commands.map((command) => `systemctl ${command.join(" ")}`).join("\n"),
    async apply() {
      for (const command of commands) await mustRun(machine, "systemctl", command);
    },
  };
}

function enableLater(machine: Machine, unit: string): Change {
  return {
    summary: `enable ${unit}; it will start when the server boots, because systemd is not running there now`,
    detail: `systemctl enable ${unit}`,
    async apply() {
      await mustRun(machine, "systemctl", ["enable", unit]);
    },
  };
}
