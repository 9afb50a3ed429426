/** The settings of a node of this kind. Both servers' configurations and the agent's paths derive from them. */
import { join } from "node:path";

export interface ProftpdNodeSettings {
  /** Homes, sites and trash, on one file system. */
  rootFolder: string;
  /** Records, login file, quota tables, sums. */
  stateFolder: string;
  /** Pid files, sockets, the scoreboard. A reboot may empty it. */
  runFolder: string;
  logFolder: string;
  /** Sites answer at `<identifier>.<siteDomain>`. */
  siteDomain: string;
  ftp: {
    /** IP address to listen on: `0.0.0.0` for all. */
    address: string;
    port: number;
    passivePorts: { from: number; to: number };
    /** The address in replies to PASV, if clients see another one than the server listens on. */
    publicAddress?: string;
    /** PEM. */
    certificateFile: string;
    keyFile: string;
  };
  web: {
    address: string;
    port: number;
    /** Default: plain HTTP only. */
    tls?: {
      port: number;
      /** `<host name>.pem`, key and chain in one file, readable for nginx's workers. Read at every handshake. */
      certificatesFolder: string;
      /** Serves `*.<siteDomain>`: a file as above. */
      siteCertificateFile: string;
    };
    /** nginx's workers run as this user. */
    user: string;
    /** Debian's list of content types. */
    mimeTypesFile: string;
  };
  limits: ProftpdNodeLimits;
}

export interface ProftpdNodeLimits {
  /** All FTP sessions, before and after login. */
  sessionsMax: number;
  /** FTP sessions of one client address. */
  addressSessionsMax: number;
  loginSecondsMax: number;
  idleSecondsMax: number;
  /** A stalled data connection is closed after this. */
  stalledSecondsMax: number;
  /** Wrong guesses per connection. */
  guessesMax: number;
  /** The minimum delay of the reply to a wrong guess. */
  guessDelayMs: number;
  /**
   * An address with this many connections of `guessesMax` wrong guesses within `addressWindowSeconds` is banned for
   * `addressBanSeconds`.
   */
  addressGuessRoundsMax: number;
  addressWindowSeconds: number;
  addressBanSeconds: number;
  /** An address with this many login timeouts within `addressWindowSeconds` is banned too. */
  addressTimeoutsMax: number;
  commandBytesMax: number;
  /** Connections of one client address to its sites. */
  addressRequestsMax: number;
  webConnectionsMax: number;
  requestHeaderSecondsMax: number;
  /** A longer log is renamed, and replaces its predecessor. */
  logBytesMax: number;
  /** How long a one-time login is valid. */
  oneTimeLoginMs: number;
  /** The longest time that nginx buffers lines of its log. */
  webLogFlushMs: number;
  /** How often the servers' logs are read. */
  logPollMs: number;
  /** How often changed sums of usage and traffic are saved. */
  sumsSaveMs: number;
  /** The longest wait for usage changes. */
  usageWaitMsMax: number;
  trashDaysMax: number;
}

export const defaultProftpdNodeLimits: ProftpdNodeLimits = {
  sessionsMax: 1_000,
  addressSessionsMax: 50,
  loginSecondsMax: 20,
  idleSecondsMax: 300,
  stalledSecondsMax: 60,
  guessesMax: 3,
  guessDelayMs: 1_000,
  addressGuessRoundsMax: 7,
  addressWindowSeconds: 600,
  addressBanSeconds: 300,
  addressTimeoutsMax: 100,
  commandBytesMax: 4_096,
  addressRequestsMax: 100,
  webConnectionsMax: 8_192,
  requestHeaderSecondsMax: 15,
  logBytesMax: 67_108_864,
  oneTimeLoginMs: 60_000,
  webLogFlushMs: 1_000,
  logPollMs: 500,
  sumsSaveMs: 10_000,
  usageWaitMsMax: 60_000,
  trashDaysMax: 30,
};

/** The folders of a node that `deedhouse node install` set up. Certificates, addresses and siteDomain are per machine. */
export const defaultFolders = {
  rootFolder: "/srv/deedhouse",
  stateFolder: "/var/lib/deedhouse",
  runFolder: "/run/deedhouse",
  logFolder: "/var/log/deedhouse",
};

/** All paths of a node. Root owns everything but `homes/<uid>/www`, which belongs to the account. */
export function nodePaths({ rootFolder, stateFolder, runFolder, logFolder }: ProftpdNodeSettings) {
  return {
    /** `homes/<uid>/`: the FTP root; in it `www/`, and the marker while the account is suspended. */
    homes: join(rootFolder, "homes"),
    /** `sites/<host name>`: a link to the home. */
    sites: join(rootFolder, "sites"),
    /** `trash/<uid>/`: files of removed accounts. */
    trash: join(rootFolder, "trash"),
    records: join(stateFolder, "accounts.sqlite"),
    journal: join(stateFolder, "accounts.jsonl"),
    logins: join(stateFolder, "ftp-users"),
    groups: join(stateFolder, "ftp-groups"),
    quotaLimits: join(stateFolder, "ftp-quota-limits"),
    quotaTally: join(stateFolder, "ftp-quota-tally"),
    usage: join(stateFolder, "usage.json"),
    traffic: join(stateFolder, "traffic.json"),
    bans: join(runFolder, "proftpd.bans"),
    delays: join(runFolder, "proftpd.delays"),
    ftpPid: join(runFolder, "proftpd.pid"),
    scoreboard: join(runFolder, "proftpd.scoreboard"),
    controls: join(runFolder, "proftpd.sock"),
    quotaLock: join(runFolder, "proftpd.quota-lock"),
    webPid: join(runFolder, "nginx.pid"),
    ftpLog: join(logFolder, "ftp.log"),
    ftpActivity: join(logFolder, "ftp-activity.log"),
    webErrors: join(logFolder, "web-errors.log"),
    webTraffic: join(logFolder, "web-traffic.log"),
  } as const;
}

export type NodePaths = ReturnType<typeof nodePaths>;

/** The lowest uid of accounts, far above the system's users. */
export const uidMin = 200_000;

/** The empty file in a home that makes nginx answer 503. Hidden from FTP, and in a folder that only root can change. */
export const suspendedMarker = ".suspended";

/** Groups named by the session limit of their members: ProFTPD configures such a limit per group only. */
export const sessionGroupPrefix = "sessions-";
/** For a higher limit, the agent counts the sessions instead of ProFTPD. */
export const groupedSessionsMax = 100;
