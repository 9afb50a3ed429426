/**
 * Applies the desired states of accounts. For a new account: folders, limits, links, and the login last. To take something
 * away: marker, login, open sessions, then links and files. Each step is idempotent.
 */
import { setImmediate as breathe } from "node:timers/promises";
import { Value } from "typebox/value";
import { AccountJson, accountToJson, Identifier, Uid } from "#nodes/account-json.ts";
import type { AccountState, RefusedState } from "#nodes/agent-node.ts";
import { type AccountKey, type DesiredAccount, NodeRefused, type RefusalReason } from "#nodes/driver.ts";
import type { Trash } from "#nodes/homes/trash.ts";
import type { Homes } from "#nodes/proftpd-nginx/homes.ts";
import type { LoginFile } from "#nodes/proftpd-nginx/login-file.ts";
import type { Limits } from "#nodes/proftpd-nginx/quota-table.ts";
import type { Records } from "#nodes/proftpd-nginx/records.ts";
import { endSessions } from "#nodes/proftpd-nginx/sessions.ts";
import { uidMin } from "#nodes/proftpd-nginx/settings.ts";

/** Accounts between two yields to the event loop: about 10 ms of work. */
const accountsAtOnceMax = 200;
/** The DNS allows no longer name (RFC 1035 section 2.3.4), and file systems none much longer for a link. */
const siteNameCharsMax = 253;

export interface AccountsOptions {
  records: Records;
  homes: Homes;
  logins: LoginFile;
  limits: Limits;
  trash: Trash;
  siteDomain: string;
  ftpPidFile: string;
}

interface Change {
  /** The state before; `unknown` if an earlier change of the account was not finished. */
  before: DesiredAccount | "unknown" | undefined;
  state: AccountState;
}

