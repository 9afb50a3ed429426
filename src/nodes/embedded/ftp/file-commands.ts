/** Commands for files that need no data connection. */
import { mkdir, rename, rmdir, unlink } from "node:fs/promises";
import type { FtpCommand } from "#nodes/embedded/ftp/commands.ts";
import { machineFormat, timeFormat } from "#nodes/embedded/ftp/listing.ts";
import { findAt, type GuardedPath, getAt } from "#nodes/embedded/ftp/path-guard.ts";
import { FtpFailure, notAvailable } from "#nodes/embedded/ftp/reply.ts";
import type { FtpSession } from "#nodes/embedded/ftp/session.ts";
import { longestPathBytes } from "#nodes/homes/usage.ts";

export const fileCommands: Record<string, FtpCommand> = {
  PWD: { needsLogin: true, run: (session) => session.channel.reply(257, `${quoted(session.folder)} is current.`) },
  CWD: { needsLogin: true, run: changeFolder },
  CDUP: { needsLogin: true, run: (session) => changeFolder(session, "..") },
  SIZE: { needsLogin: true, run: tellSize },
  MDTM: { needsLogin: true, run: tellTime },
  MLST: { needsLogin: true, run: describe },
  DELE: { needsLogin: true, run: deleteFile },
  MKD: { needsLogin: true, run: makeFolder },
  RMD: { needsLogin: true, run: deleteFolder },
  RNFR: { needsLogin: true, run: renameFrom },
  RNTO: { needsLogin: true, run: renameTo },
};

/** RFC 959, appendix II: a quote inside is doubled. */
function quoted(path: string): string {
  return `"${path.replaceAll('"', '""')}"`;
}

async function changeFolder(session: FtpSession, argument: string): Promise<void> {
  const path = session.path(argument);
  const found = await getAt(session.loggedIn.home, path);
  if (!found.isDirectory()) throw notAvailable();
  session.folder = path.virtual;
  session.channel.reply(250, "OK.");
}

async function tellSize(session: FtpSession, argument: string): Promise<void> {
  const found = await getAt(session.loggedIn.home, session.path(argument));
  if (!found.isFile()) throw notAvailable();
  session.channel.reply(213, String(found.size));
}

async function tellTime(session: FtpSession, argument: string): Promise<void> {
  const found = await getAt(session.loggedIn.home, session.path(argument));
  session.channel.reply(213, timeFormat(found.mtime));
}

async function describe(session: FtpSession, argument: string): Promise<void> {
  const path = session.path(argument);
  const stats = await getAt(session.loggedIn.home, path);
  session.channel.replyLines(250, "Listing:", [machineFormat({ name: path.virtual, stats })], "End");
}

/** Runs a change of files in the account's queue, unless the session is cut before its turn. */
async function change(session: FtpSession, run: () => Promise<void>): Promise<void> {
  await session.loggedIn.queue(async () => {
    if (!session.signal.aborted) await run();
  });
}

async function deleteFile(session: FtpSession, argument: string): Promise<void> {
  const { home, quota } = session.loggedIn;
  const path = session.writablePath(argument);
  await change(session, async () => {
    const found = await getAt(home, path);
    if (!found.isFile()) throw notAvailable();
    await unlink(path.real);
    quota.deleted(path.virtual, found.size);
  });
  session.channel.reply(250, "Deleted.");
}

async function makeFolder(session: FtpSession, argument: string): Promise<void> {
  const { home, quota } = session.loggedIn;
  const path = session.writablePath(argument);
  await change(session, async () => {
    if ((await findAt(home, path)) !== undefined) throw notAvailable();
    quota.checkFiles();
    await mkdir(path.real);
    quota.addFolders(1);
  });
  session.channel.reply(257, `${quoted(path.virtual)} created.`);
}

async function deleteFolder(session: FtpSession, argument: string): Promise<void> {
  const { home, quota } = session.loggedIn;
  const path = session.writablePath(argument);
  await change(session, async () => {
    await getAt(home, path);
    await rmdir(path.real);
    quota.addFolders(-1);
  });
  session.channel.reply(250, "Deleted.");
}

async function renameFrom(session: FtpSession, argument: string): Promise<void> {
  const path = session.writablePath(argument);
  await getAt(session.loggedIn.home, path);
  session.renameSource = path;
  session.channel.reply(350, "Send RNTO.");
}

async function renameTo(session: FtpSession, argument: string): Promise<void> {
  const from = session.renameSource;
  if (from === undefined) throw new FtpFailure(503, "Send RNFR first.");
  session.renameSource = undefined;
  const to = session.writablePath(argument);
  await change(session, () => move(session, from, to));
  session.channel.reply(250, "Renamed.");
}

/** A file may replace a file, for clients that upload under another name first. Nothing else is replaced. */
async function move(session: FtpSession, from: GuardedPath, to: GuardedPath): Promise<void> {
  const { home, quota } = session.loggedIn;
  if (from.virtual === to.virtual) return;
  const source = await getAt(home, from);
  const replaced = await findAt(home, to);
  if (replaced !== undefined && !(source.isFile() && replaced.isFile())) throw notAvailable();
  if (source.isDirectory()) await checkDepth(session, from, to);
  await rename(from.real, to.real);
  quota.moved(from.virtual, to.virtual, source.isFile() ? source : undefined, replaced);
}

/**
 * Moving folders into folders could nest them deeper than the longest path that the server, or its clean-up, can use.
 * @throws FtpFailure 550
 */
async function checkDepth(session: FtpSession, from: GuardedPath, to: GuardedPath): Promise<void> {
  const growth = Buffer.byteLength(to.virtual) - Buffer.byteLength(from.virtual);
  if (growth <= 0) return;
  const longest = Buffer.byteLength(to.virtual) + 1 + (await longestPathBytes(from.real));
  if (longest > session.services.limits.pathBytesMax) throw notAvailable();
}
