/**
 * The functions of WHM API 1 and UAPI that the stub has, with their parameters. It is stricter than the documentation: anything
 * undocumented, or of another form, is refused.
 */
import { join, relative } from "node:path";
import { hashSync } from "@node-rs/bcrypt";
import { type Account, type Accounts, summary } from "./accounts.ts";

export interface Panel {
  accounts: Accounts;
  packages: string[];
  /** The WHM user of the token: sees, and may change, only the accounts that it owns. */
  owner: string;
  /** Updates the FTP server from the accounts. */
  applyFtp(): void;
  endFtpSessions(account: Account): void;
}

/** The function refuses, for this reason. */
export class Refused extends Error {}

type Form = Readonly<Record<string, string>>;

interface Parameter {
  pattern: RegExp;
  isRequired?: true;
}

interface PanelFunction {
  parameters: Record<string, Parameter>;
  run(panel: Panel, form: Form): unknown;
}

const text: Parameter = { pattern: /^[^\p{Cc}]{1,500}$/u };
const flag: Parameter = { pattern: /^[01]$/ };
const megabytes: Parameter = { pattern: /^([0-9]{1,6}|unlimited)$/ };
const domain: Parameter = { pattern: /^(?=.{1,254}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/ };
const userName: Parameter = { pattern: /^(?!test)[a-z][a-z0-9]{0,15}$/ };
const ftpName: Parameter = { pattern: /^[a-z0-9._-]{1,25}$/ };
const cryptHash: Parameter = { pattern: /^\$[0-9a-z]{1,2}\$[./A-Za-z0-9$]{20,120}$/ };
const required = (parameter: Parameter): Parameter => ({ ...parameter, isRequired: true });

/** The lowest cost, because a stub needs no protection against guessing. */
const hashCost = 4;

function ownAccount({ accounts, owner }: Panel, user: string | undefined): Account {
  const account = accounts.byUser.get(user ?? "");
  if (!account) throw new Refused("Account does not exist.");
  if (account.owner !== owner) throw new Refused("You do not have permission to access that account.");
  return account;
}

function quotaOf(value: string | undefined): number {
  return value === undefined || value === "unlimited" ? 0 : Number(value);
}

export const whmFunctions: Record<string, PanelFunction> = {
  createacct: {
    parameters: {
      username: required(userName),
      domain: required(domain),
      password: required(text),
      contactemail: { pattern: /^[^@\s]+@[^@\s]+$/ },
      plan: text,
      quota: megabytes,
      hasshell: flag,
    },
    run(panel, { username = "", domain: name = "", password = "", contactemail = "", plan = "default", quota }) {
      const { accounts, packages, owner } = panel;
      if (accounts.byUser.has(username)) throw new Refused(`This system already has an account named “${username}”.`);
      const first = username.slice(0, 8);
      if ([...accounts.byUser.keys()].some((user) => user.slice(0, 8) === first)) {
        throw new Refused(`The first eight characters of ${username} are taken.`);
      }
      if (accounts.ofDomain(name)) throw new Refused(`The domain “${name}” already exists in the user configuration.`);
      if (!packages.includes(plan)) throw new Refused(`No such package: ${plan}`);
      if (!/^(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9]).{12,}$/.test(password)) throw new Refused("The password is too weak.");
      accounts.add({ user: username, domain: name, email: contactemail, owner, plan, quotaMb: quotaOf(quota) });
      panel.applyFtp();
      return { package: plan };
    },
  },
  accountsummary: {
    parameters: { user: userName, domain },
    run: (panel, { user, domain: name }) => {
      const byName = user ?? panel.accounts.ofDomain(name ?? "")?.user;
      return { acct: [summary(ownAccount(panel, byName))] };
    },
  },
  listaccts: {
    parameters: { search: text, searchtype: { pattern: /^(domain|owner|user|ip|package)$/ }, searchmethod: text },
    run({ accounts, owner }, { search, searchtype, searchmethod = "regex" }) {
      const fields = { user: "user", domain: "domain", owner: "owner", package: "plan" } as const;
      const field = fields[(searchtype ?? "user") as keyof typeof fields];
      const matches = (value: string) =>
        search === undefined || (searchmethod === "exact" ? value === search : new RegExp(search).test(value));
      const own = [...accounts.byUser.values()].filter((account) => account.owner === owner);
      return { acct: own.filter((account) => matches(account[field])).map(summary) };
    },
  },
  listpkgs: {
    parameters: {},
    run: ({ packages }) => ({ pkg: packages.map((name) => ({ name, QUOTA: "unlimited" })) }),
  },
  editquota: {
    parameters: { user: required(userName), quota: required(megabytes) },
    run(panel, { user, quota }) {
      ownAccount(panel, user).quotaMb = quotaOf(quota);
      panel.applyFtp();
    },
  },
  suspendacct: {
    parameters: { user: required(userName), reason: text, disallowun: flag, "leave-ftp-accts-enabled": flag },
    run(panel, { user, reason = "Unknown" }) {
      Object.assign(ownAccount(panel, user), { suspended: true, suspendReason: reason });
      panel.applyFtp();
    },
  },
  unsuspendacct: {
    parameters: { user: required(userName) },
    run(panel, { user }) {
      Object.assign(ownAccount(panel, user), { suspended: false, suspendReason: "not suspended" });
      panel.applyFtp();
    },
  },
  removeacct: {
    parameters: { username: required(userName), keepdns: flag },
    run(panel, { username }) {
      const account = ownAccount(panel, username);
      panel.endFtpSessions(account);
      panel.accounts.remove(account);
      panel.applyFtp();
    },
  },
};

