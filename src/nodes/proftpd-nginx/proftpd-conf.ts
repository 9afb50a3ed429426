/** ProFTPD's configuration. Its behaviour was tested with ProFTPD 1.3.8 of Debian 12. */
import {
  groupedSessionsMax,
  nodePaths,
  type ProftpdNodeSettings,
  sessionGroupPrefix,
} from "#nodes/proftpd-nginx/settings.ts";

/** The text of proftpd.conf. It is independent of accounts: ProFTPD reads it only when it starts. */
export function renderProftpdConf(settings: ProftpdNodeSettings): string {
  return [
    ...serverLines(settings),
    ...accountLines(settings),
    ...guessLines(settings),
    ...transferLines(settings),
    ...tlsLines(settings),
    ...quotaLines(settings),
    ...logLines(settings),
    "",
  ].join("\n");
}

function serverLines(settings: ProftpdNodeSettings): string[] {
  const { ftp, limits } = settings;
  const paths = nodePaths(settings);
  return [
    "# Written by deedhouse: changes are overwritten.",
    ...["tls", "ctrls_admin", "quotatab", "quotatab_file", "ban", "ifsession"].map(
      (name) => `LoadModule mod_${name}.c`,
    ),
    'ServerName "FTP"',
    'ServerIdent on "FTP server ready."',
    "ServerType standalone",
    "DefaultServer on",
    `DefaultAddress ${ftp.address}`,
    `Port ${ftp.port}`,
    "SocketBindTight on",
    `UseIPv6 ${ftp.address.includes(":") ? "on" : "off"}`,
    "UseReverseDNS off",
    "User nobody",
    "Group nogroup",
    "Umask 022 022",
    `PidFile ${paths.ftpPid}`,
    `ScoreboardFile ${paths.scoreboard}`,
    `MaxInstances ${limits.sessionsMax}`,
    // Includes sessions before login.
    `MaxConnectionsPerHost ${limits.addressSessionsMax} "Too many sessions from your address."`,
    `CommandBufferSize ${limits.commandBytesMax}`,
    `TimeoutLogin ${limits.loginSecondsMax}`,
    `TimeoutIdle ${limits.idleSecondsMax}`,
    `TimeoutNoTransfer ${limits.idleSecondsMax}`,
    `TimeoutStalled ${limits.stalledSecondsMax}`,
    // For operators: `ftpdctl -s <socket> permit host 192.0.2.1` lifts a ban.
    "ControlsEngine on",
    `ControlsSocket ${paths.controls}`,
    "ControlsInterval 1",
    "ControlsACLs all allow user root",
    "ControlsSocketACL allow user root",
    "AdminControlsEngine on",
    "AdminControlsACLs all allow user root",
  ];
}

function accountLines(settings: ProftpdNodeSettings): string[] {
  const paths = nodePaths(settings);
  return [
    // Files, which ProFTPD reads at every PASS: with a database behind the logins, an outage would lock everyone out.
    "AuthOrder mod_auth_file.c",
    `AuthUserFile ${paths.logins}`,
    `AuthGroupFile ${paths.groups}`,
    "RequireValidShell off",
    "DefaultRoot ~",
    // All uids of a session become the account's: it can be found in /proc by them, and cannot regain root.
    "RootRevoke on",
    ...sessionLimitLines(),
  ];
}

/** Session limits per user. ProFTPD takes them only from its configuration. */
function sessionLimitLines(): string[] {
  const limits = Array.from({ length: groupedSessionsMax }, (_, index) => index + 1);
  return limits.flatMap((sessions) => [
    `<IfGroup ${sessionGroupPrefix}${sessions}>`,
    `  MaxClientsPerUser ${sessions} "Too many sessions of this account."`,
    "</IfGroup>",
  ]);
}

function guessLines(settings: ProftpdNodeSettings): string[] {
  const { limits } = settings;
  const [window, ban] = [duration(limits.addressWindowSeconds), duration(limits.addressBanSeconds)];
  const banOn = (event: string, count: number) => `BanOnEvent ${event} ${count}/${window} ${ban}`;
  return [
    `MaxLoginAttempts ${limits.guessesMax}`,
    `DelayTable ${nodePaths(settings).delays}`,
    `DelayOnEvent FailedLogin ${limits.guessDelayMs}ms`,
    "BanEngine on",
    `BanTable ${nodePaths(settings).bans}`,
    "BanControlsACLs all allow user root",
    'BanMessage "Too many wrong passwords. Try again later."',
    banOn("MaxLoginAttempts", limits.addressGuessRoundsMax),
    // ProFTPD cannot reserve sessions for other clients, so an address that keeps opening silent connections is banned.
    banOn("TimeoutLogin", limits.addressTimeoutsMax),
  ];
}

function transferLines({ ftp }: ProftpdNodeSettings): string[] {
  return [
    `PassivePorts ${ftp.passivePorts.from} ${ftp.passivePorts.to}`,
    ...(ftp.publicAddress === undefined ? [] : [`MasqueradeAddress ${ftp.publicAddress}`]),
    // Data connections must come from the address of the control connection.
    "AllowForeignAddress off",
    "AllowOverwrite on",
    // Without it, a refused overwrite destroys the old file.
    "HiddenStores on",
    "DeleteAbortedStores on",
    // An append over quota deletes the whole file.
    "AllowStoreRestart off",
    "<Global>",
    "  <Limit APPE PORT EPRT SITE_CHMOD SITE_CHGRP MFF>",
    "    DenyAll",
    "  </Limit>",
    "</Global>",
    // The suspension marker: only root can change its folder, and customers need not see it.
    "<Directory ~>",
    "  HideFiles ^\\.suspended$",
    "</Directory>",
  ];
}

function tlsLines({ ftp }: ProftpdNodeSettings): string[] {
  return [
    "TLSEngine on",
    "TLSProtocol TLSv1.2 TLSv1.3",
    "TLSRequired on",
    `TLSRSACertificateFile ${ftp.certificateFile}`,
    `TLSRSACertificateKeyFile ${ftp.keyFile}`,
    // From the file above, ProFTPD presents only the first certificate.
    `TLSCertificateChainFile ${ftp.certificateFile}`,
    "TLSRenegotiate none",
    // Python's ftplib and other clients start a new TLS session for data, and would get no data connection. The connection
    // must come from the address of the control connection anyway.
    "TLSOptions NoSessionReuseRequired",
  ];
}

function quotaLines(settings: ProftpdNodeSettings): string[] {
  const paths = nodePaths(settings);
  return [
    "QuotaEngine on",
    `QuotaLimitTable file:${paths.quotaLimits}`,
    `QuotaTallyTable file:${paths.quotaTally}`,
    `QuotaLock ${paths.quotaLock}`,
    "QuotaDirectoryTally on",
    "QuotaDisplayUnits b",
    // Counts the uploads of killed sessions at the next login.
    "QuotaOptions ScanOnLogin",
  ];
}

function logLines(settings: ProftpdNodeSettings): string[] {
  const paths = nodePaths(settings);
  return [
    `SystemLog ${paths.ftpLog}`,
    "TransferLog none",
    "WtmpLog off",
    // Reports to the agent which accounts' files have changed.
    'LogFormat activity "%{uid} %m"',
    `ExtendedLog ${paths.ftpActivity} AUTH,WRITE,EXIT activity`,
  ];
}

/** hh:mm:ss */
function duration(seconds: number): string {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}
