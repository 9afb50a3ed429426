/** The parts of a node. */
import { mkdir, readFile, realpath } from "node:fs/promises";
import type { Clock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import type { Random } from "#lib/random.ts";
import { reportDefect } from "#lib/report-defect.ts";
import type { Endpoint } from "#nodes/driver.ts";
import { Trash } from "#nodes/homes/trash.ts";
import { UsageFeed } from "#nodes/homes/usage-feed.ts";
import { Accounts } from "#nodes/proftpd-nginx/accounts.ts";
import { Homes } from "#nodes/proftpd-nginx/homes.ts";
import { isCountedByProftpd, LoginFile } from "#nodes/proftpd-nginx/login-file.ts";
import { OneTimeLogins } from "#nodes/proftpd-nginx/one-time-logins.ts";
import { QuotaTable } from "#nodes/proftpd-nginx/quota-table.ts";
import { Records } from "#nodes/proftpd-nginx/records.ts";
import { endSurplusSessions } from "#nodes/proftpd-nginx/sessions.ts";
import { nodePaths, type ProftpdNodeSettings } from "#nodes/proftpd-nginx/settings.ts";
import { TrafficCount } from "#nodes/proftpd-nginx/traffic.ts";
import { UsageWatch } from "#nodes/proftpd-nginx/usage-watch.ts";

export interface ProftpdNodeOptions {
  settings: ProftpdNodeSettings;
  /** The FTP server as customers reach it. */
  ftp: Endpoint;
  /** The web server, over plain HTTP. */
  web: Endpoint;
  clock: Clock;
  random: Random;
  log: Log;
}

export interface Parts extends ProftpdNodeOptions {
  records: Records;
  homes: Homes;
  limits: QuotaTable;
  oneTimeLogins: OneTimeLogins;
  usage: UsageWatch;
  traffic: TrafficCount;
  trash: Trash;
  feed: UsageFeed;
  accounts: Accounts;
}

/** Reads the stored state. The folders must exist. @throws when a record cannot be read */
export async function openParts(options: ProftpdNodeOptions): Promise<Parts> {
  const { settings, clock, log } = options;
  const paths = nodePaths(settings);
  const homes = new Homes(paths);
  const feed = new UsageFeed(clock);
  const { logBytesMax } = settings.limits;
  const records = await Records.open(paths.records, paths.journal);
  const limits = await QuotaTable.open(paths);
  const logins = new LoginFile(paths);
  const usage = await UsageWatch.open({
    activityLog: paths.ftpActivity,
    file: paths.usage,
    docroot: (uid) => homes.docroot(uid),
    onLogin: (uid) => {
      const account = records.get(uid);
      if (account && !isCountedByProftpd(account)) endSurplusSessions(uid, account.sessionsMax, paths.ftpPid);
    },
    onChange: (uid) => feed.changed(uid),
    logBytesMax,
    log,
  });
  const traffic = await TrafficCount.open({
    log: paths.webTraffic,
    file: paths.traffic,
    homes: await realpath(paths.homes),
    isAccount: (uid) => records.get(uid) !== undefined,
    reopenLogs: () => {
      reopenLogs(paths.webPid, log).catch(reportDefect);
    },
    onChange: (uid) => feed.changed(uid),
    logBytesMax,
  });
  const trash = new Trash(paths.trash, clock);
  const { siteDomain } = settings;
  const accounts = new Accounts({
    records,
    homes,
    logins,
    limits,
    trash,
    siteDomain,
    ftpPidFile: paths.ftpPid,
  });
  const oneTimeLogins = new OneTimeLogins({ ...options, logins });
  return { ...options, homes, records, limits, oneTimeLogins, usage, traffic, trash, feed, accounts };
}

/** Creates missing folders. */
export async function makeFolders(settings: ProftpdNodeSettings): Promise<void> {
  const { rootFolder, stateFolder, runFolder, logFolder } = settings;
  const paths = nodePaths(settings);
  for (const folder of [rootFolder, paths.homes, paths.sites]) await mkdir(folder, { recursive: true, mode: 0o755 });
  for (const folder of [stateFolder, logFolder, paths.trash]) await mkdir(folder, { recursive: true, mode: 0o700 });
  await mkdir(runFolder, { recursive: true, mode: 0o755 });
}

async function reopenLogs(webPidFile: string, log: Log): Promise<void> {
  try {
    const pid = Number(await readFile(webPidFile, "utf8"));
    // The file is empty while it is being written, and pid 0 would mean this process group.
    if (!(pid > 0)) throw new Error("nginx's pid file is empty");
    process.kill(pid, "SIGUSR1");
  } catch (error) {
    log.error({ err: error }, "the signal to reopen its logs did not reach nginx");
  }
}
