/** The FTP accounts of a panel's account: the customer's one, and ours for the time of a probe. */
import { hash } from "@node-rs/bcrypt";
import { Type } from "typebox";
import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import type { PanelAccount } from "#nodes/cpanel/accounts.ts";
import { customerLogin, probeLoginPrefix, siteFolder } from "#nodes/cpanel/names.ts";
import { parse, type Whm, type WhmAnswer } from "#nodes/cpanel/whm.ts";
import { NodeUnavailable } from "#nodes/driver.ts";

const passwordBytes = 24;
const probeNameBytes = 4;
/** bcrypt's minimum: the hash protects 192 random bits for a minute. */
const probeHashCost = 4;

const List = Type.Array(Type.Object({ user: Type.String() }));

/** It is not stored. The prefix satisfies panels that demand every kind of character. */
export function randomPassword(random: Random): Secret {
  return new Secret(`aA1-${random.bytes(passwordBytes).toString("base64url")}`);
}

export class FtpAccounts {
  readonly #whm: Whm;
  readonly #random: Random;

  constructor(whm: Whm, random: Random) {
    this.#whm = whm;
    this.#random = random;
  }

  /**
   * Sets the customer's password hash; undefined: there is no login. A hash cannot be read back or replaced, so this deletes
   * the FTP account, without its files, and creates it again. A repetition after a kill in between ends the same.
   * @throws NodeUnavailable
   */
  async setCustomer(account: PanelAccount, passwordHash: Secret | undefined): Promise<void> {
    if ((await this.#names(account)).includes(customerLogin)) await this.#delete(account, customerLogin);
    await this.endSessions(account);
    if (passwordHash) await this.#add(account, customerLogin, passwordHash);
  }

  /** @throws NodeUnavailable */
  async endSessions(account: PanelAccount): Promise<void> {
    demand("kill_session", await this.#ftp(account, "kill_session", { login: "all" }));
  }

  /**
   * Runs with a temporary login, and deletes it afterwards, along with those of killed probes. It is created from a hash, as
   * the customer's is: on a server that does not read bcrypt hashes, no account passes the probe.
   */
  async withProbeLogin<T>(account: PanelAccount, run: (user: string, password: string) => Promise<T>): Promise<T> {
    for (const name of await this.#names(account)) {
      if (name.startsWith(probeLoginPrefix)) await this.#delete(account, name);
    }
    const name = `${probeLoginPrefix}${this.#random.bytes(probeNameBytes).toString("hex")}`;
    const password = randomPassword(this.#random).reveal();
    // The library writes `$2y$` for what others call `$2b$`.
    const label = (await hash(password, probeHashCost)).replace("$2y$", () => "$2b$");
    await this.#add(account, name, new Secret(label));
    try {
      return await run(`${name}@${account.domain}`, password);
    } finally {
      await this.#delete(account, name);
    }
  }

  async #add(account: PanelAccount, user: string, passwordHash: Secret): Promise<void> {
    const place = { domain: account.domain, homedir: siteFolder, quota: 0, disallowdot: 0 };
    const parameters = { user, ...place, pass_hash: passwordHash.reveal() };
    demand("add_ftp", await this.#ftp(account, "add_ftp", parameters, [passwordHash]));
  }

  /** The files stay: they are the site. */
  async #delete(account: PanelAccount, user: string): Promise<void> {
    demand("delete_ftp", await this.#ftp(account, "delete_ftp", { user, domain: account.domain, destroy: 0 }));
  }

  /** Panels return names with or without the domain. */
  async #names(account: PanelAccount): Promise<string[]> {
    const answer = demand("list_ftp", await this.#ftp(account, "list_ftp", { include_acct_types: "sub" }));
    const suffix = `@${account.domain}`;
    return parse(List, answer.data, "list_ftp").map(({ user }) =>
      user.endsWith(suffix) ? user.slice(0, -suffix.length) : user,
    );
  }

  #ftp({ user }: PanelAccount, name: string, parameters: Record<string, string | number>, secrets?: readonly Secret[]) {
    return this.#whm.uapi(user, "Ftp", name, parameters, secrets);
  }
}

/** @throws NodeUnavailable with the panel's reason */
function demand(name: string, answer: WhmAnswer): WhmAnswer {
  if (!answer.isOk) throw new NodeUnavailable(`the panel refused ${name}: ${answer.reason}`);
  return answer;
}
