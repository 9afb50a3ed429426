/** The configuration of systemd and logrotate for a node. Tested with Debian 12 (systemd 252). */

import { machinePaths } from "#nodes/install/machine-settings.ts";
import type { ProftpdNodeSettings } from "#nodes/proftpd-nginx/settings.ts";
import { nodePaths } from "#nodes/proftpd-nginx/settings.ts";

const written = "# Written by deedhouse node install: changes are overwritten.\n";
/** Two for each connection of a worker, and some more. */
const openFilesMax = 32_768;

export const unitPaths = {
  agent: "/etc/systemd/system/deedhouse-agent.service",
  proftpd: "/etc/systemd/system/proftpd.service.d/deedhouse.conf",
  nginx: "/etc/systemd/system/nginx.service.d/deedhouse.conf",
  runFolder: "/etc/tmpfiles.d/deedhouse.conf",
  logs: "/etc/logrotate.d/deedhouse",
} as const;

/** The agent's command line: absolute paths. */
export interface AgentProgram {
  node: string;
  entry: string;
}

const isBelow = (path: string, folders: readonly string[]) => folders.some((folder) => path.startsWith(`${folder}/`));

/** The agent's unit. It runs as root, because it changes owners of files, but with few capabilities. */
export function renderAgentUnit(settings: ProftpdNodeSettings, { node, entry }: AgentProgram): string {
  const { rootFolder, stateFolder, runFolder, logFolder } = settings;
  const isAtHome = [node, entry].some((path) => isBelow(path, ["/home", "/root", "/run/user"]));
  return `${written}[Unit]
Description=Deedhouse agent of this hosting node
Wants=network-online.target
After=network-online.target proftpd.service nginx.service
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${node} ${entry} node --agent --config ${machinePaths.agent}
Restart=always
RestartSec=2s
TimeoutStopSec=60s
UMask=0022
LimitNOFILE=${openFilesMax}
# Files of accounts (chown, and files of theirs that are closed to others), and the end of their sessions.
CapabilityBoundingSet=CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_KILL
NoNewPrivileges=yes
ProtectSystem=strict
ReadWritePaths=${rootFolder} ${stateFolder} ${runFolder} ${logFolder}
ProtectHome=${isAtHome ? "read-only" : "yes"}
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
LockPersonality=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
SystemCallArchitectures=native
SystemCallFilter=@system-service

[Install]
WantedBy=multi-user.target
`;
}

/** Makes Debian's ProFTPD unit use our configuration instead of Debian's. */
export function renderProftpdDropIn(settings: ProftpdNodeSettings): string {
  const program = `/usr/sbin/proftpd -c ${machinePaths.proftpdConf}`;
  return `${written}[Service]
PIDFile=${nodePaths(settings).ftpPid}
ExecStartPre=
ExecStartPre=/usr/sbin/proftpd --configtest -c ${machinePaths.proftpdConf}
ExecStart=
ExecStart=${program}
${sharedLines}`;
}

/** The same for nginx. */
export function renderNginxDropIn(settings: ProftpdNodeSettings): string {
  const program = `/usr/sbin/nginx -c ${machinePaths.nginxConf}`;
  const pid = nodePaths(settings).webPid;
  return `${written}[Service]
PIDFile=${pid}
ExecStartPre=
ExecStartPre=${program} -t -q
ExecStart=
ExecStart=${program}
ExecReload=
ExecReload=${program} -s reload
ExecStop=
ExecStop=-/sbin/start-stop-daemon --quiet --stop --retry QUIT/5 --pidfile ${pid}
${sharedLines}`;
}

const sharedLines = `Restart=on-failure
RestartSec=2s
LimitNOFILE=${openFilesMax}
NoNewPrivileges=yes
ProtectSystem=full
ProtectHome=yes
PrivateTmp=yes
`;

/** The systemd-tmpfiles entry for the folder that a reboot empties. */
export function renderRunFolder({ runFolder }: ProftpdNodeSettings): string {
  return `${written}d ${runFolder} 0755 root root -\n`;
}

/** Rotates the logs that the agent does not read and rotate itself. */
export function renderLogRotation(settings: ProftpdNodeSettings): string {
  const { ftpLog, webErrors } = nodePaths(settings);
  return `${written}${ftpLog} ${webErrors} {
  weekly
  maxsize 50M
  rotate 8
  compress
  missingok
  notifempty
  copytruncate
}
`;
}
