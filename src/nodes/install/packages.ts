/** Installs Debian packages without starting their services, which would run with Debian's configuration. */
import { chmod, rm, stat, writeFile } from "node:fs/promises";
import { ignoreMissing } from "#nodes/atomic-file.ts";
import { type Machine, mustRun, onMachine } from "#nodes/install/machine.ts";
import type { Step } from "#nodes/install/plan.ts";

/** invoke-rc.d runs it before starting a service; exit code 101 forbids that (invoke-rc.d(8)). */
const policyFile = "/usr/sbin/policy-rc.d";

export function packagesStep(machine: Machine, names: readonly string[]): Step {
  return {
    async look() {
      const missing: string[] = [];
      for (const name of names) if (!(await isInstalled(machine, name))) missing.push(name);
      if (missing.length === 0) return undefined;
      const command = ["install", "-y", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold", ...missing];
      return {
        summary: `install the Debian packages ${missing.join(", ")}`,
        detail: `apt-get update\napt-get ${command.join(" ")}`,
        apply: () => withoutServices(machine, () => install(machine, command)),
      };
    },
  };
}

async function install(machine: Machine, command: readonly string[]): Promise<void> {
  await mustRun(machine, "apt-get", ["update", "-q"]);
  await mustRun(machine, "apt-get", command);
}

async function isInstalled(machine: Machine, name: string): Promise<boolean> {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a field of dpkg-query's
  const { code, stdout } = await machine.run("dpkg-query", ["-W", "-f", "${db:Status-Status}", name]);
  return code === 0 && stdout === "installed";
}

async function withoutServices(machine: Machine, work: () => Promise<void>): Promise<void> {
  const policy = onMachine(machine, policyFile);
  const isThere = (await stat(policy).catch(ignoreMissing)) !== undefined;
  if (isThere) return work();
  await writeFile(policy, "#!/bin/sh\nexit 101\n");
  await chmod(policy, 0o755);
  try {
    await work();
  } finally {
    await rm(policy, { force: true });
  }
}
