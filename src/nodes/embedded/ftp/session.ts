import type { Socket } from "node:net";
import type { SecureContext } from "node:tls";
import type { Clock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { plainAddress } from "#lib/net/plain-address.ts";
import type { Random } from "#lib/random.ts";
import type { Account, Accounts } from "#nodes/embedded/accounts.ts";
import { isLoopback } from "#nodes/embedded/ftp/address.ts";
import { findCommand } from "#nodes/embedded/ftp/commands.ts";
import { ControlChannel } from "#nodes/embedded/ftp/control-channel.ts";
import { DataPort, type PassivePorts } from "#nodes/embedded/ftp/data-connection.ts";
import type { AddressGuesses } from "#nodes/embedded/ftp/guesses.ts";
import { checkWritable, type GuardedPath, resolvePath } from "#nodes/embedded/ftp/path-guard.ts";
import { FtpFailure, failureOf } from "#nodes/embedded/ftp/reply.ts";
import type { Sessions } from "#nodes/embedded/ftp/sessions.ts";
import type { EmbeddedNodeLimits } from "#nodes/embedded/limits.ts";
import type { OneTimeLogins } from "#nodes/embedded/one-time-logins.ts";
import type { Passwords } from "#nodes/embedded/passwords.ts";

/** Services that all sessions share. */
export interface FtpServices {
  accounts: Accounts;
  sessions: Sessions;
  passwords: Passwords;
  oneTimeLogins: OneTimeLogins;
  guesses: AddressGuesses;
  secureContext: SecureContext;
  passivePorts: PassivePorts;
  /** The folder of incomplete uploads: on the file system of the homes, outside all of them. */
  uploadsFolder: string;
  limits: EmbeddedNodeLimits;
  clock: Clock;
  random: Random;
  log: Log;
}

/** One client's control connection, and its state. */
export class FtpSession {
  readonly services: FtpServices;
  readonly channel: ControlChannel;
  /** The client's. */
  readonly address: string;
  readonly #localAddress: string;
  /** The argument of USER, until PASS. */
  user: string | undefined;
  wrongGuesses = 0;
  account: Account | undefined;
  isOneTime = false;
  /** The current folder, as the client sees it. */
  folder = "/";
  isDataTls = false;
  /** The argument of RNFR, for the following RNTO. */
  renameSource: GuardedPath | undefined;
  #dataPort: DataPort | undefined;
  #transfer: AbortController | undefined;
  readonly #closing = new AbortController();
  readonly #loginTimer: NodeJS.Timeout;
  readonly #idleTimer: NodeJS.Timeout;
  #isBusy = false;

  readonly #onLogin: () => void;

  constructor(socket: Socket, services: FtpServices, onLogin: () => void) {
    const { limits } = services;
    this.services = services;
    this.#onLogin = onLogin;
    this.address = plainAddress(socket.remoteAddress);
    this.#localAddress = plainAddress(socket.localAddress);
    this.#loginTimer = setTimeout(() => this.channel.end(421, "Too slow to log in."), limits.loginMs);
    this.#idleTimer = setTimeout(() => this.#idle(), limits.idleMs);
    this.channel = new ControlChannel({
      socket,
      limits,
      onAbort: () => this.#transfer?.abort(),
      onLine: (line) => this.#run(line),
      onClose: () => this.cut(),
    });
    services.sessions.add(this);
    this.channel.reply(220, "FTP server ready.");
  }

  /** Fires when the session ends. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /** Whether passwords and files may be sent unencrypted: only on this machine. */
  get mayBeClear(): boolean {
    return isLoopback(this.address);
  }

  /** The account, in a command that needs a login: the dispatcher has checked it. */
  get loggedIn(): Account {
    if (this.account === undefined) throw new FtpFailure(530, "Log in first.");
    return this.account;
  }

  get localAddress(): string {
    return this.#localAddress;
  }

  enter(account: Account, isOneTime: boolean): void {
    clearTimeout(this.#loginTimer);
    this.#onLogin();
    this.account = account;
    this.isOneTime = isOneTime;
  }

  /** @throws FtpFailure 550 */
  path(argument: string): GuardedPath {
    return resolvePath(this.loggedIn.home, this.folder, argument, this.services.limits.pathBytesMax);
  }

  /** @throws FtpFailure 550 outside of what FTP may change, 501 for no path */
  writablePath(argument: string): GuardedPath {
    if (argument === "") throw new FtpFailure(501, "A path is missing.");
    const path = this.path(argument);
    checkWritable(path);
    return path;
  }

  /** Opens the session's data port, and closes an earlier one, so a session never has two. */
  async openDataPort(): Promise<number> {
    const { passivePorts: ports, random, limits } = this.services;
    this.#dataPort?.close();
    const options = { host: this.#localAddress, address: this.address, ports, random, connectMs: limits.dataConnectMs };
    this.#dataPort = await DataPort.open(options);
    if (this.signal.aborted) this.#dataPort.close();
    return this.#dataPort.port;
  }

  /** The data port for one transfer. @throws FtpFailure 425 without PASV or EPSV before */
  takeDataPort(): DataPort {
    const port = this.#dataPort;
    this.#dataPort = undefined;
    if (port === undefined) throw new FtpFailure(425, "Use EPSV or PASV first.");
    return port;
  }

  /** Runs a transfer with a signal that fires on ABOR and at the session's end. */
  async transfer(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#transfer = new AbortController();
    try {
      await run(AbortSignal.any([this.#transfer.signal, this.signal]));
    } finally {
      this.#transfer = undefined;
    }
  }

  /** Ends the session at once, including a running transfer. */
  cut(): void {
    if (this.signal.aborted) return;
    this.#closing.abort();
    clearTimeout(this.#loginTimer);
    clearTimeout(this.#idleTimer);
    this.#dataPort?.close();
    this.channel.destroy();
    this.services.sessions.delete(this);
  }

  #idle(): void {
    if (this.#isBusy) this.#idleTimer.refresh();
    else this.channel.end(421, "Idle for too long.");
  }

  async #run(line: string): Promise<void> {
    this.#isBusy = true;
    this.#idleTimer.refresh();
    const [, verb = "", argument = ""] = /^(\S*) ?(.*)$/s.exec(line) ?? [];
    try {
      const command = findCommand(verb.toUpperCase());
      if (command === undefined) throw new FtpFailure(502, "Not implemented.");
      if (command.needsLogin && this.account === undefined) throw new FtpFailure(530, "Log in first.");
      await command.run(this, argument);
    } catch (error) {
      this.#answer(error, verb);
    } finally {
      this.#isBusy = false;
    }
  }

  #answer(error: unknown, verb: string): void {
    if (this.signal.aborted) return;
    const failure = failureOf(error);
    if (failure === undefined) {
      this.services.log.error({ err: error, verb, uid: this.account?.record.uid }, "FTP command failed");
    }
    this.channel.reply(failure?.code ?? 451, failure?.message ?? "Something went wrong here, try again later.");
  }
}
