/** The panel's accounts: in memory, with real files below its folder. */
import { chownSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

export const mebibyte = 1024 * 1024;
/** Of the accounts' files; far from those of the machine's users. */
const uidFirst = 3_000_000;

export interface FtpAccount {
  /** Without the domain. */
  name: string;
  domain: string;
  hash: string;
  /** Absolute. */
  folder: string;
}

export interface Account {
  user: string;
  domain: string;
  email: string;
  owner: string;
  plan: string;
  /** 0: unlimited. */
  quotaMb: number;
  suspended: boolean;
  suspendReason: string;
  uid: number;
  home: string;
  ftp: FtpAccount[];
}

export class Accounts {
  readonly byUser = new Map<string, Account>();
  readonly #folder: string;
  readonly #isRoot = process.getuid?.() === 0;
  #uid = uidFirst;

  constructor(folder: string) {
    this.#folder = folder;
  }

  add(fields: Pick<Account, "user" | "domain" | "email" | "owner" | "plan" | "quotaMb">): Account {
    const home = join(this.#folder, fields.user);
    this.#uid += 1;
    const account = { ...fields, uid: this.#uid, home, suspended: false, suspendReason: "not suspended", ftp: [] };
    for (const folder of [home, join(home, "public_html")]) {
      mkdirSync(folder);
      if (this.#isRoot) chownSync(folder, this.#uid, this.#uid);
    }
    this.byUser.set(account.user, account);
    return account;
  }

  remove({ user, home }: Account): void {
    this.byUser.delete(user);
    rmSync(home, { recursive: true });
  }

  ofDomain(domain: string): Account | undefined {
    return [...this.byUser.values()].find((account) => account.domain === domain);
  }
}

/** As the panel shows it. */
export function summary(account: Account): Record<string, unknown> {
  const { bytes, files } = measure(account.home);
  return {
    user: account.user,
    domain: account.domain,
    email: account.email,
    owner: account.owner,
    plan: account.plan,
    suspended: account.suspended ? 1 : 0,
    suspendreason: account.suspendReason,
    diskused: `${Math.ceil(bytes / mebibyte)}M`,
    disklimit: account.quotaMb === 0 ? "unlimited" : `${account.quotaMb}M`,
    inodesused: files,
    inodeslimit: "unlimited",
  };
}

function measure(folder: string): { bytes: number; files: number } {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  // A file that is renamed or deleted meanwhile does not count.
  const sizes = files
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0);
  return { bytes: sizes.reduce((sum, size) => sum + size, 0), files: files.length + 1 };
}
