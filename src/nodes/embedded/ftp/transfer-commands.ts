/** Commands that use a data connection. */
import { once } from "node:events";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { isIPv4, type Socket } from "node:net";
import { basename } from "node:path";
import { type Duplex, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { TLSSocket } from "node:tls";
import type { FtpCommand } from "#nodes/embedded/ftp/commands.ts";
import {
  type Entry,
  type EntryFormat,
  entriesOf,
  longFormat,
  machineFormat,
  nameOnly,
} from "#nodes/embedded/ftp/listing.ts";
import { getAt } from "#nodes/embedded/ftp/path-guard.ts";
import { FtpFailure, failureOf, notAvailable } from "#nodes/embedded/ftp/reply.ts";
import type { FtpSession } from "#nodes/embedded/ftp/session.ts";
import { beginUpload } from "#nodes/embedded/ftp/upload.ts";

export const transferCommands: Record<string, FtpCommand> = {
  PASV: { needsLogin: true, run: openPassive },
  EPSV: { needsLogin: true, run: openExtendedPassive },
  ALLO: { needsLogin: true, run: (session) => session.channel.reply(202, "Not needed.") },
  LIST: {
    needsLogin: true,
    run: (session, argument) => list(session, withoutOptions(argument), longFormatNow(session)),
  },
  NLST: { needsLogin: true, run: (session, argument) => list(session, withoutOptions(argument), nameOnly) },
  MLSD: { needsLogin: true, run: listForMachines },
  RETR: { needsLogin: true, run: sendFile },
  STOR: { needsLogin: true, run: receiveFile },
};

async function openPassive(session: FtpSession): Promise<void> {
  if (!isIPv4(session.localAddress)) throw new FtpFailure(522, "Use EPSV.");
  const port = await session.openDataPort();
  const numbers = [...session.localAddress.split("."), port >> 8, port & 255].join(",");
  session.channel.reply(227, `Entering Passive Mode (${numbers}).`);
}

async function openExtendedPassive(session: FtpSession, argument: string): Promise<void> {
  const family = isIPv4(session.localAddress) ? "1" : "2";
  if (argument.toUpperCase() === "ALL") return session.channel.reply(200, "OK.");
  if (argument !== "" && argument !== family)
    throw new FtpFailure(522, `Network protocol not supported, use (${family})`);
  const port = await session.openDataPort();
  session.channel.reply(229, `Entering Extended Passive Mode (|||${port}|)`);
}

function longFormatNow(session: FtpSession): EntryFormat {
  return longFormat(session.services.clock.now().getTime());
}

/** Clients send `LIST -la`, with options of `ls`. */
function withoutOptions(argument: string): string {
  return argument.replace(/^(-[A-Za-z]+( |$))+/, "");
}

async function listForMachines(session: FtpSession, argument: string): Promise<void> {
  const found = await getAt(session.loggedIn.home, session.path(argument));
  if (!found.isDirectory()) throw new FtpFailure(501, "Not a folder.");
  await list(session, argument, machineFormat);
}

async function list(session: FtpSession, argument: string, format: EntryFormat): Promise<void> {
  const path = session.path(argument);
  const stats = await getAt(session.loggedIn.home, path);
  const entries = stats.isDirectory() ? entriesOf(path.real) : [{ name: basename(path.virtual), stats }];
  await transfer(session, (data, signal) => send(Readable.from(linesOf(entries, format)), data, signal));
}

async function* linesOf(entries: AsyncIterable<Entry> | Entry[], format: EntryFormat): AsyncGenerator<string> {
  for await (const entry of entries) yield `${format(entry)}\r\n`;
}

async function sendFile(session: FtpSession, argument: string): Promise<void> {
  const path = session.path(argument);
  if (!(await getAt(session.loggedIn.home, path)).isFile()) throw notAvailable();
  const file = await open(path.real, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    await transfer(session, (data, signal) => send(file.createReadStream(), data, signal));
  } finally {
    await file.close();
  }
}

async function receiveFile(session: FtpSession, argument: string): Promise<void> {
  const upload = await beginUpload(session, session.writablePath(argument));
  try {
    await transfer(session, async (data, signal) => {
      await upload.receive(data, signal);
      await upload.commit(signal);
    });
  } finally {
    await upload.end();
  }
}

/** Runs `move` with the client's data connection, between the replies 150 and 226. */
async function transfer(
  session: FtpSession,
  move: (data: Duplex, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { channel, services } = session;
  if (!session.isDataTls && !session.mayBeClear) throw new FtpFailure(522, "Use PROT P.");
  const port = session.takeDataPort();
  await session.transfer(async (signal) => {
    const close = () => port.close();
    signal.addEventListener("abort", close);
    try {
      channel.reply(150, "Ready.");
      const data = prepare(await port.connection(), session);
      data.setTimeout(services.limits.dataStallMs, () => data.destroy());
      await move(data, signal);
      finish(data);
      channel.reply(226, "Done.");
    } catch (error) {
      port.close();
      throw signal.aborted || isConnectionError(error) ? new FtpFailure(426, "Transfer aborted.") : error;
    } finally {
      signal.removeEventListener("abort", close);
    }
  });
}

/** Waits for the handshake: an empty file would end the connection before it, and the client would see a broken connection. */
async function send(source: Readable, data: Duplex, signal: AbortSignal): Promise<void> {
  if (data instanceof TLSSocket) {
    const closed = new AbortController();
    data.once("close", () => closed.abort());
    await once(data, "secure", { signal: AbortSignal.any([signal, closed.signal]) });
  }
  await pipeline(source, data, { signal });
}

function prepare(socket: Socket, session: FtpSession): Socket {
  if (session.isDataTls) {
    const secure = new TLSSocket(socket, { isServer: true, secureContext: session.services.secureContext });
    secure.on("error", () => secure.destroy());
    return secure;
  }
  return socket;
}

/** Ends our side. The connection closes when the client has read everything and closes too. */
function finish(data: Socket): void {
  data.resume();
  data.end();
}

/** Whether the data connection failed, which is neither the client's error nor ours. */
function isConnectionError(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  return failureOf(error) === undefined && /^(ECONN|EPIPE|ETIMEDOUT|ERR_STREAM_|ERR_SSL_|ABORT_ERR)/.test(code);
}