/** Runs as an account; a suspended one may do nothing. */
const uapiFunctions: Record<string, { parameters: Record<string, Parameter>; run: UapiRun }> = {
  "Ftp::add_ftp": {
    parameters: {
      user: required(ftpName),
      pass: text,
      pass_hash: cryptHash,
      domain,
      homedir: text,
      quota: megabytes,
      disallowdot: flag,
    },
    run(panel, account, { user = "", pass, pass_hash: hash, domain: name = account.domain, homedir = user }) {
      if (name !== account.domain) throw new Refused("You do not own that domain.");
      if ((pass === undefined) === (hash === undefined)) throw new Refused("Give either pass or pass_hash.");
      if (account.ftp.some((other) => other.name === user))
        throw new Refused(`The FTP account ${user} already exists.`);
      const folder = join(account.home, homedir);
      if (relative(account.home, folder).startsWith("..")) throw new Refused("The folder is outside the home.");
      account.ftp.push({ name: user, domain: name, folder, hash: hash ?? hashSync(pass ?? "", hashCost) });
      panel.applyFtp();
    },
  },
  "Ftp::delete_ftp": {
    parameters: { user: required(ftpName), domain, destroy: flag },
    run(panel, account, { user = "", destroy = "0" }) {
      if (!account.ftp.some(({ name }) => name === user)) throw new Refused(`There is no FTP account ${user}.`);
      if (destroy === "1") throw new Refused("The stub does not delete files.");
      account.ftp = account.ftp.filter(({ name }) => name !== user);
      panel.applyFtp();
    },
  },
  "Ftp::list_ftp": {
    parameters: { include_acct_types: text, skip_acct_types: text },
    run: (_panel, { ftp }) =>
      ftp.map(({ name, domain: below, folder }) => ({ user: `${name}@${below}`, type: "sub", homedir: folder })),
  },
  "Ftp::kill_session": { parameters: { login: text }, run: (panel, account) => panel.endFtpSessions(account) },
};
type UapiRun = (panel: Panel, account: Account, form: Form) => unknown;

/** @throws Refused for a parameter that is missing, unknown, or of another form */
export function checkForm(parameters: Record<string, Parameter>, form: Form): void {
  for (const [name, { isRequired }] of Object.entries(parameters)) {
    if (isRequired && form[name] === undefined) throw new Refused(`Provide the “${name}” argument.`);
  }
  for (const [name, value] of Object.entries(form)) {
    const parameter = parameters[name];
    if (!parameter) throw new Refused(`“${name}” is not an argument of this function.`);
    if (!parameter.pattern.test(value)) throw new Refused(`The “${name}” argument is invalid.`);
  }
}

/** UAPI through WHM: the account and the function are additional parameters. */
export function runUapi(panel: Panel, form: Form): unknown {
  const { "cpanel.user": user, "cpanel.module": module, "cpanel.function": name, ...own } = form;
  const account = ownAccount(panel, user);
  const found = uapiFunctions[`${module}::${name}`];
  if (!found) throw new Refused(`Failed to load module “${module}” or function “${name}”.`);
  const done = (fields: object) => ({ uapi: { status: 1, errors: null, messages: null, data: null, ...fields } });
  try {
    if (account.suspended) throw new Refused("The account is suspended.");
    checkForm(found.parameters, own);
    return done({ data: found.run(panel, account, own) ?? null });
  } catch (error) {
    if (error instanceof Refused) return done({ status: 0, errors: [error.message] });
    throw error;
  }
}
