/** One of our accounts at the registry, and the frames of its sessions. */
import type { Clock } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";
import type { Secret } from "#lib/secret.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { logout } from "#registry/epp/commands/session/logout.ts";
import { EppUnavailable } from "#registry/epp/errors.ts";
import { TokenBucket } from "#registry/epp/pool/token-bucket.ts";
import { createClTRID, type EppResponse, type EppSession, isRefusedLogin, openSession } from "#registry/epp/session.ts";
import { loadFrameValidator } from "#registry/epp/xml/schema.ts";
import { eppOptionsOf } from "#registry/epp-options.ts";
import type { RegistryProfile } from "#registry/registries.ts";

export interface Frame {
  readonly direction: "sent" | "received";
  readonly xml: string;
}

/** Registries lock accounts after repeated attempts; an absent registry must not delay every step. */
const openFailuresMax = 3;

export interface AccountOptions {
  /** Includes the credentials of this account. */
  readonly profile: RegistryProfile;
  /** Whether frames are kept exactly as sent, with their secrets. */
  readonly revealsSecrets: boolean;
  readonly clock: Clock;
  readonly random: Random;
}

export class Account {
  readonly registrarId: string;
  readonly #options: AccountOptions;
  readonly #bucket: TokenBucket;
  /** The password in effect, as far as we know. */
  #password: Secret;
  #session: EppSession | undefined;
  #frames: Frame[] = [];
  /** Why no session is opened any more. */
  #hopeless: EppUnavailable | undefined;
  /** Failures since the last successful login. */
  #failures = 0;

  constructor(options: AccountOptions) {
    this.#options = options;
    this.registrarId = options.profile.registrarId;
    this.#password = options.profile.password;
    this.#bucket = new TokenBucket(options.profile.commandsPerSecond, options.clock);
  }

  /** The frames since the last call. */
  takeFrames(): Frame[] {
    return this.#frames.splice(0);
  }

  /** The session. Opens one when none is usable. @throws EppUnavailable */
  async session(): Promise<EppSession> {
    if (!this.#session?.isUsable) this.#session = await this.#open();
    return this.#session;
  }

  /** @throws EppUnavailable, EppNotSent, EppUnanswered, EppFrameInvalid */
  async request<Data>(command: EppCommand<Data>): Promise<EppResponse<Data>> {
    const session = await this.session();
    await this.#bucket.take();
    return session.request(command, { clTRID: createClTRID(this.#options.random) });
  }

  /**
   * Logs out, logs in with a change to another password, and logs in again with a change back: two logins.
   * @param end called once the first password is certainly in effect
   * @throws EppUnavailable
   */
  async changePasswordAndBack(other: Secret, end: () => void): Promise<void> {
    const first = this.#password;
    await this.#session?.close();
    const changed = await this.#open(other).catch((error) => {
      if (wasNotExecuted(error)) end();
      throw error;
    });
    await changed.close();
    this.#session = await this.#open(first);
    end();
  }

  /** The answer to the logout; undefined when there was no session any more. @throws the same as `request` */
  async logOut(): Promise<EppResponse<undefined> | undefined> {
    return this.#session?.isUsable ? this.request(logout()) : undefined;
  }

  async #open(newPassword?: Secret): Promise<EppSession> {
    if (this.#hopeless) throw this.#hopeless;
    const { profile, clock, random, revealsSecrets } = this.#options;
    const { host, port, tls, services, dialect, timeouts, registrarId } = eppOptionsOf(profile);
    await this.#bucket.take();
    try {
      const session = await openSession({
        host,
        port,
        tls,
        services,
        dialect,
        timeouts,
        clock,
        random,
        revealsSecrets,
        credentials: { registrarId, password: this.#password, newPassword },
        validate: await loadFrameValidator(),
        trace: (direction, xml) => this.#frames.push({ direction, xml }),
        signal: new AbortController().signal,
      });
      this.#password = newPassword ?? this.#password;
      this.#failures = 0;
      return session;
    } catch (error) {
      this.#failures += 1;
      const isHopeless =
        error instanceof EppUnavailable && (isRefusedLogin(error) || this.#failures >= openFailuresMax);
      if (isHopeless) this.#hopeless = error;
      throw error;
    }
  }
}

/** Whether a login certainly changed nothing: it was refused, or never sent. */
function wasNotExecuted(error: unknown): boolean {
  return error instanceof EppUnavailable && (error.reason !== "login" || error.resultCode !== undefined);
}
