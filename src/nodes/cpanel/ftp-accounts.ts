/** The FTP accounts of a panel's account: the customer's one, and ours for the time of a probe. */
import { Type } from "typebox";
import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import { NodeUnavailable } from "../driver.ts";
import type { PanelAccount } from "./accounts.ts";
import { customerLogin, probeLoginPrefix, siteFolder } from "./names.ts";
import { parse, type Whm, type WhmAnswer } from "./whm.ts";

const passwordBytes = 24;
const probeNameBytes = 4;

const List = Type.Array(Type.Object({ user: Type.String() }));

/** Nobody keeps it. A panel that wants some of each kind of character gets them. */
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
   * The customer's login opens with this hash alone, or with none. A hash cannot be read back or replaced, so the FTP
   * account is deleted and made again, its files untouched; killed in between, the repetition ends the same.
   * @throws NodeUnavailable
   */
  async setCustomer(account: PanelAccount, hash: Secret | undefined): Promise<void> {
    if ((await this.#names(account)).includes(customerLogin)) await this.#delete(account, customerLogin);
    await this.endSessions(account);
    if (hash) await this.#add(account, customerLogin, { pass_hash: hash });
  }

  /** @throws NodeUnavailable */
  async endSessions(account: PanelAccount): Promise<void> {
    demand("kill_session", await this.#ftp(account, "kill_session", { login: "all" }));
  }

  /** Runs with a login of ours, which is gone after it; so are those that a killed probe has left. */
  async withProbeLogin<T>(account: PanelAccount, run: (user: string, password: string) => Promise<T>): Promise<T> {
    for (const name of await this.#names(account)) {
      if (name.startsWith(probeLoginPrefix)) await this.#delete(account, name);
    }
    const name = `${probeLoginPrefix}${this.#random.bytes(probeNameBytes).toString("hex")}`;
    const pass = randomPassword(this.#random);
    await this.#add(account, name, { pass });
    try {
      return await run(`${name}@${account.domain}`, pass.reveal());
    } finally {
      await this.#delete(account, name);
    }
  }

  async #add(account: PanelAccount, user: string, secret: { pass: Secret } | { pass_hash: Secret }): Promise<void> {
    const secrets = Object.values<Secret>(secret);
    const revealed = Object.fromEntries(Object.entries<Secret>(secret).map(([name, value]) => [name, value.reveal()]));
    const place = { domain: account.domain, homedir: siteFolder, quota: 0, disallowdot: 0 };
    demand("add_ftp", await this.#ftp(account, "add_ftp", { user, ...place, ...revealed }, secrets));
  }

  /** The files stay: they are the site. */
  async #delete(account: PanelAccount, user: string): Promise<void> {
    demand("delete_ftp", await this.#ftp(account, "delete_ftp", { user, domain: account.domain, destroy: 0 }));
  }

  /** With or without the domain, which panels show differently. */
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
