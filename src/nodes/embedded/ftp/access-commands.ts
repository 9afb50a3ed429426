/** Commands for the session: login, TLS, settings. */
import { sleep } from "#lib/clock.ts";
import { QueueFull } from "#lib/queues/fair-queue.ts";
import { Secret } from "#lib/secret.ts";
import type { Account } from "#nodes/embedded/accounts.ts";
import type { FtpCommand } from "#nodes/embedded/ftp/commands.ts";
import { FtpFailure } from "#nodes/embedded/ftp/reply.ts";
import type { FtpServices, FtpSession } from "#nodes/embedded/ftp/session.ts";

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

/** Files are always transferred unchanged; a client can choose nothing else. */
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
  const { user, services } = session;
  if (user === undefined) throw new FtpFailure(503, "Send USER first.");
  session.user = undefined;
  const password = new Secret(argument);
  // One-time logins cannot be guessed, so the probe works from a banned address too.
  const isOneTime = services.oneTimeLogins.isOneTimeUser(user);
  const account = isOneTime
    ? findOneTimeAccount(session, user, password)
    : await findPasswordAccount(session, user, password);
  if (session.signal.aborted || account === "turned away") return;
  if (account === undefined) return refuseGuess(session);
  if (!isOneTime && !services.sessions.hasRoomForAccount(account)) {
    throw new FtpFailure(530, "Too many sessions of this account.");
  }
  session.enter(account, isOneTime);
  session.channel.reply(230, "Logged in. The web site lies in /www/.");
}

function findOneTimeAccount(session: FtpSession, user: string, password: Secret): Account | undefined {
  const account = session.services.oneTimeLogins.redeem(user, password);
  return account !== undefined && session.services.accounts.isCurrent(account) ? account : undefined;
}

/** Finds the account that the password opens. Ends the session of a client that may not try; a banned address costs no hash. */
async function findPasswordAccount(
  { address, signal, services, channel }: FtpSession,
  user: string,
  password: Secret,
): Promise<Account | undefined | "turned away"> {
  const guess = await services.guesses.begin(address, user, signal);
  if (guess === undefined) {
    channel.end(421, "Too many wrong passwords, try again later.");
    return "turned away";
  }
  let outcome: "right" | "wrong" | "none" = "none";
  try {
    const account = services.accounts.find(user);
    const passwordHash = account?.record.passwordHash;
    // Always compute a hash: the time must not reveal whether the user exists or is suspended.
    const isRight = await services.passwords.isRight(guess.guesser, password, passwordHash, signal);
    // The password may have changed during the check.
    const isCurrent = account !== undefined && account.record.passwordHash === passwordHash;
    const found = isRight && isCurrent && mayLogIn(services, account) ? account : undefined;
    // Also count for a client that has disconnected, or disconnecting would make guesses free.
    outcome = found === undefined ? "wrong" : "right";
    return found;
  } catch (error) {
    if (!(error instanceof QueueFull)) throw error;
    channel.end(421, "Too many passwords are being checked, try again in a moment.");
    return "turned away";
  } finally {
    guess.end(outcome);
  }
}

function mayLogIn({ accounts }: FtpServices, account: Account): boolean {
  const { suspended, ftpEnabled } = account.record;
  return accounts.isCurrent(account) && ftpEnabled && !suspended;
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
