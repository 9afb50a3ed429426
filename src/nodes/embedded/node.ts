/**
 * The embedded hosting node: FTP and web of all accounts in one process, for development and small machines. It serves
 * loopback by default. `dataDir` belongs to one node at a time:
 *
 *     accounts/<uid>.json   the desired state of an account
 *     homes/<uid>/www/      the account's files
 *     uploads/              uploads in progress; emptied at start
 *     trash/<uid>/          files of removed accounts
 *     traffic.json          the bytes that sites have sent this month
 *     marks.json            the highest uid
 *     ftp-tls.pem           the certificate of FTP over TLS
 *     agent.json            the gateway that the node has joined, and its agent's key
 *     agent-progress.json   the version of the desired state that is in force
 */
import { mkdir, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import type { Clock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import type { Random } from "#lib/random.ts";
import type { AgentNode } from "#nodes/agent-node.ts";
import { type Certificate, loadCertificate } from "#nodes/certificate.ts";
import type { Endpoint } from "#nodes/driver.ts";
import { Accounts } from "#nodes/embedded/accounts.ts";
import { createEmbeddedAgentNode } from "#nodes/embedded/agent-node.ts";
import type { PassivePorts } from "#nodes/embedded/ftp/data-connection.ts";
import { AddressGuesses } from "#nodes/embedded/ftp/guesses.ts";
import { startFtpServer } from "#nodes/embedded/ftp/server.ts";
import { Sessions } from "#nodes/embedded/ftp/sessions.ts";
import { defaultLimits, type EmbeddedNodeLimits } from "#nodes/embedded/limits.ts";
import { Marks } from "#nodes/embedded/marks.ts";
import { OneTimeLogins } from "#nodes/embedded/one-time-logins.ts";
import { Passwords } from "#nodes/embedded/passwords.ts";
import { Traffic } from "#nodes/embedded/traffic.ts";
import { startWebServer } from "#nodes/embedded/web/server.ts";
import { Trash } from "#nodes/homes/trash.ts";
import { UsageFeed } from "#nodes/homes/usage-feed.ts";

const dayMs = 86_400_000;

export interface EmbeddedNodeOptions {
  dataDir: string;
  /** The address of FTP and web. */
  host: string;
  /** Ports: 0 for any free one. */
  ftpPort: number;
  webPort: number;
  passivePorts: PassivePorts;
  /** Sites answer at `<identifier>.<siteDomain>`. */
  siteDomain: string;
  clock: Clock;
  random: Random;
  log: Log;
  limits?: Partial<EmbeddedNodeLimits>;
}

export interface EmbeddedNode {
  ftpPort: number;
  webPort: number;
  /** @param servers where its probes find FTP and web */
  agentNode(servers: { ftp: Endpoint; web: Endpoint }): AgentNode;
  /** Cuts all sessions and frees the ports. */
  close(): Promise<void>;
}

interface Folders {
  accounts: string;
  homes: string;
  uploads: string;
  trash: string;
}

/** @throws when a port is taken, or a record in `dataDir` cannot be read */
export async function startEmbeddedNode(options: EmbeddedNodeOptions): Promise<EmbeddedNode> {
  const { dataDir, host, clock, random, log, siteDomain } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const folders = await makeFolders(dataDir);
  const trash = new Trash(folders.trash, clock);
  const feed = new UsageFeed(clock);
  const sessions = new Sessions();
  const oneTimeLogins = new OneTimeLogins({ clock, random, validMs: limits.oneTimeLoginMs });
  const traffic = await Traffic.load({
    file: join(dataDir, "traffic.json"),
    flushMs: limits.trafficFlushMs,
    clock,
    log,
    onChange: (uid) => feed.changed(uid),
  });
  const marks = await Marks.open(join(dataDir, "marks.json"));
  const accounts = new Accounts({
    trash,
    feed,
    traffic,
    marks,
    siteDomain,
    recordsFolder: folders.accounts,
    homesFolder: folders.homes,
    cutSessions: (account) => sessions.cut(account),
  });
  await accounts.load();
  const certificate = await loadCertificate(dataDir, host, clock);
  const passwords = await Passwords.create(limits, random);
  const started: { close(): Promise<void> }[] = [purgeDaily(trash, limits.trashDaysMax, log)];
  traffic.start();
  const close = async () => {
    await Promise.all(started.map((server) => server.close()));
    await traffic.close();
  };
  try {
    const ftp = await startFtpServer(host, options.ftpPort, {
      accounts,
      sessions,
      passwords,
      oneTimeLogins,
      limits,
      clock,
      random,
      log,
      guesses: new AddressGuesses(clock, limits),
      secureContext: secureContextOf(certificate),
      passivePorts: options.passivePorts,
      uploadsFolder: folders.uploads,
    });
    started.push(ftp);
    const web = await startWebServer({ host, port: options.webPort, siteDomain, accounts, traffic, limits, log });
    started.push(web);
    const parts = { accounts, feed, marks, oneTimeLogins, siteDomain, random, log };
    const { usageWaitMsMax } = limits;
    return {
      ftpPort: ftp.port,
      webPort: web.port,
      agentNode: (servers) =>
        createEmbeddedAgentNode({ ...parts, ...servers, certificate: certificate.certificate, usageWaitMsMax }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Purges the trash now and every day, in the background. */
function purgeDaily(trash: Trash, daysMax: number, log: Log): { close(): Promise<void> } {
  const purge = () => trash.purge(daysMax).catch((error) => log.error({ err: error }, "trash not purged"));
  let running = purge();
  const timer = setInterval(() => {
    running = purge();
  }, dayMs).unref();
  return {
    close: () => {
      clearInterval(timer);
      return running;
    },
  };
}

/** Returns real paths, because the web server compares a file's path with its real path. */
async function makeFolders(dataDir: string): Promise<Folders> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const base = await realpath(dataDir);
  const folders = {
    accounts: join(base, "accounts"),
    homes: join(base, "homes"),
    uploads: join(base, "uploads"),
    trash: join(base, "trash"),
  };
  await rm(folders.uploads, { recursive: true, force: true });
  for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true, mode: 0o700 });
  return folders;
}

function secureContextOf({ keyAndCertificate }: Certificate) {
  return createSecureContext({ key: keyAndCertificate, cert: keyAndCertificate, minVersion: "TLSv1.2" });
}
