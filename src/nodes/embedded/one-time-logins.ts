import { timingSafeEqual } from "node:crypto";
import type { Clock } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import type { Account } from "#nodes/embedded/accounts.ts";

/** Starts with a character that no identifier contains, so it never matches a customer's name. */
const userPrefix = "_once-";

interface OneTimeLogin {
  account: Account;
  password: Secret<Buffer>;
  expiresAtMs: number;
}

/** One-time logins: random, for one account, one use and a short time, in memory only. */
export class OneTimeLogins {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #validMs: number;
  readonly #logins = new Map<string, OneTimeLogin>();

  constructor(options: { clock: Clock; random: Random; validMs: number }) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#validMs = options.validMs;
  }

  create(account: Account): { user: string; password: Secret } {
    this.#forgetExpired();
    const user = userPrefix + this.#random.bytes(16).toString("hex");
    const password = this.#random.bytes(32).toString("base64url");
    const expiresAtMs = this.#clock.now().getTime() + this.#validMs;
    this.#logins.set(user, { account, password: new Secret(Buffer.from(password)), expiresAtMs });
    return { user, password: new Secret(password) };
  }

  isOneTimeUser(user: string): boolean {
    return user.startsWith(userPrefix);
  }

  /** Returns the login's account if the password is right. Uses the login up either way. */
  redeem(user: string, password: Secret): Account | undefined {
    this.#forgetExpired();
    const login = this.#logins.get(user);
    this.#logins.delete(user);
    if (login === undefined) return undefined;
    const given = Buffer.from(password.reveal());
    const wanted = login.password.reveal();
    return given.length === wanted.length && timingSafeEqual(given, wanted) ? login.account : undefined;
  }

  #forgetExpired(): void {
    const now = this.#clock.now().getTime();
    for (const [user, login] of this.#logins) if (login.expiresAtMs <= now) this.#logins.delete(user);
  }
}
