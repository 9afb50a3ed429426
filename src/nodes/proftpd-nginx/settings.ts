/** What a node of this kind is made of: from here come both servers' configurations and the paths that the agent works on. */
import { join } from "node:path";

export interface ProftpdNodeSettings {
  /** Homes, sites and trash, on one file system. */
  rootFolder: string;
  /** Records, login file, quota tables, sums. */
  stateFolder: string;
  /** Pid files, sockets, the scoreboard: may be gone after a restart of the machine. */
  runFolder: string;
  logFolder: string;
  /** Sites answer at `<identifier>.<siteDomain>`. */
  siteDomain: string;
  ftp: {
    /** IP address to listen on: `0.0.0.0` for all. */
    address: string;
    port: number;
    passivePorts: { from: number; to: number };
    /** Address that passive answers name, where clients see another one than we listen on. */
    publicAddress?: string;
    /** PEM. */
    certificateFile: string;
    keyFile: string;
  };
  web: {
    address: string;
    port: number;
    /** Without it, sites answer over plain HTTP only. */
    tls?: {
      port: number;
      /** `<host name>.pem`, key and chain in one file, readable for nginx's workers; looked up at every handshake. */
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
  /** FTP sessions in all, before and after login. */
  sessionsMax: number;
  /** FTP sessions of one client address. */
  addressSessionsMax: number;
  loginSecondsMax: number;
  idleSecondsMax: number;
  /** A data connection on which nothing moves is cut after this. */
  stalledSecondsMax: number;
  /** Wrong guesses per connection. */
  guessesMax: number;
  /** What a wrong guess waits for its answer, at least. */
  guessDelayMs: number;
  /** Connections with `guessesMax` wrong guesses within `addressWindowSeconds` that ban their address for `addressBanSeconds`. */
  addressGuessRoundsMax: number;
  addressWindowSeconds: number;
  addressBanSeconds: number;
  /** Connections of one address that have not logged in in time, within `addressWindowSeconds`, that ban it too. */
  addressTimeoutsMax: number;
  commandBytesMax: number;
  /** Connections of one client address to its sites. */
  addressRequestsMax: number;
  webConnectionsMax: number;
  requestHeaderSecondsMax: number;
  /** A log that is longer is renamed, and the one before it forgotten. */
  logBytesMax: number;
  /** From an account's creation of a one-time login until it opens nothing any more. */
  oneTimeLoginMs: number;
  /** The longest that nginx gathers lines of its log before it writes them. */
  webLogFlushMs: number;
  /** How often the servers' logs are looked at. */
  logPollMs: number;
  /** How often sums of usage and traffic are written down, while they change. */
  sumsSaveMs: number;
  /** The longest that a question for usage changes is held. */
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

/** A node as `deedhouse node install` sets it up; certificates, addresses and siteDomain are the machine's own. */
export const defaultFolders = {
  rootFolder: "/srv/deedhouse",
  stateFolder: "/var/lib/deedhouse",
  runFolder: "/run/deedhouse",
  logFolder: "/var/log/deedhouse",
};

/** All paths of a node. Everything is root's; `homes/<uid>/www` alone belongs to the account. */
export function nodePaths({ rootFolder, stateFolder, runFolder, logFolder }: ProftpdNodeSettings) {
  return {
    /** `homes/<uid>/`: the FTP root; in it `www/`, and the marker while the account is suspended. */
    homes: join(rootFolder, "homes"),
    /** `sites/<host name>`: a link to the home. */
    sites: join(rootFolder, "sites"),
    /** `trash/<uid>/`: files of removed accounts. */
    trash: join(rootFolder, "trash"),
    records: join(stateFolder, "accounts.jsonl"),
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

/** Uids of accounts, far above those of the machine's own users. */
export const uidMin = 200_000;

/** The empty file in a home that makes nginx answer 503. Hidden from FTP, and in a folder that only root can change. */
export const suspendedMarker = ".suspended";

/** Groups named after how many sessions their members may have: ProFTPD knows such a limit per group only. */
export const sessionGroupPrefix = "sessions-";
/** Above it an account's sessions are not counted by ProFTPD but by the agent. */
export const groupedSessionsMax = 100;
