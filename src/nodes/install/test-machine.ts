/** For tests: a machine of files in a folder, whose package manager and systemd are stand-ins that remember what they did. */
import { generateKeyPairSync } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, unixSeconds } from "#lib/clock.ts";
import { writeAgentFile } from "#nodes/agent/config.ts";
import type { Machine } from "#nodes/install/machine.ts";
import { machinePaths } from "#nodes/install/machine-settings.ts";

export interface TestMachine extends Machine {
  /** Commands that change something, as they were typed; those that only ask are left out. */
  changed: string[];
  /** Whether invoke-rc.d would have been forbidden to start services, for each run of apt-get. */
  heldBack: boolean[];
  /** Lets the next `apt-get install` fail. */
  breakPackages(): void;
}

export async function makeTestMachine(
  scope: { after(hook: () => unknown): void },
  clock: Clock,
  release = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nID=debian\n',
): Promise<TestMachine> {
  const root = await mkdtemp(join(tmpdir(), "deedhouse-install-"));
  scope.after(() => rm(root, { recursive: true }));
  for (const folder of ["etc", "usr/bin", "usr/sbin"]) await mkdir(join(root, folder), { recursive: true });
  await writeFile(join(root, "etc/os-release"), release);
  await writeFile(join(root, "etc/group"), "root:x:0:\nwww-data:x:33:\n");
  await writeFile(join(root, "usr/bin/systemctl"), "");
  const installed = new Set<string>();
  const enabled = new Set<string>();
  const activeSince = new Map<string, number>();
  const changed: string[] = [];
  const heldBack: boolean[] = [];
  let isBroken = false;

  function apt(args: readonly string[]): string | undefined {
    heldBack.push(existsSync(join(root, "usr/sbin/policy-rc.d")));
    if (args[0] !== "install") return "";
    if (isBroken) {
      isBroken = false;
      return undefined;
    }
    for (const name of args.filter((arg) => /^[a-z][a-z-]+$/.test(arg) && arg !== "install")) installed.add(name);
    return "";
  }

  function systemctl([verb, unit = ""]: readonly string[]): string {
    if (verb === "is-enabled") return enabled.has(unit) ? "enabled\n" : "disabled\n";
    if (verb === "show") {
      const since = activeSince.get(unit);
      const state = since === undefined ? "inactive" : "active";
      return `ActiveState=${state}\nNeedDaemonReload=no\nActiveEnterTimestamp=${since === undefined ? "" : `@${since}`}\n`;
    }
    if (verb === "enable") enabled.add(unit);
    // A file that is written in the same second as the start counts as read.
    if (verb === "restart") activeSince.set(unit, unixSeconds(clock));
    return "";
  }

  return {
    root,
    isBooted: true,
    changed,
    heldBack,
    breakPackages: () => {
      isBroken = true;
    },
    async run(program, args) {
      const isQuestion = program === "dpkg-query" || ["show", "is-enabled"].includes(args[0] ?? "");
      if (!isQuestion) changed.push([program, ...args].join(" "));
      const answers: Record<string, () => string | undefined> = {
        "dpkg-query": () => (installed.has(args.at(-1) ?? "") ? "installed" : undefined),
        "apt-get": () => apt(args),
        systemctl: () => systemctl(args),
      };
      const stdout = answers[program]?.();
      return stdout === undefined ? { code: 1, stdout: "", stderr: "it failed" } : { code: 0, stdout, stderr: "" };
    },
  };
}

/** As after joining a gateway. */
export async function joined({ root }: Machine): Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  await mkdir(join(root, machinePaths.folder), { recursive: true });
  await writeAgentFile(join(root, machinePaths.agent), {
    node: "web-1",
    url: "http://127.0.0.1:1",
    pin: null,
    gatewayKey: publicKey.export({ type: "spki", format: "der" }).toString("base64url"),
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    siteDomain: "sites.example",
  });
}
