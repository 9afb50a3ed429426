/** The plan that makes an empty Debian 12 machine a node of ProFTPD and nginx. */
import { join } from "node:path";
import type { Clock } from "#lib/clock.ts";
import { renderNginxConf } from "../proftpd-nginx/nginx-conf.ts";
import { renderProftpdConf } from "../proftpd-nginx/proftpd-conf.ts";
import { defaultFolders, type ProftpdNodeSettings } from "../proftpd-nginx/settings.ts";
import { certificateStep } from "./certificates.ts";
import { type FileStep, fileStep, folderStep } from "./files.ts";
import { firstFilesStep } from "./first-files.ts";
import { joinStep, siteDomainOf } from "./joining.ts";
import type { Machine } from "./machine.ts";
import { type MachineSettings, machinePaths, nodeSettingsOf } from "./machine-settings.ts";
import { packagesStep } from "./packages.ts";
import type { Step } from "./plan.ts";
import { serviceStep } from "./services.ts";
import {
  type AgentProgram,
  renderAgentUnit,
  renderLogRotation,
  renderNginxDropIn,
  renderProftpdDropIn,
  renderRunFolder,
  unitPaths,
} from "./units.ts";

/** openssl is for whoever looks after certificates there. */
const packages = ["proftpd-core", "proftpd-mod-crypto", "nginx", "openssl", "logrotate"];

export interface InstallOptions {
  settings: MachineSettings;
  token?: string;
  /** What the FTP server's certificate is for. */
  hostName: string;
  /** PEM files of the operator's own. */
  ftpCertificate?: string;
  siteCertificate?: string;
  agent: AgentProgram;
  clock: Clock;
}

export function installPlan(machine: Machine, options: InstallOptions): Step[] {
  const { clock, token } = options;
  const settings = async () => nodeSettingsOf(options.settings, await siteDomainOf(machine));
  const stamp = clock
    .now()
    .toISOString()
    .replaceAll(/[-:]|\.\d+/g, "");
  const backups = join(defaultFolders.stateFolder, "backups", stamp);
  const file = (path: string, content: FileStep["content"]) =>
    fileStep(machine, { path, content, mode: 0o644, backups });
  const rendered = (path: string, render: (known: ProftpdNodeSettings) => string) =>
    file(path, async () => render(await settings()));

  const node = file(machinePaths.settings, () => `${JSON.stringify(options.settings, null, 2)}\n`);
  const proftpdConf = rendered(machinePaths.proftpdConf, renderProftpdConf);
  const nginxConf = rendered(machinePaths.nginxConf, renderNginxConf);
  const agentUnit = rendered(unitPaths.agent, (known) => renderAgentUnit(known, options.agent));
  const ftpCertificate = certificateStep(
    machine,
    {
      ...{ path: machinePaths.ftpCertificate, mode: 0o600, backups, given: options.ftpCertificate },
      host: async () => options.hostName,
    },
    clock,
  );
  const siteCertificate = certificateStep(
    machine,
    {
      ...{
        path: machinePaths.siteCertificate,
        mode: 0o640,
        group: "www-data",
        backups,
        given: options.siteCertificate,
      },
      host: async () => `*.${await siteDomainOf(machine)}`,
    },
    clock,
  );
  return [
    folderStep(machine, { path: machinePaths.folder, mode: 0o755 }),
    joinStep(machine, token, clock),
    ...folderSteps(machine),
    node,
    proftpdConf,
    nginxConf,
    ftpCertificate,
    rendered(unitPaths.runFolder, renderRunFolder),
    rendered(unitPaths.proftpd, renderProftpdDropIn),
    rendered(unitPaths.nginx, renderNginxDropIn),
    agentUnit,
    packagesStep(machine, packages),
    // The group that may read them comes with the packages.
    folderStep(machine, { path: machinePaths.certificates, mode: 0o750, group: "www-data" }),
    siteCertificate,
    rendered(unitPaths.logs, renderLogRotation),
    firstFilesStep(machine, settings, clock),
    serviceStep(machine, {
      unit: "deedhouse-agent.service",
      reads: [
        { path: machinePaths.settings, step: node },
        { path: unitPaths.agent, step: agentUnit },
      ],
    }),
    serviceStep(machine, {
      unit: "proftpd.service",
      reads: [
        { path: machinePaths.proftpdConf, step: proftpdConf },
        { path: machinePaths.ftpCertificate, step: ftpCertificate },
      ],
    }),
    serviceStep(machine, { unit: "nginx.service", reads: [{ path: machinePaths.nginxConf, step: nginxConf }] }),
  ];
}

function folderSteps(machine: Machine): Step[] {
  const { rootFolder, stateFolder, runFolder, logFolder } = defaultFolders;
  return [
    // nginx's workers and the customers' sessions go through it.
    folderStep(machine, { path: rootFolder, mode: 0o755 }),
    folderStep(machine, { path: stateFolder, mode: 0o700 }),
    folderStep(machine, { path: runFolder, mode: 0o755 }),
    folderStep(machine, { path: logFolder, mode: 0o700 }),
  ];
}
