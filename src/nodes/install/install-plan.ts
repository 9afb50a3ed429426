/** The plan that makes an empty Debian 12 machine a node of ProFTPD and nginx. */
import { join } from "node:path";
import type { Clock } from "#lib/clock.ts";
import { type CertificateStep, certificateStep } from "#nodes/install/certificates.ts";
import { fileStep, folderStep } from "#nodes/install/files.ts";
import { firstFilesStep } from "#nodes/install/first-files.ts";
import { joinStep, siteDomainOf } from "#nodes/install/joining.ts";
import type { Machine } from "#nodes/install/machine.ts";
import { type MachineSettings, machinePaths, nodeSettingsOf } from "#nodes/install/machine-settings.ts";
import { packagesStep } from "#nodes/install/packages.ts";
import type { Step } from "#nodes/install/plan.ts";
import { serviceStep } from "#nodes/install/services.ts";
import {
  type AgentProgram,
  renderAgentUnit,
  renderLogRotation,
  renderNginxDropIn,
  renderProftpdDropIn,
  renderRunFolder,
  unitPaths,
} from "#nodes/install/units.ts";
import { renderNginxConf } from "#nodes/proftpd-nginx/nginx-conf.ts";
import { renderProftpdConf } from "#nodes/proftpd-nginx/proftpd-conf.ts";
import { defaultFolders, type ProftpdNodeSettings } from "#nodes/proftpd-nginx/settings.ts";

/** openssl is for operators who manage certificates. */
const packages = ["proftpd-core", "proftpd-mod-crypto", "nginx", "openssl", "logrotate"];

export const agentService = "deedhouse-agent.service";

/** nginx's workers. */
const webGroup = "www-data";

export interface InstallOptions {
  settings: MachineSettings;
  token?: string;
  /** The host name of the FTP server's certificate. */
  hostName: string;
  /** The operator's own PEM files. */
  ftpCertificate?: string;
  siteCertificate?: string;
  agent: AgentProgram;
  clock: Clock;
}

/** All steps of a node's installation, in order. */
export function installPlan(machine: Machine, options: InstallOptions): Step[] {
  const { clock, token } = options;
  const settings = async () => nodeSettingsOf(options.settings, await siteDomainOf(machine));
  const stamp = clock
    .now()
    .toISOString()
    .replaceAll(/[-:]|\.\d+/g, "");
  const files = describeFiles(machine, options, settings, join(defaultFolders.stateFolder, "backups", stamp));
  const { node, proftpdConf, nginxConf, ftpCertificate, siteCertificate, agentUnit } = files;
  const joining = joinStep(machine, token, clock);
  return [
    folderStep(machine, { path: machinePaths.folder, mode: 0o755 }),
    joining,
    ...folderSteps(machine),
    ...[node, proftpdConf, nginxConf, ftpCertificate],
    ...[files.runFolder, files.proftpdDropIn, files.nginxDropIn, agentUnit, files.logs],
    packagesStep(machine, packages),
    folderStep(machine, { path: machinePaths.certificates, mode: 0o750, group: webGroup }),
    siteCertificate,
    firstFilesStep(machine, settings, clock),
    serviceStep(machine, {
      unit: agentService,
      reads: [
        { path: machinePaths.agent, step: joining },
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
    // nginx reads certificates at every handshake.
    serviceStep(machine, { unit: "nginx.service", reads: [{ path: machinePaths.nginxConf, step: nginxConf }] }),
  ];
}

function describeFiles(
  machine: Machine,
  { settings: own, agent, hostName, clock, ...given }: InstallOptions,
  settings: () => Promise<ProftpdNodeSettings>,
  backups: string,
) {
  const rendered = (path: string, render: (known: ProftpdNodeSettings) => string) =>
    fileStep(machine, { path, content: async () => render(await settings()), mode: 0o644, backups });
  const certificate = (file: Omit<CertificateStep, "backups">) => certificateStep(machine, { ...file, backups }, clock);
  return {
    node: rendered(machinePaths.settings, () => `${JSON.stringify(own, null, 2)}\n`),
    proftpdConf: rendered(machinePaths.proftpdConf, renderProftpdConf),
    nginxConf: rendered(machinePaths.nginxConf, renderNginxConf),
    agentUnit: rendered(unitPaths.agent, (known) => renderAgentUnit(known, agent)),
    proftpdDropIn: rendered(unitPaths.proftpd, renderProftpdDropIn),
    nginxDropIn: rendered(unitPaths.nginx, renderNginxDropIn),
    runFolder: rendered(unitPaths.runFolder, renderRunFolder),
    logs: rendered(unitPaths.logs, renderLogRotation),
    ftpCertificate: certificate({
      path: machinePaths.ftpCertificate,
      mode: 0o600,
      given: given.ftpCertificate,
      host: async () => hostName,
    }),
    siteCertificate: certificate({
      path: machinePaths.siteCertificate,
      mode: 0o640,
      group: webGroup,
      given: given.siteCertificate,
      host: async () => `*.${(await settings()).siteDomain}`,
    }),
  };
}

function folderSteps(machine: Machine): Step[] {
  const { rootFolder, stateFolder, runFolder, logFolder } = defaultFolders;
  return [
    // nginx's workers and the customers' sessions traverse it.
    folderStep(machine, { path: rootFolder, mode: 0o755 }),
    folderStep(machine, { path: stateFolder, mode: 0o700 }),
    folderStep(machine, { path: runFolder, mode: 0o755 }),
    folderStep(machine, { path: logFolder, mode: 0o700 }),
  ];
}