export class Accounts {
  readonly #options: AccountsOptions;

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  /** Applies all records again, whatever a crash or a person left behind. Call once, before anything else. */
  async restore(): Promise<void> {
    const { records } = this.#options;
    const unfinished = records.unfinished();
    const finished = records.list().filter(({ uid }) => !records.isUnfinished(uid));
    await this.#enforce([
      ...finished.map((account): Change => ({ before: account, state: { kind: "account", account } })),
      ...unfinished.map((state): Change => ({ before: "unknown", state })),
    ]);
    this.#unlinkUnwanted();
    await records.finish(unfinished.map(({ account }) => account.uid));
  }

  /** Applies the states that are valid. They are in force when this returns. @returns the refused states */
  async apply(states: readonly AccountState[]): Promise<RefusedState[]> {
    const { records } = this.#options;
    const refused: RefusedState[] = [];
    const changes = new Map<number, Change>();
    for (const state of states) {
      const { identifier, uid } = state.account;
      const reason = this.#reasonAgainst(state);
      if (reason !== undefined) refused.push({ identifier, uid, reason });
      else if (!this.#isGone(state)) for (const each of [...this.#losers(state), state]) this.#take(each, changes);
    }
    await records.flush();
    await this.#enforce([...changes.values()]);
    if ([...changes.values()].some(({ before }) => before === "unknown")) this.#unlinkUnwanted();
    await records.finish([...changes.keys()]);
    return refused;
  }

  #take(state: AccountState, changes: Map<number, Change>): void {
    const { records } = this.#options;
    const { uid } = state.account;
    const before = records.isUnfinished(uid) ? "unknown" : records.get(uid);
    changes.set(uid, { before: changes.has(uid) ? changes.get(uid)?.before : before, state });
    if (!isSame(before, state)) records.take(state);
  }

  /** The other accounts that lose host names to this one, without those names. */
  #losers({ kind, account }: AccountState): AccountState[] {
    if (kind === "removed") return [];
    const others = account.hostNames
      .map((name) => this.#options.records.findByHostName(name))
      .filter((other) => other !== undefined);
    return others
      .filter(({ uid }) => uid !== account.uid)
      .map((other) => {
        const hostNames = other.hostNames.filter((name) => !account.hostNames.includes(name));
        return { kind: "account", account: { ...other, hostNames } };
      });
  }

  /** @throws NodeRefused account_unknown, also when the identifier has another uid */
  get({ identifier, uid }: AccountKey): DesiredAccount {
    const account = this.#options.records.get(uid);
    if (account?.identifier !== identifier) throw new NodeRefused("account_unknown");
    return account;
  }

  #reasonAgainst(state: AccountState): RefusalReason | undefined {
    const { records } = this.#options;
    const { identifier, uid } = state.account;
    if (!Value.Check(Identifier, identifier) || !Value.Check(Uid, uid) || uid < uidMin) return "invalid";
    const existing = records.get(uid)?.identifier;
    if (existing !== undefined && existing !== identifier) return "uid_taken";
    if (state.kind === "removed") return undefined;
    if (records.isRemoved(uid)) return "uid_retired";
    if ((records.find(identifier)?.uid ?? uid) !== uid) return "identifier_taken";
    return this.#isValid(state.account) ? undefined : "invalid";
  }

  /** The content is written into files that other programs read line by line. */
  #isValid(account: DesiredAccount): boolean {
    const { siteDomain } = this.#options;
    // Such a name would be the platform's name of another account.
    const isOurs = (name: string) => name === siteDomain || name.endsWith(`.${siteDomain}`);
    const names = [account.identifier, ...account.hostNames];
    const isTooLong = account.identifier.length + 1 + siteDomain.length > siteNameCharsMax;
    const isWellFormed = Value.Check(AccountJson, accountToJson(account)) && !isTooLong;
    return isWellFormed && !names.some(isOurs);
  }

  async #enforce(changes: readonly Change[]): Promise<void> {
    const { homes, logins, limits, ftpPidFile } = this.#options;
    await this.#each(changes, ({ state }) => {
      const { uid } = state.account;
      if (state.kind === "removed") {
        homes.mark(uid);
        logins.remove(uid);
        return;
      }
      const { account } = state;
      const folderBytes = homes.make(uid);
      if (account.suspended) homes.mark(uid);
      // ProFTPD counts the account's own folder; the contract does not.
      limits.setLimit(uid, account.diskBytesMax + folderBytes, account.filesMax + 1);
      for (const name of this.#hostNames(account)) homes.link(name, uid);
      logins.set(account);
    });
    await logins.write();
    const shut = changes.filter(isNarrower).map(({ state }) => state.account.uid);
    if (shut.length > 0) await endSessions(new Set(shut), ftpPidFile);
    await this.#each(changes, (change) => this.#clear(change));
    for (const { state } of changes) if (state.kind === "removed") await this.#discard(state.account);
  }

  /** Removes what the account had before and no longer has. */
  #clear({ before, state }: Change): void {
    const { homes, limits } = this.#options;
    const { uid } = state.account;
    if (state.kind === "removed") limits.clearLimit(uid);
    else if (!state.account.suspended) homes.unmark(uid);
    if (before === undefined || before === "unknown") return;
    const wanted = new Set(state.kind === "account" ? this.#hostNames(state.account) : []);
    for (const name of this.#hostNames(before)) if (!wanted.has(name)) homes.unlink(name, uid);
  }

  async #discard({ uid }: AccountKey): Promise<void> {
    const { trash, homes } = this.#options;
    homes.unmark(uid);
    await trash.take(uid, homes.home(uid));
  }

  async #each(changes: readonly Change[], run: (change: Change) => void): Promise<void> {
    for (const [index, change] of changes.entries()) {
      run(change);
      if (index % accountsAtOnceMax === accountsAtOnceMax - 1) await breathe();
    }
  }

  #hostNames({ identifier, hostNames }: Pick<DesiredAccount, "identifier" | "hostNames">): string[] {
    return [`${identifier}.${this.#options.siteDomain}`, ...hostNames];
  }

  #unlinkUnwanted(): void {
    const { records, homes } = this.#options;
    homes.unlinkOthers(new Set(records.list().flatMap((account) => this.#hostNames(account))));
  }

  /** Whether the removal has already finished: the trash keeps the time of the first one. */
  #isGone({ kind, account: { uid } }: AccountState): boolean {
    const { records, homes } = this.#options;
    return kind === "removed" && records.isRemoved(uid) && !records.isUnfinished(uid) && !homes.exists(uid);
  }
}

function isSame(before: Change["before"], state: AccountState): boolean {
  if (before === undefined || before === "unknown" || state.kind === "removed") return false;
  return JSON.stringify(accountToJson(before)) === JSON.stringify(accountToJson(state.account));
}

/** Whether an open session is allowed more than a new one would be. */
function isNarrower({ before, state }: Change): boolean {
  if (before === undefined || before === "unknown" || state.kind === "removed") return before !== undefined;
  const { account } = state;
  return (
    before.passwordHash?.reveal() !== account.passwordHash?.reveal() ||
    (account.suspended && !before.suspended) ||
    (!account.ftpEnabled && before.ftpEnabled) ||
    account.diskBytesMax < before.diskBytesMax ||
    account.filesMax < before.filesMax ||
    account.sessionsMax < before.sessionsMax
  );
}
