import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hash } from "@node-rs/bcrypt";
import type { Log } from "#lib/log.ts";
import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import type { OneTimeLogin } from "#nodes/driver.ts";
import type { LoginFile } from "#nodes/proftpd-nginx/login-file.ts";
import type { ProftpdNodeSettings } from "#nodes/proftpd-nginx/settings.ts";

/** bcrypt's minimum: the hash protects 256 random bits for a minute. */
const hashCost = 4;
/** Starts with a character that no identifier contains, so it never matches a customer's name. */
const userPrefix = "_once-";

type Login = Omit<OneTimeLogin, "host" | "port">;

export interface OneTimeLoginsOptions {
  logins: LoginFile;
  settings: ProftpdNodeSettings;
  random: Random;
  log: Log;
}

/**
 * The gateway's temporary logins into accounts' homes, as lines of the login file. They are kept only in memory, and the file
 * is rewritten at every start, so a crash leaves none behind.
 */
export class OneTimeLogins {
  readonly #options: OneTimeLoginsOptions;

  constructor(options: OneTimeLoginsOptions) {
    this.#options = options;
  }

  /** Opens the account's home for `oneTimeLoginMs`. */
  async create(uid: number): Promise<Login> {
    const { settings, log } = this.#options;
    const login = await this.#add(uid);
    const drop = () => this.#drop(login).catch((error) => log.error({ err: error }, "one-time login not removed"));
    setTimeout(drop, settings.limits.oneTimeLoginMs).unref();
    return login;
  }

  /** Opens the account's home while `use` runs. */
  async lend(
    uid: number,
    use: (login: Omit<Login, "password"> & { password: string }) => Promise<void>,
  ): Promise<void> {
    const login = await this.#add(uid);
    try {
      await use({ ...login, password: login.password.reveal() });
    } finally {
      await this.#drop(login);
    }
  }

  /** Removes all one-time logins: nothing would remove them later. */
  async close(): Promise<void> {
    this.#options.logins.removeAllOnce();
    await this.#options.logins.write();
  }

  async #add(uid: number): Promise<Login> {
    const { logins, random, settings } = this.#options;
    const user = userPrefix + random.bytes(16).toString("hex");
    const password = random.bytes(32).toString("base64url");
    // The library writes `$2y$` for what others call `$2b$`.
    const label = (await hash(password, hashCost)).replace("$2y$", () => "$2b$");
    const pem = await readFile(settings.ftp.certificateFile, "utf8");
    logins.addOnce(user, label, uid);
    await logins.write();
    // The file may also contain the key and a chain: the first certificate is the server's own.
    const certificate = new X509Certificate(pem).toString();
    return { user, password: new Secret(password), certificate };
  }

  #drop({ user }: Login): Promise<void> {
    this.#options.logins.removeOnce(user);
    return this.#options.logins.write();
  }
}
