/** Commands about the session: logging in, TLS, settings. */
import { sleep } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import type { Account } from "../accounts.ts";
import type { FtpCommand } from "./commands.ts";
import { FtpFailure } from "./reply.ts";
import type { FtpSession } from "./session.ts";

const features = ["AUTH TLS", "EPSV", "MDTM", "MLST type*;size*;modify*;", "PASV", "PBSZ", "PROT", "SIZE", "UTF8"];

export const accessCommands: Record<string, FtpCommand> = {
  USER: { needsLogin: false, run: giveUser },
  PASS: { needsLogin: false, run: givePassword },
  AUTH: { needsLogin: false, run: startTls },
  PBSZ: { needsLogin: false, run: (session) => session.channel.reply(200, "PBSZ=0") },
  PROT: { needsLogin: false, run: setDataTls },
  FEAT: { needsLogin: false, run: (session) => session.channel.replyLines(211, "Features:", features, "End") },
  OPTS: { needsLogin: false, run: setOption },
  SYST: { needsLogin: false, run: (session) => session.channel.reply(215, "UNIX Type: L8") },
  STAT: { needsLogin: true, run: (session) => session.channel.reply(211, "FTP server ready.") },
  NOOP: { needsLogin: false, run: (session) => session.channel.reply(200, "OK.") },
  TYPE: { needsLogin: true, run: accept(/^(I|A|A N|L 8)$/i) },
  STRU: { needsLogin: true, run: accept(/^F$/i) },
  MODE: { needsLogin: true, run: accept(/^S$/i) },
  ABOR: { needsLogin: false, run: (session) => session.channel.reply(226, "Nothing is running any more.") },
  QUIT: { needsLogin: false, run: (session) => session.channel.end(221, "Goodbye.") },
};

/** Files are always sent as they are; what a client may choose is only that. */
function accept(choice: RegExp): FtpCommand["run"] {
  return (session, argument) => {
    if (!choice.test(argument)) throw new FtpFailure(504, "Not implemented for that parameter.");
    session.channel.reply(200, "OK.");
  };
}

function giveUser(session: FtpSession, argument: string): void {
  if (session.account !== undefined) throw new FtpFailure(503, "Already logged in.");
  if (!session.channel.isTls && !session.mayBeClear) throw new FtpFailure(530, "Use AUTH TLS first.");
  session.user = argument.toLowerCase();
  session.channel.reply(331, "Password required.");
}

async function givePassword(session: FtpSession, argument: string): Promise<void> {
  const { user, services, channel } = session;
  if (user === undefined) throw new FtpFailure(503, "Send USER first.");
  session.user = undefined;
  const isOneTime = services.oneTimeLogins.isOneTimeUser(user);
  // A banned address costs no hash. One-time logins cannot be guessed, so the probe works from a banned address too.
  if (!isOneTime && services.guesses.isBanned(session.address)) {
    return channel.end(421, "Too many wrong passwords, try again later.");
  }
  const password = new Secret(argument);
  const account = isOneTime
    ? findOneTimeAccount(session, user, password)
    : await findPasswordAccount(session, user, password);
  // Counted also for one who has left, or leaving would make guesses free.
  if (account === undefined) services.guesses.countWrong(session.address);
  if (session.signal.aborted) return;
  if (account === undefined) return refuseGuess(session);
  if (!isOneTime && !services.sessions.hasRoomForAccount(account)) {
    throw new FtpFailure(530, "Too many sessions of this account.");
  }
  session.enter(account, isOneTime);
  channel.reply(230, "Logged in. The web site lies in /www/.");
}

function findOneTimeAccount(session: FtpSession, user: string, password: Secret): Account | undefined {
  const account = session.services.oneTimeLogins.redeem(user, password);
  return account !== undefined && session.services.accounts.isCurrent(account) ? account : undefined;
}

async function findPasswordAccount(session: FtpSession, user: string, password: Secret): Promise<Account | undefined> {
  const account = session.services.accounts.find(user);
  const passwordHash = account?.record.passwordHash;
  // Always a hash: the time tells neither whether the user exists nor whether it is suspended.
  const isRight = await session.services.passwords.isRight(password, passwordHash, session.signal);
  if (!isRight || account === undefined || !mayLogIn(session, account)) return undefined;
  // The password may have been changed while it was checked.
  return account.record.passwordHash === passwordHash ? account : undefined;
}

function mayLogIn(session: FtpSession, account: Account): boolean {
  const { suspended, ftpEnabled } = account.record;
  return session.services.accounts.isCurrent(account) && ftpEnabled && !suspended;
}

async function refuseGuess(session: FtpSession): Promise<void> {
  const { guessDelayMs, guessesMax } = session.services.limits;
  session.wrongGuesses += 1;
  await sleep(session.wrongGuesses * guessDelayMs, session.signal);
  session.channel.reply(530, "Login incorrect.");
  if (session.wrongGuesses >= guessesMax) session.channel.end(421, "Too many wrong passwords.");
}

function startTls(session: FtpSession, argument: string): void {
  if (!/^(TLS|TLS-C|SSL)$/i.test(argument)) throw new FtpFailure(504, "Only AUTH TLS.");
  if (session.channel.isTls || session.account !== undefined) throw new FtpFailure(503, "Too late for AUTH.");
  session.user = undefined;
  session.channel.startTls(session.services.secureContext, 234, "Proceed.");
}

function setDataTls(session: FtpSession, argument: string): void {
  const level = argument.toUpperCase();
  if (!session.channel.isTls) throw new FtpFailure(503, "Send AUTH TLS first.");
  if (level !== "P" && level !== "C") throw new FtpFailure(536, "Only PROT P and PROT C.");
  if (level === "C" && !session.mayBeClear) throw new FtpFailure(534, "Only PROT P.");
  session.isDataTls = level === "P";
  session.channel.reply(200, "OK.");
}

function setOption(session: FtpSession, argument: string): void {
  if (!/^(UTF-?8( ON)?|MLST\b.*)$/i.test(argument)) throw new FtpFailure(501, "Unknown option.");
  session.channel.reply(200, "OK.");
}
